// Package css finds elements of a parsed page by CSS selectors, and reads them into Go values.
//
// A page's tree comes from [github.com/amble-crawler/amble/extract.Tree]. Selectors are compiled once, when the program starts, so
// that an invalid one stops the program and not the crawl:
//
//	var price = css.MustCompile(".product .price")
//	…
//	text := css.Text(tree, price)
package css

import (
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Selector is a compiled group of CSS selectors ("h1, .title"), Selectors Level 4 as far as [cascadia] supports it. It may be used
// by several goroutines at once. A nil *Selector selects the node itself.
type Selector struct {
	group cascadia.SelectorGroup
	text  string
}

// Compile compiles a group of selectors. The error quotes text and describes what is wrong with it.
func Compile(text string) (*Selector, error) {
	group, err := cascadia.ParseGroup(text)
	if err != nil {
		return nil, fmt.Errorf("css: selector %q: %w", text, err)
	}
	return &Selector{group, text}, nil
}

// MustCompile is like Compile, for selectors that are part of a program. It panics if the text is not a valid group of selectors.
func MustCompile(text string) *Selector {
	s, err := Compile(text)
	if err != nil {
		panic(err)
	}
	return s
}

// String returns the text from which s was compiled.
func (s *Selector) String() string {
	if s == nil {
		return ""
	}
	return s.text
}

// All returns the elements below n that s selects, in document order and without repetitions.
func All(n *html.Node, s *Selector) []*html.Node {
	switch {
	case n == nil:
		return nil
	case s == nil:
		return []*html.Node{n}
	}
	return cascadia.QueryAll(n, s.group)
}

// First returns the first element below n that s selects, or nil if there is none.
func First(n *html.Node, s *Selector) *html.Node {
	if n == nil || s == nil {
		return n
	}
	return cascadia.Query(n, s.group)
}

// Text returns the text of the first element that s selects, as a browser shows it: white space is collapsed to one space and trimmed,
// scripts and styles are left out, and texts of different blocks are separated by a space. It is "" if s selects nothing.
func Text(n *html.Node, s *Selector) string {
	var t textBuilder
	if n = First(n, s); n != nil {
		t.add(n)
	}
	return t.b.String()
}

// Attr returns the value of an attribute of the first element that s selects, without white space at either end. It is ""
// if there is no such element or attribute. Names of attributes are in lower case in a parsed page.
func Attr(n *html.Node, s *Selector, name string) string {
	v, _ := attr(First(n, s), name)
	return v
}

func attr(n *html.Node, name string) (string, bool) {
	if n == nil {
		return "", false
	}
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return strings.TrimSpace(a.Val), true
		}
	}
	return "", false
}

// textBuilder collects text with its white space collapsed.
type textBuilder struct {
	b     strings.Builder
	space bool // a space must precede the next word
}

// add adds the text of n and its descendants. It uses no recursion, because pages may be nested as deep as the parser allows.
func (t *textBuilder) add(n *html.Node) {
	for at, up := n, false; ; {
		switch {
		case !up && at.Type == html.TextNode:
			t.text(at.Data)
		case separates(at):
			t.space = true
		}
		switch {
		case !up && at.FirstChild != nil && !silent(at):
			at = at.FirstChild
		case at == n:
			return
		case at.NextSibling != nil:
			at, up = at.NextSibling, false
		default:
			at, up = at.Parent, true
		}
	}
}

func (t *textBuilder) text(s string) {
	for i, word := range strings.FieldsFunc(s, isSpace) {
		if t.space = t.space || i > 0 || isSpace(rune(s[0])); t.space && t.b.Len() > 0 {
			t.b.WriteByte(' ')
		}
		t.b.WriteString(word)
		t.space = false
	}
	if s != "" && isSpace(rune(s[len(s)-1])) {
		t.space = true
	}
}

// isSpace reports whether r is white space that browsers collapse, which excludes no-break spaces.
func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' }

// silent reports whether the text of an element is not shown.
func silent(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template:
		return n.Type == html.ElementNode
	}
	return false
}

// separates reports whether an element begins a new line or block, so that the texts before, in and after it are separated.
func separates(n *html.Node) bool {
	switch n.DataAtom {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn, atom.Em,
		atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Nobr, atom.Q, atom.Rp, atom.Rt, atom.Ruby,
		atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var,
		atom.Wbr:
		return false
	case 0: // elements unknown to HTML, which browsers show inline, like span
		return false
	}
	return n.Type == html.ElementNode
}
