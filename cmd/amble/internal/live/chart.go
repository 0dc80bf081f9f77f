package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// Dimensions of the pictures, in units of their viewBox. Pictures are stretched to the available width. Texts are placed beside them, so
// that texts are not stretched.
const (
	laneWidth  = 1000
	laneHeight = 18
	maxLanes   = 12
	ahead      = 6 * time.Second // time shown after the present

	chartWidth  = 1000
	chartHeight = 100
)

// lanes shows, for each host, its requests of the last seconds and the required pauses between and after them.
type lanes struct {
	Now   string
	Lanes []lane
	Ticks []tick
	Label string
}

type lane struct {
	Name       string
	Pages      string // SVG paths, here and below
	Bad        string
	Robots     string
	Owed, Held string
}

// tick is a label at a percentage of the width.
type tick struct{ X, Text string }

// scale converts times to positions in the picture.
type scale struct{ now time.Time }

func (s scale) x(t time.Time) float64 {
	x := float64(t.Sub(s.now.Add(-window))) / float64(window+ahead) * laneWidth
	return min(max(x, 0), laneWidth)
}

// percent returns the position of an instant in percent.
func (s scale) percent(t time.Time) string { return fmt.Sprintf("%.1f", 100*s.x(t)/laneWidth) }

func (v *view) lanes(r *recent, rows []row) lanes {
	s := scale{v.now}
	l := lanes{Now: fmt.Sprintf("%.1f", s.x(v.now))}
	var hosts []string
	for _, x := range rows {
		h := r.hosts[x.Host]
		if h == nil || len(l.Lanes) == maxLanes {
			continue
		}
		hosts, h.lane = append(hosts, x.Host), len(l.Lanes)+1
		l.Lanes = append(l.Lanes, lane{Name: clip(x.Name, 60)})
	}
	paths := make([]pathBuilder, len(l.Lanes))
	n := 0
	for i := range r.marks {
		m := &r.marks[i]
		if at := m.site.lane - 1; at >= 0 && paths[at].mark(s, m) {
			n++
		}
	}
	for at, host := range hosts {
		h := r.hosts[host]
		h.lane = 0
		until, held := v.due(host, h)
		paths[at].rest(s, h, until, held)
		paths[at].put(&l.Lanes[at])
	}
	for d := window - 5*time.Second; d > 2*time.Second; d -= 5 * time.Second {
		l.Ticks = append(l.Ticks, tick{s.percent(v.now.Add(-d)), fmt.Sprintf("−%d s", int(d.Seconds()))})
	}
	l.Ticks = append(l.Ticks, tick{s.percent(v.now), "now"})
	l.Label = fmt.Sprintf("%s to %s in the last 30 seconds, and the required pauses", plural(n, "request"), plural(len(l.Lanes), "site"))
	return l
}

// due returns the time until which nothing may be requested from a host.
func (v *view) due(host string, h *lately) (until time.Time, held bool) {
	for i := range v.sites {
		if s := &v.sites[i]; s.Host == host {
			return s.Due, digest.HeldBy(s.Waits)
		}
	}
	if v.known || !v.state.Running {
		return time.Time{}, false // no URL of the host is left, so no request is due
	}
	return h.ended.Add(h.pause), h.held
}

// pathBuilder draws the paths of a lane. It merges requests of the same kind that would touch.
type pathBuilder struct {
	pages, bad, robots, owed, held strings.Builder
	last                           float64 // end of the last request drawn, which was of this kind
	kind                           *strings.Builder
}

// mark draws a request and the pause before it, as far as they are in the window. It reports whether the request is in it.
func (p *pathBuilder) mark(s scale, m *mark) bool {
	begin := s.now.Add(-window)
	if m.owed[1].After(begin) {
		p.pause(s, m.owed[0], m.owed[1], m.held)
	}
	end := m.end
	if end.IsZero() {
		end = s.now
	}
	if end.Before(begin) || m.start.After(s.now) {
		return false
	}
	x, to := s.x(m.start), s.x(end)
	kind := &p.pages
	switch {
	case m.robots:
		kind = &p.robots
	case m.failed:
		kind = &p.bad
	}
	if kind == p.kind && x < p.last+0.5 && to < p.last+3 {
		return true
	}
	w := max(3, to-x)
	drawBox(kind, x, 2, w, "v14h-")
	p.kind, p.last = kind, x+w
	return true
}

// rest draws the required pause after the last request, which may end after the present.
func (p *pathBuilder) rest(s scale, h *lately, until time.Time, held bool) {
	if h.flying == 0 && until.After(h.ended) && until.After(s.now.Add(-window)) {
		p.pause(s, h.ended, until, held)
	}
}

func (p *pathBuilder) pause(s scale, from, to time.Time, held bool) {
	x, w := s.x(from), s.x(to)-s.x(from)
	switch {
	case w < 0.5:
	case held:
		drawBox(&p.held, x, 6, w, "v6h-")
	default:
		drawBox(&p.owed, x, 8, w, "v2h-")
	}
}

