package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// state holds what is known of feeds, by URL.
type state map[string]feed

// feed is the state of a feed when it was last read.
type feed struct {
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	Entries      []string `json:"entries"` // URLs of entries: entries in the feed, then earlier entries
}

// Past implements crawler.History. A feed that was read before is requested conditionally.
func (s state) Past(u weburl.URL) (crawler.Past, bool) {
	f, known := s[u.String()]
	return crawler.Past{Validators: fetcher.Validators{ETag: f.ETag, LastModified: f.LastModified}}, known
}

// All implements crawler.History. It returns nil, because only URLs that the crawl finds are visited.
func (state) All() iter.Seq2[weburl.URL, int] { return nil }

// maxKept limits the number of entries that are kept for a feed. If the feed has more at present, all of these are kept.
const maxKept = 2000

// keep adds entries that were in the feed earlier: an entry that disappears and returns is not new.
func (f *feed) keep(old []string) {
	has := map[string]bool{}
	for _, u := range f.Entries {
		has[u] = true
	}
	for _, u := range old {
		if !has[u] && len(f.Entries) < maxKept {
			f.Entries = append(f.Entries, u)
		}
	}
}

// load reads a state. It returns an empty one if the file does not exist.
func load(path string) (state, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return nil, err
	}
	s := state{}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// with returns the state, with the feeds in read replaced by their new state.
func (s state) with(read state) state {
	all := maps.Clone(s)
	maps.Copy(all, read)
	return all
}

// save writes the state and replaces an older one atomically.
func (s state) save(path string) error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".feeds-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return os.Rename(tmp.Name(), path)
}
