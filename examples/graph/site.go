package main

import (
	"context"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// site converts the visits of a crawl to a graph. It is the crawl's Handler.
type site struct {
	external bool

	mu    sync.Mutex
	graph *graph
}

// Handle implements crawler.Handler.
func (s *site) Handle(_ context.Context, v *crawler.Visit) error {
	links := v.Links()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.graph.node(v.URL, v.Depth)
	n := &s.graph.nodes[at]
	n.state, n.status = string(v.Outcome), v.Status()
	if v.Doc != nil {
		n.title = strings.Clone(v.Doc.Title) // a copy: otherwise the whole page would stay in memory
	}
	if !v.Location.IsZero() {
		s.graph.link(at, v.Location, v.Depth, true)
	}
	for _, l := range links {
		s.add(at, v.Depth+1, l)
	}
	return nil
}

// add adds a link of a page to the graph. It leads to a page of the site, whether that will be visited or not, or to another site as a
// whole.
func (s *site) add(from, depth int, l crawler.Link) {
	switch l.Fate {
	case crawler.FateResource, crawler.FateInvalid:
		return
	case crawler.FateScope:
		if home, err := weburl.Parse(l.URL.Origin() + "/"); s.external && err == nil {
			if to, ok := s.graph.link(from, home, depth, false); ok && s.graph.nodes[to].state == stateUnvisited {
				s.graph.nodes[to].state = stateExternal
			}
		}
	default:
		s.graph.link(from, l.URL, depth, false)
	}
}

// isHTML reports whether a media type is a type of HTML pages.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}
