package article

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// model.txt holds two forests of boosted decision trees. Each line is a tree: the feature's number and the threshold of each inner node,
// then the values of the leaves. They were trained on the 181 pages of the public article extraction benchmark (MIT licence), labelled with
// the share of each block that is in the article; on the 861 pages of the comparison of go-trafilatura (Apache licence), with the texts
// that it names; and on the pages in testdata. To train them again:
//
//	go test ./article -run Learn -args -eval DIR -segments DIR -model model.txt
//
//go:embed model.txt
var modelText string

const treeDepth = 4

// forest is a model whose result is the sum of its trees.
type forest struct {
	bias  float32
	trees []tree
}

// tree is a complete binary tree: the children of inner node i are 2i+1 and 2i+2, and the leaves follow the inner nodes.
type tree struct {
	feature   [1<<treeDepth - 1]uint8
	threshold [1<<treeDepth - 1]float32
	value     [1 << treeDepth]float32
}

// score returns the log-odds that a block with these features belongs to the text.
func (f *forest) score(x []float32) float32 {
	s := f.bias
	for i := range f.trees {
		t := &f.trees[i]
		n := 0
		for range treeDepth {
			more := math.Float32bits(t.threshold[n]-x[t.feature[n]]) >> 31 // the sign bit avoids a branch, which would be mispredicted half the time
			n = 2*n + 1 + int(more)
		}
		s += t.value[n-len(t.feature)]
	}
	return s
}

// confidence maps log-odds to a number from 0 to 1. It is linear, because logarithms differ in the last bit from machine to machine.
func confidence(score float32) float32 { return max(0, min(1, score/8+0.5)) }

// model holds the forests of the two stages.
type model [2]forest

var standard = sync.OnceValue(func() *model {
	m, err := parseModel(modelText)
	if err != nil {
		panic("article: model.txt is damaged: " + err.Error()) // a test ensures that the file is valid
	}
	return m
})

// parseModel is the inverse of [model.String].
func parseModel(text string) (*model, error) {
	m := new(model)
	stage := -1
	for line := range strings.Lines(text) {
		var numbers []float32
		for _, field := range strings.Fields(line) {
			v, err := strconv.ParseFloat(field, 32)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, float32(v))
		}
		var t tree
		switch inner := len(t.feature); {
		case len(numbers) == 1 && stage < 1:
			stage++
			m[stage].bias = numbers[0]
		case len(numbers) == 2*inner+len(t.value) && stage >= 0:
			for i := range inner {
				t.feature[i], t.threshold[i] = uint8(numbers[2*i]), numbers[2*i+1]
			}
			copy(t.value[:], numbers[2*inner:])
			m[stage].trees = append(m[stage].trees, t)
		default:
			return nil, strconv.ErrSyntax
		}
	}
	return m, nil
}

