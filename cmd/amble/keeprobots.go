package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

const indexName = "index.jsonl"

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
	f, err := openEvidence(filepath.Join(dir, indexName))
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

// writeOnce writes a file whose name vouches for its content: it is there whole or not at all.
func writeOnce(path string, body []byte) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replaceFile(path, body)
}

// keptRobots reads a body that is kept in a job directory.
func keptRobots(dir, sha256 string) ([]byte, error) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if sha256 == empty {
		return nil, nil
	}
	if strings.Trim(sha256, "0123456789abcdef") != "" || sha256 == "" {
		return nil, errors.New("no hash")
	}
	return os.ReadFile(filepath.Join(dir, robotsName, sha256+".txt"))
}

// Close closes the index.
func (k *robotsKeeper) Close() error { return k.index.Close() }
