package article

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Prune removes the blocks of the main text for which drop returns true, and updates the word count. A block is an element that contains no
// other block, such as a paragraph or a list item. Headings, tables and preformatted text stay. drop is called with the plain text of each
// block, in page order.
func (a *Article) Prune(drop func(text string) bool) {
	if a.Tree == nil {
		return
	}
	if a.dropBlocks(a.Tree, drop) {
		a.Words = countWords(a.Text())
	}
}

// dropBlocks removes blocks within an element, and elements that become empty. It reports whether anything was removed.
func (a *Article) dropBlocks(n *html.Node, drop func(string) bool) (some bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type != html.ElementNode || fixed(c.DataAtom):
		case !breaks(c.DataAtom) || containsBlock(c):
			if a.dropBlocks(c, drop) {
				some = true
				if !hasText(c) {
					n.RemoveChild(c)
				}
			}
		default:
			var w textWriter
			w.node(c, false)
			if text := w.out.String(); text != "" && drop(text) {
				n.RemoveChild(c)
				some = true
			}
		}
		c = next
	}
	return some
}

// fixed reports whether Prune leaves elements of this kind alone.
func fixed(a atom.Atom) bool {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hgroup, atom.Table, atom.Pre, atom.Listing, atom.Xmp:
		return true
	}
	return false
}

// hasText reports whether n contains text or an image.
func hasText(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.Type == html.TextNode && !blank(c.Data) || c.DataAtom == atom.Img {
			return true
		}
	}
	return false
}