// String returns the model in the format of model.txt.
func (m *model) String() string {
	var b strings.Builder
	number := func(v float32) { b.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32)) }
	for _, f := range m {
		number(f.bias)
		b.WriteByte('\n')
		for _, t := range f.trees {
			for i := range t.feature {
				b.WriteString(strconv.Itoa(int(t.feature[i])) + " ")
				number(t.threshold[i])
				b.WriteByte(' ')
			}
			for i, v := range t.value {
				if i > 0 {
					b.WriteByte(' ')
				}
				number(v)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// first returns the first stage's confidence in each block, from the blocks' features. With it, it locates the main element again.
func (p *page) first(f *forest, inner [][]float32) []float32 {
	conf := make([]float32, len(p.blocks))
	for i := range p.blocks {
		if p.demoted[p.blocks[i].box]&saysComment == 0 {
			conf[i] = confidence(f.score(inner[i]))
		}
	}
	p.locate(func(i int) float32 { return conf[i] })
	return conf
}

// judge returns the second stage's log-odds of each block. Comments of readers and advertisements never belong to the text.
func (p *page) judge(m *model) []float32 {
	const room = 192 // maximum number of features of a block, with its context
	inner, all := make([][]float32, len(p.blocks)), make([]float32, room*len(p.blocks))
	for i := range inner {
		inner[i] = p.features(all[i*room:i*room:(i+1)*room], i)
	}
	first := p.first(&m[0], inner)
	means := p.means(first)
	score := make([]float32, len(p.blocks))
	for i := range p.blocks {
		score[i] = m[1].score(p.context(inner[i], i, first, means))
		if p.demoted[p.blocks[i].box]&(saysComment|saysPromo) != 0 {
			score[i] = -8
		}
	}
	p.evenLists(score)
	p.evenTables(score)
	p.fillGaps(score)
	return score
}

// fillGaps keeps more blocks in the frame of the main text: code, data tables and lists that follow the text, with the few lines that lead
// to them; headings between two kept blocks; and, near code or a table, prose. It removes links to copy code. It is needed because the
// model was trained on news, which have hardly any of these.
func (p *page) fillGaps(score []float32) {
	const lead = 3 // maximum number of blocks between kept blocks
	p.findFrame()
	technical := false
	for i := p.frame.first; i < p.frame.last && !technical; i++ {
		technical = p.within(i) && (p.blocks[i].in&inPre != 0 || p.inData(p.blocks[i].box))
	}
	last := p.head // last kept block; before any, the heading that repeats the title
	for i := range p.blocks {
		b := &p.blocks[i]
		switch solid := b.in&inPre != 0 && p.plain(i) || p.inData(b.box); {
		case score[i] > 0 || last < 0 && b.in&inHeading != 0 && p.within(i):
			last = i
		case last < 0 || i-last > lead+1 || !p.within(i):
		case solid, score[last] > 0 && p.plain(i) && (b.in&(inLi|inDl) != 0 || (technical || b.in&inDetails != 0) && b.prosaic()), b.in&inLi != 0 && i-last == 1 && p.introduced(last, b):
			fits := true
			for j := last + 1; j < i; j++ {
				fits = fits && p.within(j) && (p.plain(j) || p.blocks[j].in&inDl != 0 || p.isLabel(j))
			}
			for ; fits && last < i; last++ {
				if last+1 == i || !p.isLabel(last+1) {
					score[last+1] = max(score[last+1], 1)
				}
			}
		}
	}
	first := slices.IndexFunc(score, func(s float32) bool { return s > 0 })
	for i := 0; i+1 < len(p.blocks); i++ {
		b := &p.blocks[i]
		if p.isLabel(i) && p.blocks[i+1].in&inPre != 0 {
			score[i] = min(score[i], -1)
		}
		if score[i] <= 0 && score[i+1] > 0 && b.in&inHeading != 0 && p.within(i) && p.plain(i) && (i > 0 && score[i-1] > 0 || i+1 == first && !b.titled) {
			score[i] = 1
		}
	}
}

// isLabel reports whether a block consists of a few words, mostly in a link, such as a link to copy the code below it.
func (p *page) isLabel(i int) bool {
	return !p.plain(i) && p.blocks[i].chars <= 20 && p.blocks[i].in&(inPre|inLi|inTable|inDl) == 0
}

// findFrame finds the largest element around main that contains only the text and few links.
func (p *page) findFrame() {
	p.frame = p.boxes[p.main]
	for p.frame.parent >= 0 {
		up := p.boxes[p.frame.parent]
		clean := up.linked*4 < up.chars && up.el.DataAtom != atom.Body && up.parent >= 0
		for i := up.first; i < up.last && clean; i++ {
			if i == p.frame.first && i < p.frame.last {
				i = p.frame.last - 1
				continue
			}
			clean = !p.beside(i)
		}
		if !clean {
			return
		}
		p.frame = up
	}
}

// beside reports whether a block is in an element that is beside the text, such as navigation.
func (p *page) beside(i int) bool {
	b, harmless := &p.blocks[i], saysContent|saysList|saysTitle|saysTags|saysPopup
	if b.in&inTable != 0 {
		harmless |= saysHeader // "top", for example, aligns a cell
	}
	return b.in&(inNav|inAside|inFooter|inForm|inHidden|inDialog) != 0 || b.in&inCaption != 0 && b.in&inTable == 0 ||
		p.demoted[b.box]&^harmless != 0
}

// within reports whether a block is in the frame but not beside the text.
func (p *page) within(i int) bool { return p.frame.first <= i && i < p.frame.last && !p.beside(i) }

// plain reports whether less than half of a block is links.
func (p *page) plain(i int) bool { return p.blocks[i].linked*2 < max(1, p.blocks[i].chars) }

// introduced reports whether a list item follows a block that ends with a colon, or an item of the same list.
func (p *page) introduced(before int, item *block) bool {
	b := &p.blocks[before]
	if b.in&inLi != 0 && p.boxes[b.box].parent == p.boxes[item.box].parent {
		return true
	}
	text := strings.TrimSpace(b.nodes[len(b.nodes)-1].Data)
	return strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")
}

// inData reports whether a box is in a data table that does not consist of links.
func (p *page) inData(box int) bool {
	for ; box >= 0; box = p.boxes[box].parent {
		if x := &p.boxes[box]; x.el.DataAtom == atom.Table {
			if p.asked != x.el { // the result is cached for all cells of a table
				p.asked, p.isData = x.el, isData(x.el)
			}
			return x.linked*3 < x.chars && p.isData
		}
	}
	return false
}

// evenTables gives all cells of a table with headings the same score, because half a table is useless. The score is their mean. If the
// table is between blocks of the main text and does not consist of links, the score is at least a good one. Tables that contain other
// tables are layout.
func (p *page) evenTables(score []float32) {
	for i := range p.boxes {
		x := &p.boxes[i]
		if x.el.DataAtom != atom.Table || x.last-x.first < 2 || !isData(x.el) {
			continue
		}
		sum, chars := p.weighted(score, x)
		between := func(j int) bool { return j < 0 || j >= len(score) || score[j] > 0 || p.fromMain[p.blocks[j].box] >= 0 }
		if p.fromMain[i] < 0 && x.linked*3 < x.chars && between(x.first-1) && between(x.last) {
			sum = max(sum, float32(chars))
		}
		for j := x.first; j < x.last && chars > 0; j++ {
			score[j] = sum / float32(chars)
		}
	}
}

// isData reports whether a table has headings and contains no other tables.
func isData(table *html.Node) (headed bool) {
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table:
			return false
		case atom.Th:
			headed = true
		}
	}
	return headed
}

// evenLists moves the scores of a list's items halfway to their mean, because most lists belong to the text as a whole or not at all.
func (p *page) evenLists(score []float32) {
	for i := range p.boxes {
		list := &p.boxes[i]
		if list.el.DataAtom != atom.Ul && list.el.DataAtom != atom.Ol || list.blocks < 2 || list.blocks != list.last-list.first {
			continue
		}
		sum, chars := p.weighted(score, list)
		for j := list.first; j < list.last && chars > 0; j++ {
			score[j] = score[j]/2 + sum/float32(2*chars)
		}
	}
}

// weighted returns the sum of the scores of a box's blocks, each times its characters, and the number of characters.
func (p *page) weighted(score []float32, x *box) (sum float32, chars int) {
	for j := x.first; j < x.last; j++ {
		sum += float32(score[j] * float32(p.blocks[j].chars))
		chars += p.blocks[j].chars
	}
	return sum, chars
}
