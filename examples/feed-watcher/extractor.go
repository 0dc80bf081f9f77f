package main

import (
	"slices"
	"strings"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
)

// extractor extracts the links in feeds, and in pages the links to their feeds.
type extractor struct{}

// Extract implements crawler.Extractor.
func (extractor) Extract(p *fetcher.Page) (*extract.Document, error) {
	if !p.IsHTML() && !isXML(p.ContentType) {
		return nil, nil
	}
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	if !p.IsHTML() {
		return extract.Feed(text), nil
	}
	doc := extract.HTML(text, extract.Options{XML: p.IsXHTML()})
	doc.Links = slices.DeleteFunc(doc.Links, func(l extract.Link) bool { return !namesFeed(l) })
	return doc, nil
}

// namesFeed reports whether a link leads to a feed of the page (HTML Standard section 4.6.7.1).
func namesFeed(l extract.Link) bool {
	kind, _, _ := strings.Cut(l.Type, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		return l.Kind == extract.LinkRel && l.Rel&extract.Alternate != 0
	}
	return false
}

// isXML reports whether feeds may have this media type.
func isXML(mediaType string) bool {
	return mediaType == "application/xml" || mediaType == "text/xml" || strings.HasSuffix(mediaType, "+xml")
}
