package warc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxPrefix = 64
	stamp     = "20060102150405" // time in 14 digits
	indexExt  = ".cdxj"
	newExt    = ".new" // extension of an index while it is written
)

func validPrefix(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	return s != "" && s[0] != '.' && len(s) <= maxPrefix && strings.Trim(s, letters) == ""
}

func (c Compression) ext() string {
	if c == Zstd {
		return ".warc.zst"
	}
	return ".warc.gz"
}

// fileName returns the name of an archive file. It consists of prefix, time and serial number (ISO 28500 annex C).
func fileName(prefix string, at time.Time, serial int64, c Compression) string {
	return fmt.Sprintf("%s-%s-%05d%s", prefix, at.UTC().Format(stamp), serial, c.ext())
}

// indexName returns the name of the index of an archive file.
func indexName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, Gzip.ext()), Zstd.ext()) + indexExt
}

// serialOf returns the serial number and the extension in the name of a file. ok is false for a name that is not of this package.
func serialOf(prefix, name string) (serial int64, ext string, ok bool) {
	name, ok = strings.CutPrefix(name, prefix+"-")
	at, name, _ := strings.Cut(name, "-")
	digits := name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
	serial, err := strconv.ParseInt(digits, 10, 64)
	ok = ok && err == nil && len(at) == len(stamp) && strings.Trim(at, "0123456789") == "" && serial <= maxSerial
	switch ext = name[len(digits):]; ext {
	case Gzip.ext(), Zstd.ext(), indexExt, indexExt + newExt, indexExt + runsExt:
		return serial, ext, ok
	}
	return 0, "", false
}

// part is an existing archive file.
type part struct {
	name   string
	serial int64
	size   int64
}

// parts returns the archive files with a prefix, sorted by serial number.
func (d disk) parts(prefix string) ([]part, error) {
	entries, err := d.list()
	if err != nil {
		return nil, err
	}
	var ps []part
	for _, e := range entries {
		serial, ext, ok := serialOf(prefix, e.Name())
		if !ok || !e.Type().IsRegular() || strings.HasPrefix(ext, indexExt) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		ps = append(ps, part{e.Name(), serial, info.Size()})
	}
	slices.SortFunc(ps, func(a, b part) int { return int(a.serial - b.serial) })
	for i := 1; i < len(ps); i++ {
		if ps[i].serial == ps[i-1].serial {
			return nil, fmt.Errorf("%s and %s have the same serial number", d.path(ps[i-1].name), ps[i].name)
		}
	}
	return ps, nil
}
