package vt

import (
	"fmt"
	"html"
	"strings"

	"github.com/amble-crawler/amble/internal/terminal"
)

// Measures of a picture, in its own units.
const (
	cellWidth  = 8.4
	lineHeight = 18
	margin     = 16
	titleBar   = 30
	baseline   = 13 // from the top of a line
)

// classes are the names of styles in a picture.
var classes = map[terminal.Style]string{
	terminal.Bold: "b", terminal.Dim: "d", terminal.Red: "r", terminal.Green: "g", terminal.Yellow: "y", terminal.Cyan: "c",
}

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>%s</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre }
.b { font-weight: bold; fill: #fff } .d { fill: #8b93a1 } .r { fill: #f2777a } .g { fill: #8fc379 } .y { fill: #e5c07b } .c { fill: #66c2cd }
</style>
<rect width="%d" height="%d" rx="8" fill="#1d2026"/>
<circle cx="20" cy="18" r="5" fill="#4a4f5a"/><circle cx="38" cy="18" r="5" fill="#4a4f5a"/><circle cx="56" cy="18" r="5" fill="#4a4f5a"/>
`

// SVG returns a picture of lines of a terminal with this many columns.
func SVG(title string, columns int, lines [][]Cell) string {
	w, h := int(float64(columns)*cellWidth)+2*margin, titleBar+len(lines)*lineHeight+margin
	var b strings.Builder
	fmt.Fprintf(&b, pictureHead, w, h, w, h, html.EscapeString(title), w, h)
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, titleBar+i*lineHeight+baseline, spans(line))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// spans returns the text of a line. Each span of another style begins at its column, whatever font there is.
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

// Cells returns text as cells of one style.
func Cells(text string, style terminal.Style) []Cell {
	var cells []Cell
	for _, r := range text {
		cells = append(cells, Cell{string(r), style})
	}
	return cells
}
