package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// polite is the section of the page that shows every request and every pause.
type polite struct {
	Text          string
	Lanes         lanes
	Keys          []keyEntry
	Caption       string
	Close         lanes
	CloseCaption  string
	Ratios        bars
	RatiosCaption string
}

var laneKeys = []keyEntry{
	{"got", "page"}, {"broken", "4xx, 5xx or no answer"}, {"ink", "robots.txt"}, {"wait", "longer pause that the site asked for, or that trouble with it required"},
}

// kinds are the classes of paths in a lane, in drawing order.
var kinds = [...]struct {
	kind  digest.Kind
	class string
}{{digest.Held, "s-wait"}, {digest.Page, "s-got"}, {digest.Robots, "s-ink"}, {digest.Error, "s-broken"}, {digest.Early, "s-broken"}}

func (s *source) polite() polite {
	t := &s.facts.Total
	p := polite{Keys: laneKeys, Text: s.pauseText()}
	if t.Requests == 0 {
		p.Text = "There was no request."
		return p
	}
	hosts, exact := s.laned(), t.Requests-t.Cut <= len(s.facts.Opening)
	p.Lanes, p.Caption = s.binLanes(hosts), "The whole crawl. Each mark is a request, as long as its answer took; the gaps are the pauses. "
	if exact {
		p.Lanes = s.exactLanes("Requests of each site over the whole crawl", hosts, s.facts.First, s.facts.Last)
	} else {
		p.Caption += fmt.Sprintf("A mark is at least %s wide, so single pauses are seen only below. ", span(s.facts.Bin))
	}
	if more := len(s.facts.Hosts) + s.facts.MoreHosts - len(hosts); more > 0 {
		p.Caption += plural(more, "more site") + " with fewer requests."
	}
	p.Close, p.CloseCaption = s.closeUp(hosts)
	p.Keys = slices.DeleteFunc(slices.Clone(laneKeys), func(k keyEntry) bool {
		return !slices.ContainsFunc(p.Lanes.Rows, func(r laneRow) bool {
			return slices.ContainsFunc(r.Paths, func(d lanePath) bool { return d.Class == "s-"+k.Class })
		})
	})
	p.Lanes, p.Close = p.Lanes.folded(), p.Close.folded()
	p.Ratios, p.RatiosCaption = s.ratios()
	return p
}

// pauseText describes the required pauses, and compares the shortest pause with them.
func (s *source) pauseText() string {
	p := &s.facts.Total.Pauses
	text := fmt.Sprintf("One request at a time to each site, with %s from the end of one to the start of the next, and longer where a site asked for it or was in trouble.", orText(s.manifest.Settings["delay"]))
	if p.Owed > 0 {
		text += fmt.Sprintf(" Of %s, the shortest was %s; the one closest to its limit was %s × the required time.", plural(p.Owed, "required pause"), span(p.Least), times(p.Ratio))
	}
	return text
}

func orText(delay string) string {
	if d, err := time.ParseDuration(delay); err == nil {
		return span(d)
	}
	return "no pause"
}

// laned returns the hosts that have a lane: those with the most requests, sorted so that the last to end comes first.
func (s *source) laned() []string {
	var hosts []*digest.Host
	for i := range s.facts.Hosts[:min(maxLanes, len(s.facts.Hosts))] {
		if h := &s.facts.Hosts[i]; h.Requests > 0 {
			hosts = append(hosts, h)
		}
	}
	slices.SortStableFunc(hosts, func(a, b *digest.Host) int { return b.Last.Compare(a.Last) })
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names
}

// binLanes draws the lanes from their bins.
func (s *source) binLanes(hosts []string) lanes {
	bins := 1
	by := map[string]*digest.Lane{}
	for i := range s.facts.Lanes {
		l := &s.facts.Lanes[i]
		by[l.Host] = l
	}
	for _, h := range hosts {
		if l := by[h]; l != nil {
			bins = max(bins, l.First+len(l.Bins))
		}
	}
	p := s.newLanes("Requests of each site over the whole crawl", hosts, time.Duration(bins)*s.facts.Bin, 0)
	for i, h := range hosts {
		if l := by[h]; l != nil {
			p.Rows[i].Scale = fmt.Sprintf("scale(%.4f 1)", trackWidth/float64(bins))
			p.Rows[i].Paths = binPaths(l)
		}
	}
	return p
}

// binPaths draws runs of equal bins.
func binPaths(l *digest.Lane) (paths []lanePath) {
	for _, k := range kinds {
		var b strings.Builder
		at := 0 // position of the pen
		for i := 0; i < len(l.Bins); i++ {
			if l.Bins[i]&k.kind == 0 {
				continue
			}
			from := i
			for i+1 < len(l.Bins) && l.Bins[i+1]&k.kind != 0 {
				i++
			}
			if b.Len() == 0 {
				fmt.Fprintf(&b, "M%d 7h%d", l.First+from, i+1-from)
			} else {
				fmt.Fprintf(&b, "m%d 0h%d", from-at, i+1-from)
			}
			at = i + 1
		}
		if b.Len() > 0 {
			paths = append(paths, lanePath{k.class, b.String()})
		}
	}
	return paths
}

