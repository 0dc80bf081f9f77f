package bench

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html"
)

// ceiling fetches pages with nothing but net/http, as cheaply as possible: every body is read and
// decoded into memory that is reused.
type ceiling struct {
	client *http.Client
	read   func(body []byte) // what is done with a page
}

func newCeiling(read func([]byte)) *ceiling {
	return &ceiling{
		client: &http.Client{Transport: &http.Transport{
			DisableCompression: true, MaxIdleConns: 512, MaxIdleConnsPerHost: 64, ReadBufferSize: 8 << 10,
		}},
		read: read,
	}
}

// all fetches the urls with as many workers as a crawl has.
func (c *ceiling) all(tb testing.TB, urls []string) {
	tb.Helper()
	defer c.client.CloseIdleConnections()
	next := make(chan string, len(urls))
	for _, u := range urls {
		next <- u
	}
	close(next)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := &ceilingWorker{ceiling: c}
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
	if w.gzip == nil {
		w.gzip = new(gzip.Reader)
	}
	if err := w.gzip.Reset(resp.Body); err != nil {
		return err
	}
	w.body.Reset()
	if _, err := w.body.ReadFrom(w.gzip); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(url + ": " + resp.Status)
	}
	w.read(w.body.Bytes())
	return nil
}

// ignore drops a page, to measure fetching alone.
func ignore([]byte) {}

// tokenize finds the targets of links with the tokenizer of x/net/html, and drops them.
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
