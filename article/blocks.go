package article

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// block is a run of text between two borders of block elements, for example a paragraph, a list item or a menu entry.
type block struct {
	nodes []*html.Node // text nodes of the block, in order
	box   int          // index of the innermost block element around the block
	traits

	chars, linked  int // number of letters and digits, and of those in links; letters of scripts without spaces count for several
	words          int
	stops, commas  int  // numbers of punctuation marks
	upper, digits  int  // numbers of upper-case letters and of digits
	ends           bool // whether the last character ends a sentence
	bold           int  // number of letters in bold or emphasised text
	hash           uint64
	titled, summed bool    // whether the block repeats the page's title; whether it repeats the description
	again          int     // number of other blocks of the page with the same text
	copied         bool    // whether an earlier block has the same text
	heads          int     // number of first-level headings up to the block
	after          classes // classes of elements that began before the block on the page
	stated         float32 // share of the text that is in an articleBody of the page's structured data
}

// box is a block element of the page.
type box struct {
	parent      int // index of the parent; -1 for the outermost box
	el          *html.Node
	depth       int
	chars       int // characters of all blocks inside
	linked      int
	prose       int // letters of the blocks inside that look like sentences
	blocks      int
	first, last int     // indexes of the blocks inside: from first to last-1
	says        classes // meaning of the class and id of the element
}

// traits describe the elements that contain a text.
type traits struct {
	in    elements // kinds of the elements
	near  classes  // meaning of the innermost element with a class or id
	outer classes  // meaning of the next outer element with a class or id
	far   classes  // meanings of all elements that contain the text
	named int      // number of elements inside the innermost one whose class means content
}

// elements is a set of kinds of elements, such as paragraphs and lists.
type elements uint32

const (
	inP elements = 1 << iota
	inLi
	inHeading
	inTable
	inQuote
	inPre
	inCaption
	inNav
	inAside
	inFooter
	inHeader
	inForm
	inFigure
	inArticle
	inMain
	inHidden
	inDl
	inBody // itemprop=articleBody
	inDetails
	inDialog
)

var elementTraits = map[atom.Atom]elements{
	atom.P: inP, atom.Li: inLi, atom.H1: inHeading, atom.H2: inHeading, atom.H3: inHeading, atom.H4: inHeading, atom.H5: inHeading,
	atom.H6: inHeading, atom.Table: inTable, atom.Blockquote: inQuote, atom.Pre: inPre, atom.Figcaption: inCaption,
	atom.Caption: inCaption, atom.Nav: inNav, atom.Menu: inNav, atom.Aside: inAside, atom.Footer: inFooter, atom.Header: inHeader, atom.Form: inForm,
	atom.Figure: inFigure, atom.Article: inArticle, atom.Main: inMain, atom.Dl: inDl, atom.Details: inDetails, atom.Dialog: inDialog,
}

var roleTraits = map[string]elements{
	"navigation": inNav, "=menu": inNav, "menubar": inNav, "doc-toc": inNav, "=banner": inHeader, "contentinfo": inFooter,
	"complementary": inAside, "search": inForm, "dialog": inDialog, "alert": inDialog, "alertdialog": inDialog, "main": inMain, "article": inArticle,
}

// closest holds the kinds of elements that end where a new element of the same kind begins.
const closest = inP | inLi | inHeading | inCaption

// maxBlocks limits the blocks of a page. Later text is not part of the article.
const maxBlocks = 50_000

// segmenter cuts a page into blocks.
type segmenter struct {
	blocks []block
	boxes  []box
	images []picture
	names  map[string]classes // meanings of class names on the page, by name
	seams  int                // number of line breaks since the last text
	cut    bool               // whether the next text begins a block
	space  bool               // whether the text so far ends in white space
	full   bool               // whether there are maxBlocks blocks
	heads  int                // number of H1 elements so far
	met    classes            // classes met so far
}

// picture is an image with an alternative text.
type picture struct {
	node *html.Node
	box  int
	next int // index of the block after the picture
}

// segment cuts a tree into blocks, and computes sums for the elements that contain them.
func segment(tree *html.Node) *segmenter {
	s := &segmenter{names: map[string]classes{}, cut: true}
	s.boxes = append(s.boxes, box{parent: -1, el: tree})
	s.children(tree, 0, traits{named: 99}, false, 0)
	s.sum()
	return s
}

