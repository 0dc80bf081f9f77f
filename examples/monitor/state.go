package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// state holds the last visit of each URL of a site.
type state map[string]sink.Record

// Past implements crawler.History. A page is requested conditionally if it was complete and its links are known: the response for an
// unchanged page has no links.
func (s state) Past(u weburl.URL) (p crawler.Past, ok bool) {
	r, known := s[u.String()]
	if !known || !there(r) || r.Truncated != "" || len(r.Data) == 0 {
		return p, false
	}
	p.Validators = fetcher.Validators{ETag: r.ETag, LastModified: r.LastModified}
	_, err := hex.Decode(p.SHA256[:], []byte(r.SHA256))
	return p, err == nil && len(r.SHA256) == 2*len(p.SHA256)
}

// All implements crawler.History. It returns nil, because only URLs that the crawl finds are visited.
func (state) All() iter.Seq2[weburl.URL, int] { return nil }

// recorder collects the state of a crawl. It is a Sink, because a sink gets one visit after the other.
type recorder struct {
	sink.Base
	before, after state
}

// Append implements sink.Sink. If a page is unchanged, its old state stays.
func (s recorder) Append(_ context.Context, r *sink.Record) error {
	kept := *r
	if crawler.Outcome(r.Outcome) == crawler.NotModified {
		kept = s.before[r.URL]
		kept.ETag, kept.LastModified, kept.Started, kept.Ended = r.ETag, r.LastModified, r.Started, r.Ended
	}
	kept.Title = strings.Clone(kept.Title) // a copy: otherwise the whole page would stay in memory
	kept.Data = slices.Clone(r.Data)
	s.after[r.URL] = kept
	return nil
}

// Sync implements sink.Sink.
func (recorder) Sync(_ context.Context) (int64, error) { return 0, nil }

// Restore implements sink.Sink. It accepts only the beginning: each run records everything again.
func (recorder) Restore(_ context.Context, size int64) error {
	if size > 0 {
		return sink.ErrNotCuttable
	}
	return nil
}

// Close implements sink.Sink.
func (recorder) Close(_ context.Context) error { return nil }

// load reads a state. It returns nil if there is no such file.
func load(path string) (s state, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened only for reading
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

// save writes the state. An older file is replaced atomically.
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
