package article

import (
	"math"
	"math/bits"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/schema"
)

// page holds the data about a page from which the features of its blocks are computed.
type page struct {
	asked  *html.Node // table that inData has examined last, cached because the time is linear in the table's elements
	isData bool       // whether asked is a data table

	*segmenter
	head       int       // index of the block of the heading that repeats the title; -1 if there is none
	main       int       // index of the box with the most text
	frame      box       // largest element around main without other content
	begin, end int       // first and last block of text in main; -1: none
	fromMain   []int     // steps up to an element that contains main, by box; -1 inside main
	fromHead   []int     // steps up to an element that contains head, by box
	demoted    []classes // classes of the box and its ancestors that mark it as not part of the text, by box
}

// newPage cuts a tree into blocks, and collects data about them.
func newPage(tree *html.Node, data *schema.Page) *page {
	tidy(tree)
	s := segment(tree)
	p := &page{segmenter: s, head: -1}
	p.compare(tree, data)
	p.demote()
	p.locate(func(i int) float32 {
		b := &s.blocks[i]
		return yes(b.prosaic() && p.demoted[b.box]&(saysComment|saysRelated) == 0 && b.in&inHidden == 0 && !b.repeats())
	})
	return p
}

// compare finds blocks that repeat the page's title, its description, or the text in its structured data.
func (p *page) compare(tree *html.Node, data *schema.Page) {
	title := letters(titleElement(tree) + " " + data.Property("og:title") + " " + data.Property("twitter:title"))
	summary := letters(data.Property("og:description", "twitter:description", "dc.description"))
	stated := map[uint64]bool{}
	for _, it := range data.Find(articleTypes...) {
		if it.Syntax == "json-ld" {
			text := block{nodes: []*html.Node{{Data: it.Text("articleBody")}}}
			text.shingles(func(h uint64) { stated[h] = true })
		}
	}
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.chars >= 8 && b.chars <= 2*max(len(title), len(summary)) {
			text := letters(b.content())
			b.titled = strings.Contains(title, text)
			b.summed = b.chars >= 20 && strings.Contains(summary, text)
		}
		if b.titled && b.in&inHeading != 0 && (p.head < 0 || p.blocks[p.head].chars < b.chars) {
			p.head = i
		}
		if len(stated) > 0 {
			b.stated = b.share(stated)
		}
	}
}

// letters returns the letters and digits of a text, in lower case. Of a long text it uses only the beginning.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s[:min(len(s), 4000)])
}

// demote marks content that a class shows not to be part of the text, unless it contains the title or much of the page's prose.
func (p *page) demote() {
	p.demoted = make([]classes, len(p.boxes))
	p.fromHead = make([]int, len(p.boxes))
	for i := range p.boxes {
		x := &p.boxes[i]
		contains := p.head >= x.first && p.head < x.last
		if x.parent >= 0 {
			p.demoted[i] = p.demoted[x.parent]
			if p.head >= 0 && !contains {
				p.fromHead[i] = p.fromHead[x.parent] + 1
			}
		}
		switch {
		case contains || x.says&saysContent != 0:
		case x.prose*2 < p.boxes[0].prose:
			p.demoted[i] |= x.says
		case p.head >= 0:
			p.demoted[i] |= x.says & saysComment
		}
	}
}

// locate finds the element that directly contains the most text, with weighted blocks, and the first and last block of text in it.
func (p *page) locate(weight func(int) float32) {
	own := make([]float32, len(p.boxes))
	for i := range p.blocks {
		b := &p.blocks[i]
		plain := float32(b.chars - b.linked)
		w := weight(i) * plain * plain / float32(max(1, b.chars))
		own[b.box] += w
		if up := p.boxes[b.box].parent; up >= 0 { // text of a P also counts for its parent
			own[up] += w
			if up = p.boxes[up].parent; up >= 0 {
				own[up] += w / 2
			}
		}
	}
	best := float32(-1)
	for i, x := range p.boxes {
		if x.chars == 0 {
			continue
		}
		if score := own[i] * float32(x.chars-x.linked) / float32(x.chars); score > best {
			best, p.main = score, i
		}
	}
	p.fromMain = make([]int, len(p.boxes))
	around := map[int]bool{}
	for i := p.main; i >= 0; i = p.boxes[i].parent {
		around[i] = true
	}
	for i := range p.boxes {
		switch parent := p.boxes[i].parent; {
		case i == p.main || parent >= 0 && p.fromMain[parent] < 0:
			p.fromMain[i] = -1
		case !around[i]:
			p.fromMain[i] = p.fromMain[parent] + 1
		}
	}
	p.begin, p.end = -1, -1
	for i := range p.blocks {
		if b := &p.blocks[i]; b.chars >= 60 && weight(i) > 0.5 && p.fromMain[b.box] < 0 {
			if p.begin < 0 {
				p.begin = i
			}
			p.end = i
		}
	}
}

