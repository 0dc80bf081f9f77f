package sqlite

import "fmt"

// OpenFull opens a database that can grow by room bytes, in whole pages.
func OpenFull(path, table string, room int) (*Sink, error) {
	s, err := Open(path, table)
	if err != nil {
		return nil, err
	}
	_, err = s.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", 2+room/4096))
	return s, err
}
