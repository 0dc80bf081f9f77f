package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
)

// robotsKeeper keeps every answer to a request for a robots.txt, as evidence of what a crawl went by:
// a line in index.jsonl for each, and each body once, named by its hash.
type robotsKeeper struct {
	dir string

	mu    sync.Mutex
	index *os.File
}

// robotsLine is one answer.
type robotsLine struct {
	URL       string    `json:"url"`
	Status    int       `json:"status"`
	Fetched   time.Time `json:"fetched"`
	Bytes     int       `json:"bytes"`
	Truncated string    `json:"truncated,omitempty"`
	SHA256    string    `json:"sha256"`
	File      string    `json:"file,omitempty"` // without one the body was empty
}

func newRobotsKeeper(dir string) (*robotsKeeper, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "index.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &robotsKeeper{dir: dir, index: f}, err
}

// keep keeps one answer.
func (k *robotsKeeper) keep(p *fetcher.Page) error {
	sum := sha256.Sum256(p.Body)
	line := robotsLine{
		URL: p.URL.String(), Status: p.Status, Fetched: p.Ended.UTC(), Bytes: len(p.Body), Truncated: p.Truncated,
		SHA256: hex.EncodeToString(sum[:]),
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(p.Body) > 0 {
		line.File = line.SHA256 + ".txt"
		if err := writeOnce(filepath.Join(k.dir, line.File), p.Body); err != nil {
			return outputError(err)
		}
	}
	return outputError(printJSON(k.index, line))
}

// writeOnce writes a file whose name vouches for its content.
func writeOnce(path string, body []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Close())
}

// Close closes the index.
func (k *robotsKeeper) Close() error { return k.index.Close() }
