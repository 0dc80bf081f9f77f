package main

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/amble-crawler/amble/weburl"
)

// licence is what a page states as the licence of its content. It may apply to a part only, or be wrong.
type licence struct {
	URL  string `json:"url,omitempty"`  // of the licence
	Text string `json:"text,omitempty"` // of the link, or of a META element without an address
	By   string `json:"by"`             // what states it: "a", "link", "area" or "meta"
}

const maxLicences = 10

// findLicences looks for rel=license (HTML Standard section 4.6.7.10) and the corresponding names of Dublin Core.
func findLicences(tree *html.Node, base weburl.URL) (list []licence) {
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode || len(list) >= maxLicences {
			continue
		}
		l, ok := licence{}, false
		switch n.DataAtom {
		case atom.A, atom.Link, atom.Area:
			l, ok = linked(n, base)
		case atom.Meta:
			l, ok = stated(n, base)
		}
		if ok && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// linked returns the licence of a link with rel=license.
func linked(n *html.Node, base weburl.URL) (l licence, ok bool) {
	if !slices.Contains(strings.Fields(strings.ToLower(attr(n, "rel"))), "license") {
		return l, false
	}
	u, err := base.Resolve(attr(n, "href"))
	return licence{URL: u.String(), Text: words(n), By: n.Data}, err == nil
}

// stated returns the licence that a META element states, by its address or in words.
func stated(n *html.Node, base weburl.URL) (l licence, ok bool) {
	switch strings.ToLower(attr(n, "name")) {
	case "license", "dc.rights", "dc.rights.license", "dcterms.license", "dcterms.rights":
	default:
		return l, false
	}
	text := strings.TrimSpace(attr(n, "content"))
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		if u, err := base.Resolve(text); err == nil {
			return licence{URL: u.String(), By: n.Data}, true
		}
	}
	return licence{Text: text, By: n.Data}, text != ""
}

// attr returns the value of an attribute, or "".
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// words returns the text in an element, with white space collapsed.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
