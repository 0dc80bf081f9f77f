package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The pictures fit any width: horizontal positions are percentages, or units of a stretched picture. Texts are beside stretched
// pictures, never inside, so that no text is scaled.
const (
	trackWidth   = 1000.0 // width of a stretched picture in units
	chartHeight  = 100.0
	minMark      = 2.0 // minimum width of a mark in units
	maxTicks     = 4
	maxLanesOpen = 6 // further lanes are shown on request
)

// keyEntry is an entry of a legend.
type keyEntry struct{ Class, Name string }

// bars is a table with a stacked bar in each row.
type bars struct {
	Caption string
	Rows    []barRow
}

type barRow struct {
	Name  string
	Parts []barPart
	Note  string
}

// barPart is a part of a bar, in percent of the width.
type barPart struct{ Class, X, W string }

// barFacts is the data of a bar with one part.
type barFacts struct {
	name, class string
	size        float64
	note        string
}

// drawBars draws bars to the scale of the largest.
func drawBars(caption string, rows []barFacts) bars {
	b, largest := bars{Caption: caption}, 0.0
	for _, r := range rows {
		largest = max(largest, r.size)
	}
	for _, r := range rows {
		b.Rows = append(b.Rows, barRow{r.name, drawBar([]string{r.class}, []float64{r.size}, largest), r.note})
	}
	return b
}

// drawBar draws the parts of a bar. all is the size that fills the whole width.
func drawBar(classes []string, sizes []float64, all float64) (parts []barPart) {
	x := 0.0
	for i, size := range sizes {
		if size > 0 {
			w := max(0.6, 100*size/max(all, 1e-9))
			parts = append(parts, barPart{classes[i], decimal(x), decimal(w)})
			x += w
		}
	}
	return parts
}

// decimal formats v with at most one decimal.
func decimal(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// lanes is a picture of rows over time. If there are many rows, only some are shown at first.
type lanes struct {
	Label      string
	Ticks      []tick
	Grid       string // a path with grid lines at the ticks
	Rows, Rest []laneRow
}

// tick is a text at a percentage of the width.
type tick struct{ X, Anchor, Text string }

type laneRow struct {
	Name  string
	Scale string // transformation of the row's paths, "" for none
	Paths []lanePath
}

type lanePath struct{ Class, D string }

// newLanes returns empty lanes for a number of seconds, starting at second from.
func newLanes(label string, hosts []string, seconds, from float64) (p lanes) {
	p.Label = label
	step := niceStep(seconds / maxTicks)
	for at := 0.0; at <= seconds; at += step {
		t := tick{decimal(100 * at / seconds), "middle", clockText(from+at, step)}
		switch share := at / seconds; {
		case share < 0.04:
			t.Anchor = "start"
		case share > 0.93:
			t.Anchor = "end"
		}
		p.Ticks = append(p.Ticks, t)
		p.Grid += fmt.Sprintf("M%s 0V14", decimal(trackWidth*at/seconds))
	}
	for _, h := range hosts {
		p.Rows = append(p.Rows, laneRow{Name: site(h)})
	}
	return p
}

// folded returns lanes of which only a few are shown at first.
func (p lanes) folded() lanes {
	if len(p.Rows) > maxLanesOpen+2 {
		p.Rows, p.Rest = p.Rows[:maxLanesOpen], p.Rows[maxLanesOpen:]
	}
	return p
}

// niceStep returns a round step of at least the given number of seconds.
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

// curves is a picture of lines or areas.
type curves struct {
	Label    string
	Top      string // maximum value
	From, To string // the ends of the axis below
	Keys     []keyEntry
	Curves   []lanePath
}

// line is a path through shares of the chart's width and height.
func line(xs, ys []float64) string {
	var b strings.Builder
	for i := range xs {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%s %s", letter, decimal(xs[i]*trackWidth), decimal((1-ys[i])*chartHeight))
	}
	return b.String()
}

// area returns a path around the area between two lines with the same x values.
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
