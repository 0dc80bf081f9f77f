package bench

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/weburl"
)

// ceiling fetches pages with net/http only, as cheaply as possible, for comparison with a crawl. It reuses the memory for bodies.
type ceiling struct {
	client  *http.Client
	workers int
	other   int                                  // status, other than 200, of URLs without a body
	read    func() func(url string, body []byte) // returns the function that processes the pages of one worker
}

// newCeiling returns a ceiling that fetches the pages of w.
func newCeiling(w *web, read func() func(string, []byte)) *ceiling {
	return &ceiling{
		client: &http.Client{
			Transport: &http.Transport{
				DisableCompression: true, MaxIdleConns: max(512, len(w.hosts)), MaxIdleConnsPerHost: 64, ReadBufferSize: 8 << 10,
				TLSClientConfig:   &tls.Config{RootCAs: w.roots, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
				ForceAttemptHTTP2: w.HTTP2,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		workers: w.workers(),
		other:   w.Other,
		read:    read,
	}
}

// all fetches the URLs with as many workers as a crawl has.
func (c *ceiling) all(tb testing.TB, urls []string) {
	tb.Helper()
	defer c.client.CloseIdleConnections()
	next := make(chan string, len(urls))
	for _, u := range urls {
		next <- u
	}
	close(next)
	var wg sync.WaitGroup
	for range c.workers {
		wg.Go(func() {
			w := &ceilingWorker{ceiling: c, use: c.read()}
			for u := range next {
				if err := w.get(u); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

type ceilingWorker struct {
	*ceiling
	use  func(url string, body []byte)
	body bytes.Buffer
	gzip *gzip.Reader
}

func (w *ceilingWorker) get(url string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header["Accept-Encoding"] = []string{"gzip"}
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != w.other {
		return errors.New(url + ": " + resp.Status)
	}
	if err := w.decode(resp); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	w.use(url, w.body.Bytes())
	return nil
}

// decode reads the body of a response into w.body, decompressed.
func (w *ceilingWorker) decode(resp *http.Response) error {
	w.body.Reset()
	if resp.Header.Get("Content-Encoding") == "" {
		_, err := w.body.ReadFrom(resp.Body)
		return err
	}
	if w.gzip == nil {
		w.gzip = new(gzip.Reader)
	}
	if err := w.gzip.Reset(resp.Body); err != nil {
		return err
	}
	_, err := w.body.ReadFrom(w.gzip)
	return err
}

// ignore does nothing with a page, to measure only fetching.
func ignore() func(string, []byte) { return func(string, []byte) {} }

// follow does what every crawler must do with a page: it finds the links in the fastest way known here, resolves them, and looks up whether
// their URLs are known. A crawler that does nothing else would be as fast, so this is the limit for crawlers.
func follow() func() func(string, []byte) {
	var mu sync.Mutex
	known := map[weburl.Key]struct{}{}
	return func() func(string, []byte) {
		scan, res := extract.NewScanner(extract.Options{}), weburl.NewResolver(weburl.URL{}, weburl.Safe)
		return func(url string, body []byte) {
			base, err := weburl.Parse(url)
			if err != nil {
				return
			}
			res.Reset(base)
			for _, l := range scan.ScanBytes(body).Links {
				if v, err := res.Resolve(l.Ref); err == nil {
					key := v.Key()
					mu.Lock()
					known[key] = struct{}{}
					mu.Unlock()
				}
			}
		}
	}
}

// tokenizer finds the targets of links with the tokenizer of x/net/html, and does nothing with them.
func tokenizer() func(string, []byte) { return func(_ string, body []byte) { tokenize(body) } }

func tokenize(body []byte) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			for isAnchor := string(name) == "a"; more && isAnchor; {
				_, _, more = z.TagAttr()
			}
		}
	}
}
