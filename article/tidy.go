package article

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tidy removes content that programs add to an author's text: links of headings to themselves, links for editing a section, and line
// numbers of code.
func tidy(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.ElementNode && isAdded(c) {
			n.RemoveChild(c)
		} else {
			tidy(c)
		}
		c = next
	}
}

func isAdded(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A:
		return strings.HasPrefix(attr(n, "href"), "#") && isHeading(n.Parent) && !contains(n, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	case atom.Span:
		return hasClass(n, "mw-editsection")
	case atom.Td, atom.Div:
		return hasClass(n, "linenos", "lineno", "gutter", "rouge-gutter", "hljs-ln-numbers", "blob-num", "line-numbers-wrapper", "line-numbers-rows") && !contains(n, func(r rune) bool { return !unicode.IsDigit(r) && !unicode.IsSpace(r) })
	}
	return false
}

func isHeading(n *html.Node) bool { return elementTraits[n.DataAtom]&inHeading != 0 }

func hasClass(n *html.Node, names ...string) bool {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		for _, name := range names {
			if class == name {
				return true
			}
		}
	}
	return false
}

// contains reports whether the text in n has a character of a set.
func contains(n *html.Node, set func(rune) bool) bool {
	for d := range n.Descendants() {
		if d.Type == html.TextNode && strings.ContainsFunc(d.Data, set) {
			return true
		}
	}
	return false
}