func (s *segmenter) children(n *html.Node, in int, t traits, linked bool, bold int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			s.text(c, in, t, linked, bold)
		case html.ElementNode:
			s.element(c, in, t, linked, bold)
		}
	}
}

func (s *segmenter) element(n *html.Node, in int, t traits, linked bool, bold int) {
	switch a := n.DataAtom; {
	case a == atom.Img && attr(n, "alt") != "":
		s.images = append(s.images, picture{n, in, len(s.blocks)})
		return
	case silent(a) || n.Namespace != "":
		return
	case a == atom.Br:
		s.space = true
		s.seams++
		if s.seams > 1 {
			s.cut = true
		}
		return
	case a == atom.A:
		linked = linked || attr(n, "href") != ""
	case a == atom.B || a == atom.Strong || a == atom.Em || a == atom.I:
		bold = 1
	}
	says := s.enter(n, &t)
	if n.DataAtom == atom.H1 {
		s.heads++
	}
	if !breaks(n.DataAtom) {
		s.children(n, in, t, linked, bold)
		return
	}
	id := len(s.boxes)
	s.boxes = append(s.boxes, box{parent: in, el: n, depth: s.boxes[in].depth + 1, says: says, first: len(s.blocks)})
	s.cut = true
	s.children(n, id, t, linked, 0)
	s.cut = true
	s.boxes[id].last = len(s.blocks)
}

// enter adds the traits of an element to t, and returns the meaning of its classes.
func (s *segmenter) enter(n *html.Node, t *traits) (says classes) {
	if e := elementTraits[n.DataAtom]; e != 0 {
		if e&closest != 0 {
			t.in &^= closest
		}
		t.in |= e
	}
	named := false
	for _, a := range n.Attr {
		switch a.Key {
		case "class", "id":
			named = true
			m, known := s.names[a.Val]
			if !known && len(a.Val) <= 1<<10 {
				m = meaning(a.Val)
				s.names[a.Val] = m
			}
			says |= m
		case "role":
			t.in |= roleTraits[a.Val]
		case "hidden":
			t.in |= inHidden
		case "aria-hidden":
			if a.Val == "true" {
				t.in |= inHidden
			}
		case "style":
			if strings.Contains(strings.ReplaceAll(strings.ToLower(a.Val[:min(len(a.Val), 256)]), " ", ""), "display:none") {
				t.in |= inHidden
			}
		case "itemprop":
			if strings.EqualFold(a.Val, "articleBody") {
				t.in |= inBody
				says |= saysContent
			}
		}
	}
	if named && (n.DataAtom != atom.Body && n.DataAtom != atom.Html) {
		t.near, t.outer = says, t.near
		t.far |= says
		s.met |= says
	}
	t.named++
	if says&saysContent != 0 {
		t.named = 0
	}
	return says
}

// silent reports whether text in an element of this kind is not visible as text of the page.
func silent(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Svg, atom.Math,
		atom.Audio, atom.Video, atom.Head, atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Noframes, atom.Map, atom.Datalist:
		return true
	}
	return false
}

// text adds a text node to the open block, or begins a new block.
func (s *segmenter) text(n *html.Node, in int, t traits, linked bool, bold int) {
	if s.full || blank(n.Data) {
		s.space = true
		return
	}
	if s.cut {
		if s.full = len(s.blocks) >= maxBlocks; s.full {
			return
		}
		s.blocks = append(s.blocks, block{box: in, traits: t, hash: offset, heads: s.heads, after: s.met})
		s.cut, s.space = false, true
	}
	s.seams = 0
	b := &s.blocks[len(s.blocks)-1]
	b.nodes = append(b.nodes, n)
	for _, r := range n.Data {
		s.space = b.add(r, s.space, linked, bold)
	}
}

// blank reports whether a text has no visible characters.
func blank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && r != '\u200b' && r != '\ufeff' && r != '\u200c' && r != '\u200d' {
			return false
		}
	}
	return true
}

