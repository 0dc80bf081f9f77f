package article

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text returns the main text as plain text. An empty line separates paragraphs and other blocks, list items and table rows begin on new
// lines, tabs separate cells, and preformatted text is unchanged. Images are left out.
func (a *Article) Text() string {
	if a.Tree == nil {
		return ""
	}
	var w textWriter
	w.node(a.Tree, false)
	return w.out.String()
}

// textWriter writes plain text.
type textWriter struct {
	out  strings.Builder
	feed int  // number of line feeds before the next letter
	gap  byte // blank or tab before the next letter
}

func (w *textWriter) node(n *html.Node, pre bool) {
	if n.Type == html.TextNode {
		w.text(n.Data, pre)
		return
	}
	feeds := 0
	switch a := n.DataAtom; {
	case a == atom.Br:
		w.feed = max(w.feed, 1)
		return
	case a == atom.Td || a == atom.Th:
		w.gap = '\t'
	case a == atom.Li || a == atom.Tr || a == atom.Dt || a == atom.Dd:
		feeds = 1
	case breaks(a):
		feeds = 2
		if inCell(n) {
			feeds = 0
			w.blank()
		}
	}
	pre = pre || n.DataAtom == atom.Pre || n.DataAtom == atom.Listing || n.DataAtom == atom.Xmp
	w.feed = max(w.feed, feeds)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c, pre)
	}
	w.feed = max(w.feed, feeds)
}

// inCell reports whether the parent of an element is the cell of a table.
func inCell(n *html.Node) bool {
	return n.Parent != nil && (n.Parent.DataAtom == atom.Td || n.Parent.DataAtom == atom.Th)
}

// blank puts a blank before the next letter, unless a tab comes there.
func (w *textWriter) blank() {
	if w.gap == 0 {
		w.gap = ' '
	}
}

func (w *textWriter) text(s string, pre bool) {
	for _, r := range s {
		switch {
		case pre && (r == '\n' || r == ' ' || r == '\t') && w.out.Len() > 0 && w.feed == 0:
			w.out.WriteRune(r)
			continue
		case unicode.IsSpace(r):
			w.blank()
			continue
		case unicode.IsControl(r) || r == '\u200b' || r == '\ufeff':
			continue
		}
		switch {
		case w.out.Len() == 0:
		case w.feed > 0:
			w.out.WriteString("\n\n"[:w.feed])
		case w.gap != 0:
			w.out.WriteByte(w.gap)
		}
		w.feed, w.gap = 0, 0
		w.out.WriteRune(r)
	}
}

// countWords counts the words of a text. In scripts without spaces between words, each letter is one.
func countWords(s string) (n int) {
	open := false // whether the previous character belongs to a word
	for _, r := range s {
		inside, spaceless := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9', false
		if r >= utf8.RuneSelf {
			spaceless = unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
			inside = unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		}
		if inside && (spaceless && !unicode.IsMark(r) || !spaceless && !open) {
			n++
		}
		open = inside && !spaceless
	}
	return n
}
