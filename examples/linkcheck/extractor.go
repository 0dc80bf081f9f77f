package main

import (
	"slices"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
)

const typeCSS = "text/css"

// extractor extracts the links of HTML pages and, if resources are checked, of style sheets.
type extractor struct{ resources bool }

// Extract implements crawler.Extractor.
func (e extractor) Extract(p *fetcher.Page) (*extract.Document, error) {
	css := e.resources && p.ContentType == typeCSS
	if !css && !p.IsHTML() {
		return nil, nil
	}
	text, err := p.Text()
	if err != nil {
		return nil, err
	}
	if css {
		return extract.CSS(text), nil
	}
	doc := extract.HTML(text, extract.Options{Resources: e.resources, XML: p.IsXHTML()})
	// A preconnect names a host to be prepared for, not a document that should exist.
	doc.Links = slices.DeleteFunc(doc.Links, func(l extract.Link) bool { return l.Rel&extract.Preconnect != 0 })
	return doc, nil
}

// wanted reports whether a body is needed: one with links. The beginning of any other body is enough to know that it
// exists.
func wanted(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml" || mediaType == typeCSS
}