// add counts a character in the sums of the block.
func (b *block) add(r rune, space, linked bool, bold int) (isSpace bool) {
	weight := 1
	switch {
	case r <= ' ' || r >= utf8.RuneSelf && unicode.IsSpace(r):
		return true
	case 'a' <= r && r <= 'z':
	case '0' <= r && r <= '9':
		b.digits++
	case 'A' <= r && r <= 'Z':
		b.upper++
	case r == '.' || r == '!' || r == '?' || r == '。' || r == '！' || r == '？' || r == '।' || r == '؟' || r == '…' || r == '։':
		b.stops++
		b.ends = true
		return false
	case r == ',' || r == '，' || r == '、' || r == '،' || r == ';':
		b.commas++
		b.ends = false
		return false
	case r == '"' || r == '\'' || r == '”' || r == '’' || r == ')' || r == '»' || r == '」':
		return false // other characters do not change whether a sentence has ended
	case r < utf8.RuneSelf:
		b.ends = false
		return false
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul):
		weight = 2
	case unicode.IsUpper(r):
		b.upper++
	case !unicode.IsLetter(r) && !unicode.IsMark(r):
		b.ends = false
		return false
	}
	if space {
		b.words++
	}
	b.ends = false
	b.chars += weight
	b.bold += bold * weight
	if linked {
		b.linked += weight
	}
	b.hash = (b.hash ^ uint64(unicode.ToLower(r))) * prime
	return false
}

// Constants of the hash FNV-1a, for hashes of text.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

// prosaic reports whether the block looks like sentences.
func (b *block) prosaic() bool {
	return b.chars >= 60 && b.linked*3 < b.chars && b.stops+b.commas > 0
}

// sum computes the sums of the boxes, and finds blocks that have the same text.
func (s *segmenter) sum() {
	s.boxes[0].last = len(s.blocks)
	seen := map[uint64]int{}
	for i := range s.blocks {
		b := &s.blocks[i]
		b.copied = seen[b.hash] > 0
		seen[b.hash]++
		x := &s.boxes[b.box]
		x.chars += b.chars
		x.linked += b.linked
		x.blocks++
		if b.prosaic() && b.far&(saysComment|saysRelated) == 0 && b.in&inHidden == 0 && !b.repeats() {
			x.prose += b.chars
		}
	}
	for i := range s.blocks {
		s.blocks[i].again = seen[s.blocks[i].hash] - 1
	}
	for i := len(s.boxes) - 1; i > 0; i-- {
		x, p := &s.boxes[i], &s.boxes[s.boxes[i].parent]
		p.chars += x.chars
		p.linked += x.linked
		p.prose += x.prose
		p.blocks += x.blocks
	}
}

// repeats reports whether the block is a long text that occurred earlier on the page.
func (b *block) repeats() bool { return b.copied && b.chars > 100 }

// content returns the text of the block. Line breaks of the page become blanks.
func (b *block) content() string {
	var s strings.Builder
	for _, n := range b.nodes {
		if p := n.PrevSibling; p != nil && p.DataAtom == atom.Br {
			s.WriteByte(' ')
		}
		s.WriteString(n.Data)
	}
	return s.String()
}

// shingles yields a hash for every four successive words of a text, or one for all words if there are fewer. In a script without spaces,
// each letter counts as a word.
func (b *block) shingles(yield func(uint64)) {
	var last [4]uint64
	n, word := 0, uint64(0)
	end := func() {
		if word == 0 {
			return
		}
		last[n%4] = word
		n, word = n+1, 0
		if n >= 4 {
			yield(((last[n%4]*prime^last[(n+1)%4])*prime^last[(n+2)%4])*prime ^ last[(n+3)%4])
		}
	}
	for _, t := range b.nodes {
		if p := t.PrevSibling; p != nil && p.DataAtom == atom.Br {
			end()
		}
		for _, r := range t.Data {
			switch {
			case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			case 'A' <= r && r <= 'Z':
				r += 'a' - 'A'
			case r < utf8.RuneSelf:
				end()
				continue
			case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
				end()
			case !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r):
				end()
				continue
			default:
				r = unicode.ToLower(r)
			}
			if word == 0 {
				word = offset
			}
			word = (word ^ uint64(r)) * prime
		}
	}
	end()
	if n > 0 && n < 4 {
		var all uint64
		for _, w := range last[:n] {
			all = all*prime ^ w
		}
		yield(all)
	}
}

// share returns the fraction of the block's shingles that are in a set.
func (b *block) share(set map[uint64]bool) float32 {
	in, all := 0, 0
	b.shingles(func(h uint64) {
		all++
		if set[h] {
			in++
		}
	})
	return ratio(in, all)
}

// attr returns an attribute's value, or "".
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// breaks reports whether an element is a block: an element that the HTML Standard displays as one (section 15.3.3, Flow content), or a part
// of a table or list.
func breaks(element atom.Atom) bool {
	switch element {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dialog,
		atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Li,
		atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search,
		atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return true
	}
	return false
}
