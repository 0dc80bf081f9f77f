package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The pictures are 1,080 wide, with names in a margin.
const (
	pictureWidth = 1080.0
	margin       = 170.0
	barsWidth    = 800.0
)

// keyEntry is an entry of a legend.
type keyEntry struct{ Class, Name string }

// bars is a picture of horizontal bars of parts.
type bars struct {
	Title, Label string
	Height       int
	Rows         []barRow
}

type barRow struct {
	Name    string
	Y, Text int
	Parts   []barPart
	End     string
	Note    string
}

type barPart struct{ Class, X, W string }

// barFacts is a bar before it is drawn: the size of each part, in the order of the legend.
type barFacts struct {
	name  string
	sizes []float64
	note  string
}

// drawBars draws bars to the scale of the largest. They have the colours of the legend.
func drawBars(title string, keys []keyEntry, rows []barFacts) (b bars) {
	b.Title = title
	most := 0.0
	for _, r := range rows {
		most = max(most, sum(r.sizes))
	}
	var label []string
	for i, r := range rows {
		y := 2 + 22*i
		row := barRow{Name: short(r.name), Y: y, Text: y + 12, Note: r.note}
		x := margin
		for k, size := range r.sizes {
			if size <= 0 {
				continue
			}
			w := max(1, size/max(most, 1)*(barsWidth-100))
			row.Parts = append(row.Parts, barPart{keys[k].Class, decimal(x), decimal(w)})
			x += w
		}
		row.End = decimal(x + 6)
		b.Rows = append(b.Rows, row)
		label = append(label, site(r.name)+": "+r.note)
	}
	b.Height, b.Label = 22*len(rows)+4, title+". "+strings.Join(label, "; ")
	return b
}

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// decimal writes a coordinate with one digit.
func decimal(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// lanes is a picture of rows over time.
type lanes struct {
	Title, Label string
	Height       int
	Ticks        []tick
	Rows         []laneRow
}

type tick struct{ X, Text string }

type laneRow struct {
	Name  string
	Text  int
	At    string // the transformation of its paths
	Paths []lanePath
}

type lanePath struct{ Class, D string }

const laneHeight = 20

// ticksOf divides so many seconds by up to ten round steps, on a width from the margin.
func ticksOf(seconds, from float64) (ticks []tick) {
	step := niceStep(seconds / 8)
	for at := 0.0; at <= seconds; at += step {
		ticks = append(ticks, tick{decimal(margin + at/seconds*(pictureWidth-margin-10)), clockText(from+at, step)})
	}
	return ticks
}

// niceStep is a step for people at least as long as so many seconds.
func niceStep(seconds float64) float64 {
	for _, s := range [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400} {
		if s >= seconds {
			return s
		}
	}
	return math.Ceil(seconds/86400) * 86400
}

// clockText writes a time since the beginning in the unit of a step.
func clockText(seconds, step float64) string {
	switch {
	case step >= 86400:
		return decimal(seconds/86400) + " d"
	case step >= 3600:
		return decimal(seconds/3600) + " h"
	case step >= 120:
		return decimal(seconds/60) + " min"
	}
	return decimal(seconds) + " s"
}

// columns is a picture of upright columns.
type columns struct {
	Label         string
	Width, Height int
	UnderY        int
	Columns       []column
}

type column struct {
	Class           string
	X, Y, W, H, Mid string
	Top, Under      string
	TopY            string
}

// columnFacts is a column before it is drawn.
type columnFacts struct {
	class string
	n     int
	under string
}

// drawColumns draws columns to the scale of the largest.
func drawColumns(label string, width, height int, all []columnFacts) columns {
	c := columns{Width: width, Height: height, UnderY: height - 4}
	most, texts := 1, make([]string, 0, len(all))
	for _, f := range all {
		most = max(most, f.n)
	}
	step := float64(width) / float64(max(1, len(all)))
	for i, f := range all {
		h := float64(f.n) / float64(most) * float64(height-44)
		if f.n > 0 {
			h = max(1, h)
		}
		x, w := float64(i)*step+step*0.12, step*0.76
		y := float64(height) - 22 - h
		c.Columns = append(c.Columns, column{
			Class: f.class, X: decimal(x), Y: decimal(y), W: decimal(w), H: decimal(h), Mid: decimal(x + w/2),
			Top: num(f.n), Under: f.under, TopY: decimal(y - 4),
		})
		texts = append(texts, f.under+": "+num(f.n))
	}
	c.Label = label + ". " + strings.Join(texts, "; ")
	return c
}

// curves is a picture of lines or areas.
type curves struct {
	Label         string
	Width, Height int
	Frame         string
	Curves        []lanePath
	Texts         []curveText
}

type curveText struct {
	Class      string
	X, Y, Text string
}

// The chart of a curve, inside its texts.
const (
	chartWidth, chartHeight                      = 520, 220
	chartLeft, chartTop, chartRight, chartBottom = 46.0, 10.0, 510.0, 196.0
)

func newCurves(label string) curves {
	return curves{Label: label, Width: chartWidth, Height: chartHeight, Frame: fmt.Sprintf("M%v %vV%vH%v", chartLeft, chartTop, chartBottom, chartRight)}
}

// text adds a text.
func (c *curves) text(class string, x, y float64, text string) {
	c.Texts = append(c.Texts, curveText{class, decimal(x), decimal(y), text})
}

// scale writes the greatest values of both axes.
func (c *curves) scale(most int, end string) {
	c.text("d e", chartLeft-5, chartTop+10, num(most))
	c.text("d e", chartLeft-5, chartBottom, "0")
	c.text("d e", chartRight, chartBottom+16, end)
}

// line is a path through shares of the chart's width and height.
func line(xs, ys []float64) string {
	var b strings.Builder
	for i := range xs {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%s %s", letter, decimal(chartLeft+xs[i]*(chartRight-chartLeft)), decimal(chartBottom-ys[i]*(chartBottom-chartTop)))
	}
	return b.String()
}

// area is a path around what lies between two lines of the same points.
func area(xs, low, high []float64) string {
	if len(xs) == 0 {
		return ""
	}
	n := len(xs)
	bx, by := make([]float64, n), make([]float64, n)
	for i := range xs {
		bx[i], by[i] = xs[n-1-i], low[n-1-i]
	}
	return line(xs, high) + "L" + strings.TrimPrefix(line(bx, by), "M") + "Z"
}
