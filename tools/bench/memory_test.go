package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// memorySite is a host whose pages each link to a few new pages, so that all are reached, and to pages that are known at that time.
type memorySite struct {
	bodies map[string][]byte
	header http.Header
}

const memoryHost = "127.0.0.1:80"

// knownLinks holds how many links to known pages each page has, and to how many different pages these lead at most. Links of a menu lead to
// the same few pages everywhere; those of an archive lead to different pages on each page.
type knownLinks struct{ links, targets int }

func newMemorySite(pages int, known knownLinks) *memorySite {
	s := &memorySite{
		bodies: map[string][]byte{"/robots.txt": []byte(robotsTxt)},
		header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
	}
	for i := range pages {
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d</title>\n", i)
		for k := 1; k <= fanOut && fanOut*i+k < pages; k++ {
			fmt.Fprintf(&b, "<a href=\"%s\">new</a>\n", pagePath(fanOut*i+k))
		}
		for k := range known.links {
			fmt.Fprintf(&b, "<a href=\"%s\">known</a>\n", pagePath(known.target(i, k)))
		}
		s.bodies[pagePath(i)] = []byte(b.String())
	}
	return s
}

// target returns the number of the page to which link k of page i leads.
func (n knownLinks) target(i, k int) int {
	if n.targets < n.links {
		return min(i, k%n.targets)
	}
	return max(0, i-k)
}

// memoryFetcher is a Fetcher with all pages in memory. A crawl with it has all costs except those of HTTP.
type memoryFetcher struct{ *memorySite }

// CloseIdle implements crawler.Fetcher.
func (memoryFetcher) CloseIdle(string) {}

// Resolve implements crawler.Fetcher.
func (memoryFetcher) Resolve(context.Context, weburl.URL) (netip.Addr, error) {
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
}

// Fetch implements crawler.Fetcher.
func (f memoryFetcher) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	return fetchMade(p, f.header, func(path string) ([]byte, bool) {
		body, ok := f.bodies[path]
		return body, ok
	})
}

// fetchMade redeems p and returns the page that body makes, as if fetching took no time.
func fetchMade(p politeness.Permit, header http.Header, body func(path string) ([]byte, bool)) (*fetcher.Page, error) {
	g, err := p.Redeem()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := g.Begin(); err != nil {
		return nil, err
	}
	b, ok := body(g.URL().PathQuery())
	if !ok {
		return nil, fmt.Errorf("no page %s", g.URL())
	}
	return &fetcher.Page{
		URL: g.URL(), Addr: g.Addr(), Status: http.StatusOK, Proto: "HTTP/1.1", Header: header, Body: b,
		ContentType: "text/html", Charset: "utf-8", WireBytes: int64(len(b)), Permit: p,
		Started: now, Written: now, FirstByte: now, Ended: now,
	}, nil
}

// memoryNet is a network in memory whose connections give prepared answers. A crawl with it has all costs except those of sockets.
type memoryNet struct {
	server  server
	answers map[string]answer
	serving sync.WaitGroup
}

func newMemoryNet(s *memorySite) *memoryNet {
	n := &memoryNet{answers: map[string]answer{}}
	for path, body := range s.bodies {
		contentType := s.header.Get("Content-Type")
		if path == "/robots.txt" {
			contentType = "text/plain"
		}
		a := respond(contentType, "", body)
		n.answers[path] = answer{a, a}
	}
	return n
}

// dial implements fetcher.Config.DialContext.
func (n *memoryNet) dial(context.Context, string, string) (net.Conn, error) {
	client, end := net.Pipe()
	n.serving.Go(func() { n.server.talk(end, func(q []byte) []byte { return choose(q, n.answers) }) })
	return client, nil
}

// lines is a writer that counts lines.
type lines int

// Write counts the lines of b.
func (n *lines) Write(b []byte) (int, error) {
	*n += lines(bytes.Count(b, []byte{'\n'}))
	return len(b), nil
}
