package document

import (
	"html"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is a position of text on a page. Its coordinates are along and across the line, so they do not depend on the direction of the text.
type place struct {
	from, to float64 // coordinates along the line
	base     float64 // coordinate across the line, increasing upwards
	size     float64 // size of the font as displayed
}

// run is a piece of text as drawn.
type run struct {
	place
	text string
}

// line is a line of text on a page.
type line struct {
	place
	text strings.Builder
}

// layout combines the runs of a page into lines, in the order in which they are drawn.
type layout struct {
	lines []*line
	turn  float64 // direction of the last run, in radians
}

// add adds the next run, which has the direction turn.
func (l *layout) add(r run, turn float64) {
	if r.text == "" || r.size <= 0 || math.IsNaN(r.from+r.to+r.base+r.size) || math.IsInf(r.from+r.to+r.base+r.size, 0) {
		return
	}
	var last *line
	if n := len(l.lines); n > 0 {
		last = l.lines[n-1]
	}
	height := r.size
	if last != nil {
		height = max(r.size, last.size)
	}
	if last == nil || math.Abs(turn-l.turn) > 0.05 || math.Abs(r.base-last.base) > height/2 || r.from < last.to-height {
		if strings.TrimSpace(r.text) == "" {
			return // blanks do not begin a line
		}
		last = &line{place: place{from: r.from, to: r.from, base: r.base, size: r.size}}
		l.lines, l.turn = append(l.lines, last), turn
	}
	if s := last.text.String(); s != "" && r.from-last.to > 0.14*min(r.size, last.size) && !strings.HasSuffix(s, " ") {
		last.text.WriteByte(' ')
	}
	if r.size > last.size && strings.TrimSpace(r.text) != "" { // the small mark of a footnote may come first: use the size of the text
		last.size, last.base = r.size, r.base
	}
	last.text.WriteString(r.text)
	last.to = max(last.to, r.to)
}

// bodySize returns the font size that most letters in the document have.
func bodySize(pages []*layout) float64 {
	letters := map[int]int{}
	for _, p := range pages {
		for _, l := range p.lines {
			letters[int(math.Round(min(l.size, 1e6)*2))] += l.text.Len()
		}
	}
	best := 0
	for size, n := range letters {
		if n > letters[best] || n == letters[best] && size < best {
			best = size
		}
	}
	return float64(best) / 2
}

// html returns the page as paragraphs and headings. Lines are headings if their letters are larger than those of the body by an eighth.
func (l *layout) html(body float64) string {
	var out strings.Builder
	leading := l.leading()
	for i := 0; i < len(l.lines); {
		first := l.lines[i]
		text := strings.TrimSpace(first.text.String())
		j := i + 1
		for ; j < len(l.lines) && follows(l.lines[j-1], l.lines[j], leading); j++ {
			text = join(text, strings.TrimSpace(l.lines[j].text.String()))
		}
		i = j
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		tag := "p"
		switch {
		case text == "":
			continue
		case body > 0 && first.size > 1.125*body && utf8.RuneCountInString(text) <= 200 && strings.ContainsFunc(text, unicode.IsLetter):
			tag = "h2"
		}
		out.WriteString("<" + tag + ">" + html.EscapeString(strings.ToValidUTF8(text, "\uFFFD")) + "</" + tag + ">\n")
	}
	return out.String()
}

// leading returns the usual distance between two lines, as a multiple of the font size.
func (l *layout) leading() float64 {
	var all []float64
	for i := 1; i < len(l.lines); i++ {
		if d := l.lines[i-1].base - l.lines[i].base; d > 0 && d < 2.5*l.lines[i].size {
			all = append(all, d/l.lines[i].size)
		}
	}
	if len(all) == 0 {
		return 1.3
	}
	slices.Sort(all)
	return max(all[len(all)/2], 0.9)
}

// follows reports whether line b continues the paragraph of line a: it is directly below, has letters of the same size, and is not
// indented.
func follows(a, b *line, leading float64) bool {
	below := (a.base - b.base) / b.size
	return below > 0 && below < 1.25*leading && math.Abs(a.size-b.size) < 0.1*a.size && b.from < a.from+0.9*a.size
}

// join joins two lines of a paragraph. It removes the hyphen of a word that was divided at the end of the line.
func join(a, b string) string {
	end, size := utf8.DecodeLastRuneInString(a)
	if end == '-' || end == '\u00ad' || end == '\u2010' {
		before, _ := utf8.DecodeLastRuneInString(a[:len(a)-size])
		next, _ := utf8.DecodeRuneInString(b)
		if unicode.IsLetter(before) && unicode.IsLower(next) {
			return a[:len(a)-size] + b
		}
	}
	return a + " " + b
}
