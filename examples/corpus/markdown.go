package main

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown returns the text of a tree as Markdown (CommonMark 0.31), and the number of its words. The work is linear
// in the size of the tree, and so is the text: only maxNesting lists and quotations are nested, because every line
// repeats the marks of all its containers.
func markdown(root *html.Node) (text string, words int) {
	var w writer
	w.node(root)
	w.flush()
	return w.out.String(), w.words
}

const maxNesting = 8

const quote = "> "

// writer writes Markdown. Inline text is collected in line until a block ends.
type writer struct {
	out    strings.Builder
	levels []*level // open lists and quotations, outermost first
	beyond int      // more that are open and not marked

	line  strings.Builder
	gap   bool     // white space before what follows
	broke bool     // a line ended before what follows
	marks []string // of open emphasis; "" for emphasis in emphasis of the same kind
	due   int      // how many of the last marks are not written yet
	words int
}

// level is a list item or a quotation.
type level struct {
	first, rest string // what its first line and the others begin with
	begun       bool
	tight       bool // no empty line before it
}

// node writes an element or a text.
func (w *writer) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.text(n.Data)
	case n.Type != html.ElementNode && n.Type != html.DocumentNode:
	case n.DataAtom == atom.Pre:
		w.pre(n)
	case n.DataAtom == atom.Br || n.DataAtom == atom.Tr:
		w.broke = true
		w.inside(n)
	case n.DataAtom == atom.Td || n.DataAtom == atom.Th:
		w.cell()
		w.inside(n)
	case emphasis[n.DataAtom] != "":
		w.emphasize(n, emphasis[n.DataAtom])
	case n.Type == html.DocumentNode || breaks(n.DataAtom):
		w.block(n)
	default:
		w.inside(n)
	}
}

func (w *writer) inside(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// block writes an element that is a block, between two others.
func (w *writer) block(n *html.Node) {
	w.flush()
	switch n.DataAtom {
	case atom.Blockquote:
		w.within(&level{first: quote, rest: quote}, n)
	case atom.Ul, atom.Ol:
		w.list(n)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n)
	default:
		w.inside(n)
	}
	w.flush()
}

// heading writes a heading, on one line even if it contains breaks.
func (w *writer) heading(n *html.Node) {
	w.inside(n)
	text := strings.ReplaceAll(w.take(), "\n", " ")
	if text != "" {
		w.lines(strings.Repeat("#", int(n.Data[1]-'0')) + " " + text)
	}
}

// list writes a list. Content that is not in an item is a block of its own.
func (w *writer) list(n *html.Node) {
	number, nested := 0, len(w.levels) > 0 && w.levels[len(w.levels)-1].rest != quote
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.DataAtom != atom.Li {
			w.node(c)
			continue
		}
		number++
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
		}
		w.within(&level{first: mark, rest: strings.Repeat(" ", len(mark)), tight: nested || number > 1}, c)
	}
}

// within writes the content of an element one level deeper.
func (w *writer) within(l *level, n *html.Node) {
	w.flush()
	if len(w.levels) >= maxNesting {
		w.beyond++
		w.inside(n)
		w.flush()
		w.beyond--
		return
	}
	w.levels = append(w.levels, l)
	w.inside(n)
	w.flush()
	w.levels = w.levels[:len(w.levels)-1]
}

// pre writes text unchanged, in a fence longer than any in it.
func (w *writer) pre(n *html.Node) {
	w.flush()
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	text := strings.Trim(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	w.words += len(strings.Fields(text))
	fence := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	w.lines(append(append([]string{fence}, strings.Split(text, "\n")...), fence)...)
}

var backticks = regexp.MustCompile("`{3,}")

// emphasis maps elements to their marks.
var emphasis = map[atom.Atom]string{
	atom.Em: "*", atom.I: "*", atom.Cite: "*", atom.Dfn: "*", atom.Var: "*", atom.Strong: "**", atom.B: "**",
}

// emphasize writes an element between marks, which are placed next to its text and omitted if it has none.
func (w *writer) emphasize(n *html.Node, mark string) {
	for _, m := range w.marks {
		if m == mark {
			mark = ""
		}
	}
	w.marks = append(w.marks, mark)
	w.due++
	depth := len(w.marks)
	w.inside(n)
	if len(w.marks) != depth {
		return // a block ended in it, and all marks with it
	}
	if w.due > 0 {
		w.due--
	} else {
		w.line.WriteString(mark)
	}
	w.marks = w.marks[:depth-1]
}

// breaks reports whether an element is a block: those of which the HTML Standard says so (section 15.3.3, Flow
// content), and parts of tables and lists.
func breaks(element atom.Atom) bool {
	switch element {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dialog,
		atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li,
		atom.Listing, atom.Main, atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Search, atom.Section,
		atom.Summary, atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// cell begins a cell of a table.
func (w *writer) cell() {
	if w.line.Len() > 0 && !w.broke {
		w.line.WriteString(" |")
		w.gap = true
	}
}
