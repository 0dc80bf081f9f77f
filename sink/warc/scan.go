package warc

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// scan adds responses to the table: those of the file that was opened last, from the offset from on.
func (a *Archive) scan(f archiveFile, from int64) error {
	t := newCountingReader(f, from)
	for {
		start := t.n
		r, err := readRecord(t, false)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &ArchiveError{f.name, start, err}
		case start > maxOffset:
			return &ArchiveError{f.name, start, errors.New("the file is larger than 1 TiB")}
		case r.isAnswer():
			a.table = append(a.table, placeOf(a.key(r.target()), len(a.files)-1, start))
		}
	}
}

// readIndex adds the responses in the file's index to the table. It returns the end of the last of them, because after a kill, later
// responses may be missing in the index. Without a usable index it returns 0: then the whole file must be read.
func (a *Archive) readIndex(f archiveFile) (end int64) {
	in, size, err := a.open(indexName(f.name))
	if err != nil {
		return 0
	}
	defer func() { _ = in.Close() }() // opened only for reading
	before := len(a.table)
	lines := bufio.NewScanner(io.NewSectionReader(in, 0, size))
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
		url, offset, next, ok := indexed(lines.Bytes(), filepath.Base(f.name))
		if !ok || next > f.size {
			a.table = a.table[:before]
			return 0
		}
		a.table, end = append(a.table, placeOf(a.key(url), len(a.files)-1, offset)), max(end, next)
	}
	if lines.Err() != nil {
		a.table, end = a.table[:before], 0
	}
	return end
}

// indexed parses a line of the index of a file.
func indexed(line []byte, file string) (url string, offset, end int64, ok bool) {
	_, block, _ := strings.Cut(string(line), " {")
	var e struct{ URL, Filename, Offset, Length string }
	if json.Unmarshal([]byte("{"+block), &e) != nil || e.Filename != file || e.URL == "" {
		return "", 0, 0, false
	}
	offset, err := strconv.ParseInt(e.Offset, 10, 64)
	length, err2 := strconv.ParseInt(e.Length, 10, 64)
	return e.URL, offset, offset + length, err == nil && err2 == nil && offset >= 0 && length > 0 && offset+length <= maxOffset
}
