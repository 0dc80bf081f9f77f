// Package open opens the store that a URL names. It links all kinds of stores; programs that need only one kind use [stores.OpenDir] or
// package stores/s3 instead.
//
//	store, err := open.URL("s3://bucket/prefix") // or file:///DIRECTORY
//	defer open.Close(store)
package open

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/s3"
)

// IsURL reports whether a text is the URL of a store, rather than a path.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "s3:") || strings.HasPrefix(text, "file:")
}

// URL opens a store: s3://BUCKET/PREFIX, or file:///DIRECTORY, which must exist. Close it with [Close].
func URL(text string) (stores.Store, error) {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Scheme == "s3":
		return s3.Open(text)
	case err == nil && u.Scheme == "file" && u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)) && u.RawQuery == "" && u.Fragment == "":
		return stores.OpenDir(filepath.FromSlash(u.Path))
	case err == nil && u.Scheme == "file":
		return nil, fmt.Errorf("stores: %q: want three slashes and an absolute path, as in file:///mnt/crawls", text)
	}
	return nil, errors.New("stores: want s3://BUCKET/PREFIX or file:///DIRECTORY")
}

// Close closes a store of this package.
func Close(s stores.Store) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
