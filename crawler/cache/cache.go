// Package cache keeps responses in a directory, so that a program under development can be run repeatedly over the same pages, while the
// site gets only one request for each page. Responses do not expire unless MaxAge is set. To find out which pages have changed, use
// crawler.Config.Since instead.
//
// A [Cache] wraps the Fetcher of a crawl:
//
//	pages, err := cache.Open(cache.Config{Dir: "pages"})
//	cfg.AroundFetch = pages.Around
//
// The gate decides about every URL as in any crawl: robots.txt is requested and obeyed, and hours and delays are kept. URLs in the cache
// are not requested: the permit is returned unused, without a pause after it and without a line in the ledger, and fetcher.Page.Cached and
// sink.Record.Cached are set.
package cache

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/challenge"
)

// Defaults of Config.
const (
	defaultMaxBytes = 1 << 30
	defaultMaxBody  = 64 << 20
)

// ErrFull is the error for a response that is not stored because the directory has reached Config.MaxBytes.
var ErrFull = errors.New("cache: the directory is full: nothing more is kept")

// Config configures a Cache. Only Dir must be set.
type Config struct {
	// Dir is the directory of the responses. It is created if it is missing, and only its owner may read it. Several crawls may use it at
	// the same time.
	Dir string
	// Variant identifies everything besides the URL on which responses depend, such as the header fields that are sent. Only responses
	// stored with the same Variant are used.
	Variant  string
	MaxBytes int64         // limit of all responses together. 0: 1 GiB
	MaxBody  int64         // limit of one response. 0: 64 MiB
	MaxAge   time.Duration // older responses are requested again. 0: no limit
	// Problem is called with a *FileError for every response that could not be stored or read, and once with ErrFull. A page that cannot
	// be read is requested. Problem is called concurrently. nil: nothing is called.
	Problem func(error)
}

// FileError reports a file of the cache that cannot be read or written.
type FileError struct {
	Path string
	Err  error // the cause
}

