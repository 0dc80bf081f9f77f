package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
)

// rules keeps every answer to a request for a robots.txt: the body as a file named by its SHA-256, and
// the rest for the manifest.
type rules struct {
	dir string

	mu   sync.Mutex
	list []robotsFile
}

// robotsFile is one answer.
type robotsFile struct {
	URL       string    `json:"url"`
	Status    int       `json:"status"`
	Fetched   time.Time `json:"fetched"`
	SHA256    string    `json:"sha256"`
	Truncated string    `json:"truncated,omitempty"`
}

// keep is the crawl's Config.KeepRobots.
func (r *rules) keep(p *fetcher.Page) error {
	sum := sha256.Sum256(p.Body)
	f := robotsFile{URL: p.URL.String(), Status: p.Status, Fetched: p.Ended.UTC(), SHA256: hex.EncodeToString(sum[:]), Truncated: p.Truncated}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, f)
	return os.WriteFile(filepath.Join(r.dir, f.SHA256+".txt"), p.Body, 0o644)
}

// all is the answers so far.
func (r *rules) all() []robotsFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}
