package schema

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markup reads Microdata (HTML Standard chapter 5) and RDFa Lite 1.1 in one pass. An itemref may name up to maxRefs elements; the contents
// of an element count only for the first item that refers to it.
func (p *Page) markup(tree *html.Node, base string) {
	r := markupReader{page: p, referred: map[string]*Item{}}
	if base != "" {
		r.base, _ = url.Parse(base)
	}
	r.collectRefs(tree)
	r.children(tree, nil, nil)
}

const maxRefs = 1_000

type markupReader struct {
	page     *Page
	base     *url.URL
	refs     map[*html.Node]*Item // items of elements with an itemref
	referred map[string]*Item     // keyed by ID: item that refers to the ID
}

// collectRefs creates the items that have an itemref in advance, because they may come after the elements to which they refer.
func (r *markupReader) collectRefs(tree *html.Node) {
	r.refs = map[*html.Node]*Item{}
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode || len(r.referred) >= maxRefs {
			continue
		}
		ids, ok := lookup(n, "itemref")
		if _, scope := lookup(n, "itemscope"); !ok || !scope {
			continue
		}
		it := r.page.newItem("microdata")
		if it == nil {
			return
		}
		r.refs[n] = it
		for _, id := range strings.Fields(ids) {
			if r.referred[id] == nil && len(r.referred) < maxRefs {
				r.referred[id] = it
			}
		}
	}
}

// children reads the children of n. They are in the item micro of Microdata, in the item rdfa of RDFa, in both or, if nil, in neither.
func (r *markupReader) children(n *html.Node, micro, rdfa *Item) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			r.children(c, r.microdata(c, micro), r.rdfa(c, rdfa))
		}
	}
}

// microdata reads the Microdata of an element, and returns the item in which its children are.
func (r *markupReader) microdata(n *html.Node, in *Item) *Item {
	if id := attr(n, "id"); id != "" && in == nil {
		in = r.referred[id]
	}
	names := strings.Fields(attr(n, "itemprop"))
	if _, scope := lookup(n, "itemscope"); scope {
		it := r.refs[n]
		if it == nil {
			it = r.page.newItem("microdata")
		}
		if it == nil {
			return in
		}
		it.ID = r.absolute(attr(n, "itemid"))
		it.Types = locals(attr(n, "itemtype"))
		r.attach(it, in, names)
		return it
	}
	if in != nil {
		for _, name := range names {
			r.page.add(in, local(name), text(r.valueOf(n, "content")))
		}
	}
	return in
}

// rdfa reads the RDFa of an element, and returns the item in which its children are.
func (r *markupReader) rdfa(n *html.Node, in *Item) *Item {
	if n.DataAtom == atom.Meta && in == nil {
		return in // OpenGraph, and not RDFa
	}
	names := strings.Fields(attr(n, "property"))
	if types := attr(n, "typeof"); types != "" {
		it := r.page.newItem("rdfa")
		if it == nil {
			return in
		}
		it.Types = locals(types)
		it.ID = r.absolute(attr(n, "resource"))
		r.attach(it, in, names)
		return it
	}
	if in != nil {
		for _, name := range names {
			r.page.add(in, local(name), text(r.valueOf(n, "content")))
		}
	}
	return in
}

// attach adds an item to the item that contains it or, if there is none, to the page.
func (r *markupReader) attach(it, in *Item, names []string) {
	if in == nil || in == it || len(names) == 0 {
		r.page.Items = append(r.page.Items, it)
		return
	}
	for _, name := range names {
		r.page.add(in, local(name), it)
	}
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func locals(names string) (list []string) {
	for _, name := range strings.Fields(names) {
		list = append(list, local(name))
	}
	return list
}

// valueOf returns the value of a property as the HTML Standard defines it (section 5.2.4).
func (r *markupReader) valueOf(n *html.Node, content string) string {
	if v, ok := lookup(n, content); ok {
		return strings.TrimSpace(v)
	}
	switch n.DataAtom {
	case atom.A, atom.Area, atom.Link:
		if v, ok := lookup(n, "href"); ok {
			return r.absolute(v)
		}
	case atom.Img, atom.Audio, atom.Video, atom.Embed, atom.Iframe, atom.Source, atom.Track:
		return r.absolute(attr(n, "src"))
	case atom.Object:
		return r.absolute(attr(n, "data"))
	case atom.Data, atom.Meter:
		if v, ok := lookup(n, "value"); ok {
			return v
		}
	case atom.Time:
		if v, ok := lookup(n, "datetime"); ok {
			return v
		}
	}
	return r.textOf(n)
}

// maxText limits the text of a property, in bytes. The texts of nested properties overlap: without a limit, the texts of a page of n nested
// elements would have n² bytes.
const maxText = 64 << 10

// textOf returns the text in an element, with white space collapsed.
func (r *markupReader) textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.DataAtom != atom.Script && d.Parent.DataAtom != atom.Style {
			b.WriteString(d.Data)
			if b.Len() > maxText || !r.page.count() {
				break
			}
		}
	}
	return strings.Join(strings.Fields(b.String()[:min(b.Len(), maxText)]), " ")
}

func (r *markupReader) absolute(ref string) string {
	ref = strings.TrimSpace(ref)
	if r.base == nil || ref == "" {
		return ref
	}
	u, err := r.base.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}
