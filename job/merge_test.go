package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestMergeInRounds merges more files than may be open at once, some of them from machines whose clocks are ahead. The result has every
// line once, sorted by the common time, and no intermediate file is left.
func TestMergeInRounds(t *testing.T) {
	dir, tmp := t.TempDir(), t.TempDir()
	const files, each = 2*maxOpen + 9, 5
	var list []lineFile
	for i := range files {
		ahead := i % 3 * 1000
		text := ""
		for k := range each {
			text += fmt.Sprintln(k*files + i + ahead)
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(text+"not committed"), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, lineFile{path: path, bytes: int64(len(text)), offset: -time.Duration(ahead) * time.Second})
	}
	m := merger{dir: tmp, at: func(line []byte) (time.Time, error) {
		n, err := strconv.Atoi(string(line))
		return time.Unix(int64(n), 0), err
	}}
	n := 0
	err := m.merge(list, func(line []byte) error {
		got, err := strconv.Atoi(string(line[:len(line)-1]))
		if want := n + n%files%3*1000; got != want {
			t.Fatalf("line %d is %d, want %d", n, got, want)
		}
		n++
		return err
	})
	if err != nil || n != files*each {
		t.Errorf("%d lines of %d, %v", n, files*each, err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