func (e *FileError) Error() string { return "cache: " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Cache keeps responses in a directory. It is safe for concurrent use.
type Cache struct {
	cfg  Config
	size atomic.Int64
	full atomic.Bool
}

// Open opens a directory of responses. It returns an error if the directory cannot be used, or if a limit in c is negative.
func Open(c Config) (*Cache, error) {
	if c.Dir == "" || c.MaxBytes < 0 || c.MaxBody < 0 || c.MaxAge < 0 {
		return nil, errors.New("cache: Config: Dir must be set, and limits must not be negative")
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Problem == nil {
		c.Problem = func(error) {}
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	k := &Cache{cfg: c}
	err := filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(path, suffix) {
			k.size.Add(info.Size())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return k, nil
}

// Around returns a Fetcher that returns responses from the cache, and stores those that next receives. It is a function for
// crawler.Config.AroundFetch.
//
// It stores complete responses for pages, sitemaps and resources of pages, with status 2xx (except for 206), 301, 302, 303, 307, 308, 404
// or 410. It does not store responses that set cookies, challenges of bot walls, or robots.txt files.
func (k *Cache) Around(next crawler.Fetcher) crawler.Fetcher { return &around{next, k} }

type around struct {
	crawler.Fetcher
	cache *Cache
}

// Fetch returns a response from the cache, or else that of the wrapped Fetcher.
func (a *around) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	switch p.Purpose() {
	case politeness.Page, politeness.Sitemap, politeness.Resource:
	default:
		return a.Fetcher.Fetch(ctx, p)
	}
	if page := a.cache.load(p); page != nil {
		return page, nil
	}
	page, err := a.Fetcher.Fetch(ctx, p)
	if err == nil && keeps(page) {
		a.cache.keep(page)
	}
	return page, err
}

// keeps reports whether a response is stored: it must be complete, and the same response must be expected next time.
func keeps(p *fetcher.Page) bool {
	return status(p.Status) && p.Truncated == "" && !p.Challenged && len(p.Header["Set-Cookie"]) == 0 && challenge.Of(p.Status, p.Header, p.Body) == ""
}

func status(s int) bool {
	switch s {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusPartialContent:
		return false
	}
	return s >= 200 && s <= 299
}

// suffix is the end of the names of files with responses.
const suffix = ".page"

// maxHead limits the first line of a file. The header of a response is always shorter.
const maxHead = 4 << 20

// head is the first line of a file. The body follows.
type head struct {
	Version     int         `json:"version"`
	URL         string      `json:"url"`
	Addr        netip.Addr  `json:"addr"`
	Received    time.Time   `json:"received"`
	Status      int         `json:"status"`
	Proto       string      `json:"proto"`
	Header      http.Header `json:"header"`
	Type        string      `json:"type"`
	Sniffed     bool        `json:"sniffed,omitempty"`
	Charset     string      `json:"charset,omitempty"`
	CharsetFrom string      `json:"charset_from,omitempty"`
	Certain     bool        `json:"certain,omitempty"`
	Encoding    string      `json:"encoding,omitempty"`
	Note        string      `json:"note,omitempty"`
	Insecure    bool        `json:"insecure,omitempty"`
	Bytes       int64       `json:"bytes"`
	SHA256      string      `json:"sha256"` // SHA-256 of the line with "" here, followed by the body
}

const version = 1

// path returns the name of the file with the response for a URL.
func (k *Cache) path(url string) string {
	sum := sha256.Sum256([]byte(k.cfg.Variant + "\n" + url))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(k.cfg.Dir, name[:2], name[2:]+suffix)
}

// load returns the response for a Permit's URL, or nil if there is no usable response.
func (k *Cache) load(p politeness.Permit) *fetcher.Page {
	url := p.URL().String()
	path := k.path(url)
	h, body, err := k.read(path, url)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		k.cfg.Problem(&FileError{path, err})
		return nil
	case k.cfg.MaxAge > 0 && time.Since(h.Received) > k.cfg.MaxAge:
		return nil
	}
	now := time.Now()
	return &fetcher.Page{
		URL: p.URL(), Addr: h.Addr, Status: h.Status, Proto: h.Proto, Header: h.Header, Body: body, ContentType: h.Type, Sniffed: h.Sniffed,
		Charset: h.Charset, CharsetFrom: h.CharsetFrom, CharsetCertain: h.Certain, Encoding: h.Encoding, Note: h.Note, Insecure: h.Insecure,
		Permit: p, Cached: true, Started: now, Ended: now,
	}
}

// read reads a file of the directory, whose content must not be trusted.
func (k *Cache) read(path, url string) (*head, []byte, error) {
	f, err := safefile.OpenOwn(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // f is only read, so an error of Close loses no data
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > maxHead+k.cfg.MaxBody {
		return nil, nil, safefile.ErrTooLong
	}
	all, err := safefile.ReadAll(f, path, maxHead+k.cfg.MaxBody)
	if err != nil {
		return nil, nil, err
	}
	line, body, ok := bytes.Cut(all, []byte("\n"))
	h := &head{}
	switch {
	case !ok || len(line) > maxHead:
		return nil, nil, errors.New("is not a file of a cache, or has been cut off")
	case json.Unmarshal(line, h) != nil || h.Version != version:
		return nil, nil, errors.New("does not begin with the description of an answer")
	case h.URL != url:
		return nil, nil, fmt.Errorf("is the answer for another URL, %.200q", h.URL)
	case h.Bytes != int64(len(body)) || h.SHA256 != h.sum(body):
		return nil, nil, errors.New("is damaged: the answer is not the one that was received")
	case !status(h.Status) || h.Bytes > k.cfg.MaxBody:
		return nil, nil, errors.New("has an answer that is not kept")
	}
	return h, body, nil
}

// sum returns the SHA256 for h and its body.
func (h head) sum(body []byte) string {
	h.SHA256 = ""
	line, _ := json.Marshal(h) // no error: strings, numbers and times can always be encoded
	d := sha256.New()
	_, _ = d.Write(line) // a hash returns no error
	_, _ = d.Write(body)
	return hex.EncodeToString(d.Sum(nil))
}

// keep stores a response. If the file cannot be written, it reports a problem, and the crawl continues.
func (k *Cache) keep(p *fetcher.Page) {
	url := p.URL.String()
	path := k.path(url)
	h := head{
		Version: version, URL: url, Addr: p.Addr, Received: p.Ended.UTC(), Status: p.Status, Proto: p.Proto, Header: p.Header, Type: p.ContentType,
		Sniffed: p.Sniffed, Charset: p.Charset, CharsetFrom: p.CharsetFrom, Certain: p.CharsetCertain, Encoding: p.Encoding, Note: p.Note,
		Insecure: p.Insecure, Bytes: int64(len(p.Body)),
	}
	h.SHA256 = h.sum(p.Body)
	line, err := json.Marshal(h)
	size := int64(len(line)) + 1 + h.Bytes
	switch {
	case err != nil:
		k.cfg.Problem(&FileError{path, err})
		return
	case h.Bytes > k.cfg.MaxBody || len(line) > maxHead:
		return
	case k.size.Add(size) > k.cfg.MaxBytes:
		k.size.Add(-size)
		if !k.full.Swap(true) {
			k.cfg.Problem(ErrFull)
		}
		return
	}
	if err := write(path, line, p.Body); err != nil {
		k.size.Add(-size)
		k.cfg.Problem(&FileError{path, err})
	}
}

// write writes a file in one step: other processes see it completely or not at all. It need not survive a power failure.
func write(path string, line, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, _ = w.Write(line) // w keeps the first error, and Flush returns it
	_ = w.WriteByte('\n')
	_, _ = w.Write(body)
	err = errors.Join(w.Flush(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
