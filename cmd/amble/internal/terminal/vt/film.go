package vt

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
)

// Dimensions of a picture, in its own units.
const (
	cellWidth  = 8.4
	lineHeight = 18
	margin     = 16
	titleBar   = 30
	baseline   = 13 // distance of the text's baseline from the top of a line
)

// blink is the minimum time for which a line must be visible to be in a picture: a frame of most screens. A line that was visible for less
// time was only received in part.
const blink = 16 * time.Millisecond

// classes has the CSS class of each style in a picture.
var classes = map[terminal.Style]string{
	terminal.Bold: "b", terminal.Dim: "d", terminal.Red: "r", terminal.Green: "g", terminal.Yellow: "y", terminal.Cyan: "c",
}

// Film records the contents of a terminal over time.
type Film struct {
	columns int
	started time.Time
	spans   []span
	now     []int         // index of the present span of each line of the terminal, -1 for none
	end     time.Duration // time of the last frame
}

// span is a period in which a line did not change.
type span struct {
	line       int
	cells      []Cell
	start, end time.Duration
	stays      bool // whether the line is still shown at the end of the film
}

// NewFilm returns the empty film of a terminal with this many columns.
func NewFilm(columns int) *Film { return &Film{columns: columns} }

// Add records the present contents of the terminal. The first call is the start of the film.
func (f *Film) Add(t *Terminal) {
	if f.started.IsZero() {
		f.started = time.Now()
	}
	f.end = time.Since(f.started)
	lines := t.Lines()
	for i := range max(len(lines), len(f.now)) {
		if i == len(f.now) {
			f.now = append(f.now, -1)
		}
		var l []Cell
		if i < len(lines) {
			l = lines[i]
		}
		f.change(i, l)
	}
}

// change records the new characters of a line.
func (f *Film) change(line int, cells []Cell) {
	if at := f.now[line]; at >= 0 {
		if slices.Equal(f.spans[at].cells, cells) {
			return
		}
		f.spans[at].end, f.spans[at].stays = f.end, false
		f.now[line] = -1
	}
	if len(cells) > 0 {
		f.now[line] = len(f.spans)
		f.spans = append(f.spans, span{line: line, cells: slices.Clone(cells), start: f.end, stays: true})
	}
}

const filmHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre }
.b { font-weight: bold; fill: #fff } .d { fill: #a3abb8 } .r { fill: #f2777a } .g { fill: #8fc379 } .y { fill: #e5c07b } .c { fill: #66c2cd }
.now { visibility: hidden }
@media (prefers-reduced-motion: no-preference) {
.on { animation: on 1ms step-end backwards } .now { animation: now 1s step-end }
}
@keyframes on { from { visibility: hidden } } @keyframes now { from, to { visibility: visible } }
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#1d2026"/>
<circle cx="20" cy="18" r="5" fill="#4a4f5a"/><circle cx="38" cy="18" r="5" fill="#4a4f5a"/><circle cx="56" cy="18" r="5" fill="#4a4f5a"/>
`

// SVG returns the film, which must have at least two frames, as a picture. Below a line with the command, the picture plays the film once,
// for the duration long, and then shows its end. Viewers that do not want or support motion show only the end. Lines that stay have the
// class "on", lines that are replaced the class "now".
func (f *Film) SVG(title string, command []Cell, long time.Duration) string {
	lines, pace := 1, long.Seconds()/f.end.Seconds()
	for _, s := range f.spans {
		lines = max(lines, s.line+2)
	}
	w, h := int(float64(f.columns)*cellWidth)+2*margin, titleBar+lines*lineHeight+margin
	var b strings.Builder
	fmt.Fprintf(&b, filmHead, w, h, html.EscapeString(title))
	fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, titleBar+baseline, spans(command))
	for _, s := range f.spans {
		style := fmt.Sprintf(`class="on" style="animation-delay:%.2fs"`, s.start.Seconds()*pace)
		switch {
		case !s.stays && s.end-s.start < blink:
			continue
		case !s.stays:
			style = fmt.Sprintf(`class="now" style="animation-delay:%.2fs;animation-duration:%.2fs"`, s.start.Seconds()*pace, (s.end-s.start).Seconds()*pace)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" %s>%s</text>`+"\n", margin, titleBar+(s.line+1)*lineHeight+baseline, style, spans(s.cells))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// spans returns the text of a line as SVG. Each change of style starts a new span at its column, so that the font does not matter.
func spans(line []Cell) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		style, start := line[i].Style, i
		var text strings.Builder
		for ; i < len(line) && line[i].Style == style; i++ {
			text.WriteString(line[i].Text)
		}
		fmt.Fprintf(&b, `<tspan x="%.1f"`, margin+float64(start)*cellWidth)
		if c := classes[style]; c != "" {
			fmt.Fprintf(&b, ` class="%s"`, c)
		}
		fmt.Fprintf(&b, ` textLength="%.1f">%s</tspan>`, float64(i-start)*cellWidth, html.EscapeString(text.String()))
	}
	return b.String()
}

// Cells returns text as cells of a style.
func Cells(text string, style terminal.Style) []Cell {
	var cells []Cell
	for _, r := range text {
		cells = append(cells, Cell{string(r), style})
	}
	return cells
}
