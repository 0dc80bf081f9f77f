package disk

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	iofs "io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lastName is the file that Config.LastWrite is without one. It says when the last write was that is durable.
// It is written behind the write and not forced out, so it is never ahead of the store: a store whose own record of
// its last write is older has lost what came after, of which the engine, without its log, knows nothing.
const lastName = marker + ".last"

// lastWrite writes the file.
type lastWrite struct {
	f   vfs.File
	buf []byte
}

// openLast opens the file. What is in it and no note goes.
func openLast(fs vfs.FS, path string) (*lastWrite, error) {
	if _, sound, err := readLast(fs, path); err == nil && !sound {
		_ = fs.Remove(path)
	}
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &lastWrite{f: f}, nil
}

// note notes the time of a write. What cannot be noted is not missed in an older store: that is all.
func (l *lastWrite) note(unix int64) {
	l.buf = appendLast(l.buf[:0], unix)
	_, _ = l.f.WriteAt(l.buf, 0)
}

// appendLast is what is in the file: the time, in Unix nanoseconds, and a sum of it.
func appendLast(b []byte, unix int64) []byte {
	b = fmt.Appendf(b, "%020d", unix)
	return fmt.Appendf(b, " %08x\n", crc32.ChecksumIEEE(b))
}

func (l *lastWrite) close() error { return l.f.Close() }

// checkLast reports a store that has lost writes. unix is the time of the last it has.
func checkLast(fs vfs.FS, path string, unix int64) error {
	noted, sound, err := readLast(fs, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil // of a store that an earlier version made
	case err != nil:
		return err
	case sound && noted > unix:
		return fmt.Errorf("what was written until %s is not in it: a log is missing or was cut, or all of it is of an earlier time", time.Unix(0, noted).UTC().Format(time.RFC3339))
	}
	return nil
}

// readLast reads the file. After a power cut it may hold anything.
func readLast(fs vfs.FS, path string) (noted int64, sound bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return 0, false, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, false, err
	}
	text, _, _ := strings.Cut(string(b), " ")
	noted, bad := strconv.ParseInt(text, 10, 64)
	return noted, bad == nil && bytes.Equal(b, appendLast(nil, noted)), nil
}
