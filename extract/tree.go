package extract

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxTree is the approximate maximum number of elements and texts of a [Tree], of which each takes some 150 bytes.
const maxTree = 1 << 20

// treeSize estimates the number of nodes of a page's tree, up to a little more than maxTree. Formatting elements (b, font, …) that are
// not ended are repeated in every block that follows (HTML Standard, "reconstruct the active formatting elements"), so that 40 kB of them
// become millions of nodes. An attribute counts as half a node. With markup, text that is raw text in HTML, but may be markup in SVG and
// MathML, is read as markup.
func treeSize(body []byte, markup bool) (nodes int) {
	z := html.NewTokenizer(bytes.NewReader(body))
	var f formatting
	for nodes <= maxTree {
		t := z.Next()
		nodes++
		switch t {
		case html.ErrorToken:
			return nodes
		case html.TextToken:
			nodes += f.repeat()
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			var tag string // tag of a formatting element, read before TagAttr changes it
			if isFormatting(a) {
				tag = string(z.Raw()[:min(len(z.Raw()), 1<<10)])
			}
			size := 2
			for more {
				_, _, more = z.TagAttr()
				size++
			}
			nodes += size/2 + f.repeat()
			f.start(a, tag, size/2)
			if markup || a == atom.Noscript {
				z.NextIsNotRawText()
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			f.end(atom.Lookup(name))
		}
	}
	return nodes
}

// treeBound returns an upper bound of [treeSize], for both values of markup, or more than maxTree if it finds none. Every "<" counts as a
// tag, with a text after it, before which all formatting elements of the page are repeated. It is many times as fast as treeSize, and
// suffices for nearly all pages.
func treeBound(body []byte) int {
	page := unsafe.String(unsafe.SliceData(body), len(body)) // page is not used after treeBound has returned
	tags, repeated, read := 0, 0, 0
	single := map[atom.Atom]int{} // sizes of the elements of which only one can be open
	others := map[string]int{}    // numbers of other elements, keyed by tag
	for pos := 0; ; tags++ {
		n := strings.IndexByte(page[pos:], '<')
		if n < 0 {
			return 3*tags + len(page)/4 + 2 + (tags+1)*repeated
		}
		pos += n + 1
		a := formattingAt(page[pos:])
		if a == 0 {
			continue
		}
		tag, size, attrs := page[pos:min(len(page), pos+4<<10)], 2, attrScan{}
		end, found := attrs.next(tag, len(a.String()))
		for ; found; size++ {
			end, found = attrs.next(tag, end)
		}
		if read += end; end < 0 || read > 2*len(page) { // tags within tags would make the time quadratic: give up
			return maxTree + 1
		}
		switch tag = tag[:end]; {
		case a == atom.A || a == atom.Nobr:
			if size /= 2; size > single[a] {
				repeated += size - single[a]
				single[a] = size
			}
		case others[tag] < 3:
			others[tag]++
			repeated += size / 2
		}
	}
}

// formattingAt returns the formatting element whose name is at the beginning of a tag, or 0.
func formattingAt(tag string) atom.Atom {
	var name [7]byte
	for i := range min(len(tag), len(name)) {
		c := tag[i]
		if class[c]&endsName != 0 {
			if a := atom.Lookup(name[:i]); isFormatting(a) {
				return a
			}
			return 0
		}
		name[i] = c | 0x20
	}
	return 0
}

// formatting holds the open formatting elements that the parser may repeat.
type formatting struct {
	open   []formattingElement
	firm   int  // number of open elements in which a block has begun, so that end tags may not close these elements
	size   int  // total size of the open elements
	broken bool // a tag may have closed some of the elements
}

type formattingElement struct {
	a    atom.Atom
	tag  string
	size int
}

func isFormatting(a atom.Atom) bool {
	switch a {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

// repeat returns the size of the formatting elements that the parser repeats before the next node.
func (f *formatting) repeat() int {
	if !f.broken {
		return 0
	}
	f.broken = false
	return f.size
}

func (f *formatting) start(a atom.Atom, tag string, size int) {
	switch {
	case a == atom.Span || a == atom.Img || a == atom.Br || a == atom.Wbr:
		return
	case !isFormatting(a):
		f.firm, f.broken = len(f.open), true
		return
	}
	most := 3 // the Standard's "Noah's Ark clause" allows three equal ones
	if a == atom.A || a == atom.Nobr {
		most, tag, f.broken = 1, "", true // one element of this kind closes the one before
	}
	for _, e := range f.open {
		if e.a == a && e.tag == tag {
			most--
		}
	}
	if most > 0 && len(f.open) < 512 { // html.Parse keeps at most 512
		f.open = append(f.open, formattingElement{a, tag, size})
		f.size += size
	}
}

func (f *formatting) end(a atom.Atom) {
	f.broken = true
	for i := len(f.open) - 1; isFormatting(a) && i >= f.firm; i-- {
		if f.open[i].a == a {
			f.size -= f.open[i].size
			f.open = append(f.open[:i], f.open[i+1:]...)
			return
		}
	}
}

// hasForeign reports whether a page may have SVG or MathML elements.
func hasForeign(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '<')
		if i < 0 {
			return false
		}
		body = body[i+1:]
		if len(body) >= 3 && bytes.EqualFold(body[:3], []byte("svg")) || len(body) >= 4 && bytes.EqualFold(body[:4], []byte("math")) {
			return true
		}
	}
}

// errTreeSize is returned if, by an estimate, the tree of a page would have many more than a million nodes.
var errTreeSize = errors.New("extract: tree: the page would take too much memory: too many elements, or formatting elements that repeat")

// Tree builds the element tree of a page, for programs that need more than links; it takes about thirty times as long as HTML. Scripts do
// not run, so the content of noscript is parsed as elements. Tree returns an error if x/net/html does, which builds no tree deeper than
// 512 elements, or if the tree would need too much memory. HTML finds the links of such pages, too.
func Tree(body []byte) (*html.Node, error) {
	if treeBound(body) > maxTree && (treeSize(body, false) > maxTree || hasForeign(body) && treeSize(body, true) > maxTree) {
		return nil, errTreeSize
	}
	n, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("extract: tree: %w", err)
	}
	return n, nil
}