// newLanes returns empty lanes for a period.
func (s *source) newLanes(title string, hosts []string, took time.Duration, from float64) lanes {
	return newLanes(fmt.Sprintf("%s: a lane for each of %s, over %s", title, plural(len(hosts), "site"), span(took)), hosts, max(took.Seconds(), 0.001), from)
}

// exactLanes draws the single requests of a period.
func (s *source) exactLanes(title string, hosts []string, from, to time.Time) lanes {
	took := max(to.Sub(from), time.Millisecond)
	p := s.newLanes(title, hosts, took, from.Sub(s.facts.First).Seconds())
	row := map[string]int{}
	for i, h := range hosts {
		row[h] = i
	}
	scale := trackWidth / took.Seconds()
	paths := make([][len(kinds)]strings.Builder, len(hosts))
	for _, m := range s.facts.Opening {
		i, ok := row[m.Host]
		if !ok || m.Start.Add(m.Took).Before(from) || m.Start.After(to) {
			continue
		}
		x := max(0, m.Start.Sub(from).Seconds()*scale)
		w := min(max(minMark, m.Took.Seconds()*scale), trackWidth-x)
		for k := range kinds {
			if m.Kind&kinds[k].kind != 0 {
				fmt.Fprintf(&paths[i][k], "M%s 7h%s", decimal(x), decimal(w))
			}
		}
		if owed := min(m.Owed, m.Pause); m.Held && owed > 0 {
			begin := max(0, (m.Start.Sub(from)-m.Pause).Seconds()*scale)
			fmt.Fprintf(&paths[i][0], "M%s 7h%s", decimal(begin), decimal(min(owed.Seconds()*scale, x-begin)))
		}
	}
	for i := range paths {
		for k := range kinds {
			if d := paths[i][k].String(); d != "" {
				p.Rows[i].Paths = append(p.Rows[i].Paths, lanePath{kinds[k].class, d})
			}
		}
	}
	return p
}

// closeUp draws a period in which single pauses are visible: twenty times the delay that the operator chose, at a time when many sites
// were requested.
func (s *source) closeUp(hosts []string) (lanes, string) {
	marks := s.facts.Opening
	delay, err := time.ParseDuration(s.manifest.Settings["delay"])
	if err != nil || delay <= 0 {
		delay = 500 * time.Millisecond
	}
	took := 20 * delay
	if len(marks) < 3 || s.facts.Last.Sub(s.facts.First) < 2*took {
		return lanes{}, ""
	}
	from := busiest(marks, took)
	wanted := map[string]bool{}
	for _, m := range marks {
		if !m.Start.Before(from) && m.Start.Before(from.Add(took)) {
			wanted[m.Host] = true
		}
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return !wanted[h] })
	p := s.exactLanes(fmt.Sprintf("Requests of each site in %s", span(took)), hosts, from, from.Add(took))
	return p, fmt.Sprintf("%s of it, from %s: single answers and single pauses can be seen.", span(took), span(from.Sub(s.facts.First).Round(time.Second)))
}

// busiest returns the beginning of the period of the given length in which the most requests begin.
func busiest(marks []digest.Mark, took time.Duration) time.Time {
	sorted := slices.Clone(marks)
	slices.SortFunc(sorted, func(a, b digest.Mark) int { return a.Start.Compare(b.Start) })
	best, most, j := sorted[0].Start, 0, 0
	for i := range sorted {
		for sorted[i].Start.Sub(sorted[j].Start) >= took {
			j++
		}
		if n := i - j + 1; n > most {
			best, most = sorted[j].Start, n
		}
	}
	return best
}

// ratioNames are the names of the buckets of ratios.
var ratioNames = [...]string{"< 1: too early", "1 to 1.001", "to 1.01", "to 1.1", "to 1.5", "to 2", "to 5", "over 5"}

// ratios draws the ratios of observed to required pauses.
func (s *source) ratios() (bars, string) {
	p := &s.facts.Total.Pauses
	if p.Owed == 0 {
		return bars{}, ""
	}
	var all []barFacts
	for i, n := range p.Ratios {
		class := "ink"
		if i == 0 {
			class = "broken"
		}
		all = append(all, barFacts{ratioNames[i], class, float64(n), num(n)})
	}
	return drawBars("Pauses by observed ÷ required", all), "The first row must be 0. Required pauses are recomputed by code that shares nothing with the crawler; the ledger's own value is used if it is longer."
}
