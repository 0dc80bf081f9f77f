package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// page is a page that was found.
type page struct {
	Score float64 `json:"score"`
	URL   string  `json:"url"`
	Title string  `json:"title"`
	Depth int     `json:"depth"`
	Via   string  `json:"via,omitempty"` // the page that led to it
}

// best keeps the best pages of a crawl and rates links. It is the crawl's Handler, and its method priority the
// crawl's Config.Priority.
type best struct {
	topic topic
	most  int

	mu     sync.Mutex
	scores map[weburl.URL]float64 // of pages whose links are being queued
	pages  []page                 // in order
	hits   int                    // pages with a score
}

// Handle implements crawler.Handler.
func (b *best) Handle(_ context.Context, v *crawler.Visit) error {
	score, err := b.score(v)
	b.forget(v)
	if err != nil || score == 0 || v.Outcome != crawler.Fetched || v.Status() != http.StatusOK || v.Directives.NoIndex {
		return err
	}
	b.add(page{URL: v.URL.String(), Title: strings.Clone(v.Doc.Title), Depth: v.Depth, Via: v.Via.String(), Score: score})
	return nil
}

// priority orders the links of one host, the most promising first; politeness alone decides which host comes next. It
// is called for each link of a page, before Handle.
func (b *best) priority(v *crawler.Visit, l *crawler.Link) int8 {
	score, err := b.score(v)
	if err != nil {
		return 0
	}
	return priority(b.topic.link(l.Text, l.URL.String(), score))
}

// score returns the score of the page, which is computed once.
func (b *best) score(v *crawler.Visit) (float64, error) {
	if v.Doc == nil {
		return 0, nil
	}
	b.mu.Lock()
	score, known := b.scores[v.URL]
	b.mu.Unlock()
	if known {
		return score, nil
	}
	text, err := v.Page.Text()
	if err != nil {
		return 0, err
	}
	score = b.topic.page(v.URL.String(), v.Doc.Title, text)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scores[v.URL] = score
	return score, nil
}

// forget drops what score remembers.
func (b *best) forget(v *crawler.Visit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.scores, v.URL)
}

func (b *best) add(p page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hits++
	at, _ := slices.BinarySearchFunc(b.pages, p, func(x, y page) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.URL, y.URL))
	})
	b.pages = slices.Insert(b.pages, at, p)
	b.pages = b.pages[:min(len(b.pages), b.most)]
}

// write prints the pages, the best first.
func (b *best) write(w io.Writer, asJSON bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if asJSON {
		e := json.NewEncoder(w)
		for _, p := range b.pages {
			if err := e.Encode(p); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range b.pages {
		fmt.Fprintf(t, "%.1f\t%s\t%s\n", p.Score, p.URL, printable(p.Title))
	}
	return t.Flush()
}

// printable returns a title without characters that would control a terminal or break the table.
func printable(title string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, title)
}

// isHTML reports whether a media type is that of a page.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}
