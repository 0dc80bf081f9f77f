package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// state is what is known of a site: the last visit of each URL. It is a Sink of the crawl, which
// appends one visit after the other.
type state map[string]sink.Record

// Append implements sink.Sink.
func (s state) Append(_ context.Context, r *sink.Record) error {
	kept := *r
	kept.Title = strings.Clone(r.Title) // what is kept must not keep its page in memory
	s[r.URL] = kept
	return nil
}

// Sync implements sink.Sink.
func (s state) Sync() (int64, error) { return 0, nil }

// Restore implements sink.Sink.
func (s state) Restore(int64) error { return sink.ErrNotCuttable }

// Close implements sink.Sink.
func (s state) Close() error { return nil }

// load reads a state; nil when there is no such file.
func load(path string) (s state, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	s = state{}
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var r sink.Record
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case r.Schema != sink.Schema:
			return nil, fmt.Errorf("%s: schema %q, not %q", path, r.Schema, sink.Schema)
		}
		s[r.URL] = r
	}
}

// save writes the state, which replaces an older one whole or not at all.
func (s state) save(ctx context.Context, path string) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".monitor-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err = errors.Join(s.write(ctx, tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func (s state) write(ctx context.Context, w io.Writer) error {
	out := sink.NewJSONL(w)
	for _, url := range slices.Sorted(maps.Keys(s)) {
		r := s[url]
		if err := out.Append(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}