// drawBox draws a box; down is its height in SVG path syntax. It avoids allocations, because a picture has thousands of boxes.
func drawBox(to *strings.Builder, x float64, y int, w float64, down string) {
	var room [64]byte
	b := strconv.AppendFloat(append(room[:0], 'M'), x, 'f', 1, 64)
	b = strconv.AppendInt(append(b, ' '), int64(y), 10)
	b = strconv.AppendFloat(append(b, 'h'), w, 'f', 1, 64)
	b = strconv.AppendFloat(append(b, down...), w, 'f', 1, 64)
	to.Write(append(b, 'z'))
}

func (p *pathBuilder) put(l *lane) {
	l.Pages, l.Bad, l.Robots, l.Owed, l.Held = p.pages.String(), p.bad.String(), p.robots.String(), p.owed.String(), p.held.String()
}

// rateChart shows requests per second.
type rateChart struct {
	Good, Evil string // SVG paths of successful and failed requests
	Most       string
	Label      string
	Data       [][2]int `json:"-"` // good and failed requests of each two seconds, oldest first
}

func (r *recent) rateChart(now time.Time) rateChart {
	const step = 2
	bars := make([][2]int, rateWindow/step)
	first := now.Unix() - rateWindow + 1
	for i := range r.rates {
		c := &r.rates[i]
		if at := c.second - first; at >= 0 && at < rateWindow {
			bars[at/step][0] += c.good
			bars[at/step][1] += c.evil
		}
	}
	most, all, evil := 2, 0, 0
	for _, b := range bars {
		most = max(most, b[0]+b[1])
		all, evil = all+b[0]+b[1], evil+b[1]
	}
	var g, e strings.Builder
	width := float64(chartWidth) / float64(len(bars))
	bar := func(to *strings.Builder, i, from, n int) {
		if n > 0 {
			h := float64(chartHeight) / float64(most)
			fmt.Fprintf(to, "M%.1f %.1fh%.1fv-%.1fh-%.1fz", float64(i)*width, chartHeight-float64(from)*h, width-3, float64(n)*h, width-3)
		}
	}
	for i, b := range bars {
		bar(&g, i, 0, b[0])
		bar(&e, i, b[0], b[1])
	}
	return rateChart{
		Good: g.String(), Evil: e.String(), Most: strings.TrimSuffix(fmt.Sprintf("%.1f", float64(most)/step), ".0"), Data: bars,
		Label: fmt.Sprintf("%s in the last two minutes, %s of them failed", plural(all, "request"), num(evil)),
	}
}

// growth holds samples of the numbers of known URLs and fetched pages over time. When it is full, it drops every other sample.
type growth struct {
	every   time.Duration
	samples []sample
}

type sample struct {
	at           time.Time
	known, pages int
}

const maxSamples = 240

func (g *growth) add(now time.Time, known, pages int) {
	if known == 0 && len(g.samples) > 0 { // the run has ended
		return
	}
	if n := len(g.samples); n > 0 && now.Sub(g.samples[n-1].at) < g.every {
		return
	}
	g.samples = append(g.samples, sample{now, known, pages})
	if len(g.samples) < maxSamples {
		return
	}
	kept := g.samples[:0]
	for i := 0; i < len(g.samples); i += 2 {
		kept = append(kept, g.samples[i])
	}
	g.samples = kept
	g.every = max(2*g.every, 2*time.Second)
}

type growthChart struct {
	Known, Pages string // points of SVG polylines
	Most         string
	Label, Upper string
	End, Fetched string // values at the right end
	Samples      []sample
}

func (l *Live) growthChart(v *view) growthChart {
	samples, upper := l.growth.samples, "known"
	if l.config.Crawler == nil {
		samples, upper = seriesOf(v), "with an outcome"
	}
	return drawGrowth(samples, upper)
}

// drawGrowth draws two curves: of known URLs, or of another quantity that upper names, and of fetched pages.
func drawGrowth(samples []sample, upper string) growthChart {
	c := growthChart{Upper: upper, Samples: samples}
	if len(samples) == 0 {
		return c
	}
	first, last := samples[0].at, samples[len(samples)-1]
	most := 1
	for _, s := range samples {
		most = max(most, s.known, s.pages)
	}
	span := max(last.at.Sub(first), time.Second)
	y := func(n int) float64 { return chartHeight - float64(n)/float64(most)*chartHeight }
	var known, pages strings.Builder
	for _, s := range samples {
		x := float64(s.at.Sub(first)) / float64(span) * chartWidth
		fmt.Fprintf(&known, "%.1f,%.1f ", x, y(s.known))
		fmt.Fprintf(&pages, "%.1f,%.1f ", x, y(s.pages))
	}
	c.Known, c.Pages, c.Most = known.String(), pages.String(), num(most)
	c.Label = fmt.Sprintf("%s %s, %s fetched", plural(last.known, "URL"), upper, plural(last.pages, "page"))
	c.End, c.Fetched = num(last.known), num(last.pages)
	return c
}

// seriesOf returns samples of the growth of a crawl in another process, as shown by its visits.
func seriesOf(v *view) (all []sample) {
	s := &v.facts.Series
	known, pages := 0, 0
	for i, step := range s.Steps {
		known, pages = known+step.Done, pages+step.Pages
		all = append(all, sample{s.From.Add(time.Duration(i+1) * s.Width), known, pages})
	}
	return all
}
