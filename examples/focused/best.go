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

// best keeps the best pages of a crawl and tells the queue what their links promise. It is the
// crawl's Handler.
type best struct {
	topic topic
	queue *ranked
	most  int

	mu    sync.Mutex
	pages []page // in order
	hits  int    // pages with a score
}

// Handle implements crawler.Handler.
func (b *best) Handle(_ context.Context, v *crawler.Visit) error {
	if v.Outcome != crawler.Fetched || v.Doc == nil || v.Status() != http.StatusOK {
		return nil
	}
	text, err := v.Page.Text()
	if err != nil {
		return err
	}
	p := page{URL: v.URL.String(), Title: strings.Clone(v.Doc.Title), Depth: v.Depth, Via: v.Via.String()}
	p.Score = b.topic.page(v.URL.String(), v.Doc.Title, text)
	b.queue.note(v.URL, b.promises(v, p.Score))
	if p.Score > 0 && !v.Directives.NoIndex {
		b.add(p)
	}
	return nil
}

// promises is the priorities of a page's links, for each address the highest.
func (b *best) promises(v *crawler.Visit, score float64) map[weburl.Key]int8 {
	m := map[weburl.Key]int8{}
	for _, l := range v.Links() {
		if l.Fate == crawler.FateFollow {
			key := l.URL.Key()
			m[key] = max(m[key], priority(b.topic.link(l.Text, l.URL.String(), score)))
		}
	}
	return m
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

// printable is a title without what would change a terminal or the table.
func printable(title string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, title)
}

// isHTML reports whether a media type is one of a page.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}