func ratio(a, b int) float32 {
	if b == 0 {
		return 0
	}
	return float32(a) / float32(b)
}

func logarithm(n int) float32 { return float32(math.Log1p(float64(n))) }

func yes(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// features appends the first stage's features of block i.
func (p *page) features(f []float32, i int) []float32 {
	b := &p.blocks[i]
	f = append(f,
		logarithm(b.chars), ratio(b.linked, b.chars), ratio(b.chars, b.words), ratio(b.stops, b.words+1), ratio(b.commas, b.words+1),
		yes(b.ends), ratio(b.upper, b.chars), ratio(b.digits, b.chars), ratio(b.bold, b.chars), float32(min(b.again, 5)),
		yes(b.titled), yes(b.summed), yes(b.copied), float32(min(b.named, 20)), float32(min(b.heads, 4)), float32(min(p.heads, 4)),
		yes(b.after&saysComment != 0), yes(b.after&saysRelated != 0), yes(b.after&saysContent != 0), b.stated, float32(p.fromHead[b.box]))
	for _, mask := range []elements{inP, inLi, inHeading, inTable, inQuote | inPre, inCaption | inFigure, inNav, inAside, inFooter, inHeader, inForm, inArticle, inMain, inHidden, inDl, inBody} {
		f = append(f, yes(b.in&mask != 0))
	}
	for m := saysContent; m <= saysLegal; m <<= 1 { // value 3: the innermost element has the meaning m; 2: the next one; 1: any
		f = append(f, 2*yes(b.near&m != 0)+yes(b.outer&m != 0)+yes(b.far&m != 0))
	}
	for _, m := range []classes{saysComment, saysRelated, saysShare, saysPromo, saysSidebar, saysFooter, saysNav, saysList, saysCaption, saysContent} {
		f = append(f, yes(p.demoted[b.box]&m != 0))
	}
	f = append(f, float32(bits.OnesCount32(uint32(b.far&^saysContent))))
	f = p.place(f, i)
	// the elements around the block
	at := b.box
	for range 5 {
		x := &p.boxes[at]
		f = append(f, ratio(x.prose, p.boxes[0].prose), ratio(x.linked, x.chars), ratio(x.prose, x.chars), logarithm(x.chars), logarithm(x.blocks))
		if x.parent >= 0 {
			at = x.parent
		}
	}
	for _, step := range []int{-2, -1, 1, 2} {
		j := i + step
		if j < 0 || j >= len(p.blocks) {
			f = append(f, -1, 0, 0, 0, 0)
			continue
		}
		c := &p.blocks[j]
		f = append(f, logarithm(c.chars), ratio(c.linked, c.chars), yes(c.prosaic()), yes(c.box == b.box || p.boxes[c.box].parent == p.boxes[b.box].parent), yes(c.in&inHeading != 0))
	}
	f = append(f, ratio(p.boxes[0].prose, p.boxes[0].chars), logarithm(p.boxes[0].prose), logarithm(len(p.blocks)), ratio(p.boxes[p.main].prose, p.boxes[0].prose))
	return f
}

// place appends the position of block i in relation to main.
func (p *page) place(f []float32, i int) []float32 {
	b := &p.blocks[i]
	return append(f, ratio(i, len(p.blocks)), ratio(i-p.begin, p.end-p.begin+1), float32(max(-20, min(20, i-p.begin))), float32(max(-20, min(20, i-p.end))),
		float32(p.fromMain[b.box]), yes(p.head >= 0), float32(max(-20, min(20, i-p.head))), float32(p.boxes[b.box].depth-p.boxes[p.main].depth))
}

// context appends the second stage's additional features of block i: the first stage's confidence in the blocks around it.
func (p *page) context(f []float32, i int, first, means []float32) []float32 {
	for step := -3; step <= 3; step++ {
		if j := i + step; j >= 0 && j < len(first) {
			f = append(f, first[j])
		} else {
			f = append(f, 0)
		}
	}
	f = p.place(f, i)
	at := p.blocks[i].box
	for range 5 {
		f = append(f, means[at])
		if p.boxes[at].parent >= 0 {
			at = p.boxes[at].parent
		}
	}
	return f
}

// means returns the mean of first over the characters of each box.
func (p *page) means(first []float32) []float32 {
	sum := make([]float32, len(p.boxes))
	for i := range p.blocks {
		sum[p.blocks[i].box] += float32(first[i] * float32(p.blocks[i].chars)) // the conversion prevents a fused multiply-add
	}
	for i := len(p.boxes) - 1; i > 0; i-- {
		sum[p.boxes[i].parent] += sum[i]
	}
	for i := range sum {
		sum[i] /= float32(max(1, p.boxes[i].chars))
	}
	return sum
}
