package main

import (
	"bytes"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// text returns the visible text of a page, without the title, scripts and the parts that every page of a site has (navigation, header,
// footer).
func text(page []byte) string {
	var p prose
	z := html.NewTokenizer(bytes.NewReader(page))
	var hidden atom.Atom // element that is being skipped
	depth := 0           // number of open elements with the name of hidden
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return p.String()
		}
		name := tag(z, kind)
		if name != 0 && !inLine(name) {
			p.gap = true
		}
		switch {
		case kind == html.TextToken && depth == 0:
			p.write(z.Text())
		case kind == html.StartTagToken && depth == 0 && leftOut(name):
			hidden, depth = name, 1
		case kind == html.StartTagToken && depth > 0 && name == hidden:
			depth++
		case kind == html.EndTagToken && depth > 0 && name == hidden:
			depth--
		}
	}
}

// tag returns the name of a tag, or 0 if kind is no tag.
func tag(z *html.Tokenizer, kind html.TokenType) atom.Atom {
	if kind != html.StartTagToken && kind != html.EndTagToken && kind != html.SelfClosingTagToken {
		return 0
	}
	name, _ := z.TagName()
	return atom.Lookup(name)
}

func leftOut(element atom.Atom) bool {
	switch element {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Title, atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Svg:
		return true
	}
	return false
}

// inLine reports whether an element can begin or end within a word.
func inLine(element atom.Atom) bool {
	switch element {
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Big, atom.Cite, atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Mark, atom.Q,
		atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var, atom.Wbr:
		return true
	}
	return false
}

// prose is text that has one blank wherever the page has white space or starts a new block.
type prose struct {
	strings.Builder
	gap bool // whether a blank precedes the next text
}

func (p *prose) write(piece []byte) {
	for _, r := range string(piece) {
		switch {
		case unicode.IsSpace(r):
			p.gap = true
			continue
		case p.gap && p.Len() > 0:
			p.WriteByte(' ')
		}
		p.gap = false
		p.WriteRune(r)
	}
}
