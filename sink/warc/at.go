package warc

import (
	"fmt"
	"path/filepath"
)

// SURT returns the key of a URL in an index, in the Sort-friendly URI Reordering Transform: the host's labels in reverse
// order, then path and query, canonicalized like in the Internet Archive's surt library.
//
//	https://www.Example.org:443/A//b/?y=2&x=%31  org,example)/a/b?x=1&y=2
func SURT(url string) string { return surt(url) }

// At returns the answer in the record at an offset of an archive file, which is named as in sink.Location, without its
// directory. The error wraps [ErrNotArchived] if there is no such file, or is an *[ArchiveError].
func (a *Archive) At(file string, offset int64) (*Answer, error) {
	for i, f := range a.files {
		if filepath.Base(f.Name()) != file {
			continue
		}
		p := placeOf(0, i, offset)
		r, err := a.read(p)
		if err != nil {
			return nil, err
		}
		return a.answer(p, r)
	}
	return nil, fmt.Errorf("warc: %s: %w", file, ErrNotArchived)
}
