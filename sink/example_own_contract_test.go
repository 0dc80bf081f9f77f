package sink_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

// small is a disk with a limited number of bytes left.
type small struct {
	io.Writer
	room int
}

func (s *small) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p[:min(len(p), s.room)])
	if s.room -= n; err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func readTable(dir string, _ bool) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "table.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var urls []string
	for line := range strings.Lines(string(b)) {
		var status int
		var url string
		if n, _ := fmt.Sscanf(line, "%d\t%q\n", &status, &url); n != 2 || !strings.HasSuffix(line, "\n") {
			return urls, fmt.Errorf("%q is not a valid line", line)
		}
		urls = append(urls, url)
	}
	return urls, err
}

func tables() sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return OpenTable(filepath.Join(dir, "table.txt")) },
		Read: readTable,
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			t, err := OpenTable(filepath.Join(dir, "table.txt"))
			if err == nil {
				t.w = &small{t.f, room}
			}
			return t, err
		},
	}
}

// The example sink passes the conformance suite.
func TestOwnSinkKeepsTheContract(t *testing.T) { sinktest.Run(t, tables()) }

func TestOwnSinkOutlivesKills(t *testing.T) { sinktest.RunKilled(t, tables(), 8) }
