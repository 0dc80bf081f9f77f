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

// lastName is the default of Config.LastWrite. The file contains the time of the last durable write. It is written after that write and
// is not synced, so it is never ahead of the store. If the store's record of its last write is older than this time, the store has lost
// writes. The engine alone cannot detect that if its log is missing.
const lastName = marker + ".last"

// lastWrite is the file, open for writing.
type lastWrite struct {
	f   vfs.File
	buf []byte
}

// openLast opens the file. If the file contains no valid time, it is replaced.
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

// note writes the time of a write to the file. It ignores errors: they only mean that the loss of this write would not be detected.
func (l *lastWrite) note(unix int64) {
	l.buf = appendLast(l.buf[:0], unix)
	_, _ = l.f.WriteAt(l.buf, 0)
}

// appendLast appends the content of the file: the time, in Unix nanoseconds, and a checksum.
func appendLast(b []byte, unix int64) []byte {
	b = fmt.Appendf(b, "%020d", unix)
	return fmt.Appendf(b, " %08x\n", crc32.ChecksumIEEE(b))
}

func (l *lastWrite) close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}

// checkLast returns an error if the store has lost writes. unix is the time of its last write.
func checkLast(fs vfs.FS, path string, unix int64) error {
	noted, sound, err := readLast(fs, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil // an earlier version, which had no such file, made the store
	case err != nil:
		return err
	case sound && noted > unix:
		return fmt.Errorf("writes until %s are missing: a log is missing or was cut, or the directory was restored from an older copy", time.Unix(0, noted).UTC().Format(time.RFC3339))
	}
	return nil
}

// readLast reads the file. sound is false if the file contains no valid time, for example after a power cut.
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
