package warc

import (
	"os"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

// narrow returns a hook that simulates a disk with room for a limited number of bytes.
func narrow(room int) func(op operation) error {
	full := func(op operation) error {
		return &os.PathError{Op: op.verb, Path: op.path, Err: syscall.ENOSPC}
	}
	return func(op operation) error {
		switch {
		case op.verb == "write" && len(op.data) > room:
			*op.n, room = room, 0
			return full(op)
		case op.verb == "write":
			room -= len(op.data)
		case op.verb == "create" && room == 0:
			return full(op)
		}
		return nil
	}
}

func suite(o Options) sinktest.Suite {
	o.hook = func(operation) error { return nil }
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return Open(dir, o) },
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			o := o
			o.hook = narrow(room)
			return Open(dir, o)
		},
		Read: func(dir string, closed bool) ([]string, error) {
			read := warctest.ReadUnsorted
			if closed {
				read = warctest.Read
			}
			rs, err := read(dir)
			return warctest.Answers(rs), err
		},
	}
}

func TestWriterKeepsTheContract(t *testing.T) {
	t.Run("gzip", func(t *testing.T) {
		s := suite(Options{})
		s.Thorough, s.Runs = long.Full(), long.Seeds(8, 25)
		sinktest.Run(t, s)
	})
	t.Run("zstd, small files", func(t *testing.T) {
		s := suite(Options{Compression: Zstd, MaxSize: 6000, Digest: SHA256, Level: 1})
		s.Runs, s.Seed = long.Seeds(8, 20), 1000
		sinktest.Run(t, s)
	})
}
