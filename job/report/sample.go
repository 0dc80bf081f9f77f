package report

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
)

// sample describes the kind of sample that the crawl is.
type sample struct {
	Sentence      string
	Depths, Sizes bars
	Lorenz        curves
	LorenzCaption string
	Facts         []fact
}

func (s *source) sample() sample {
	p := sample{Sentence: s.sentence(), Facts: s.sampleFacts()}
	p.Depths, p.Sizes = s.depths(), s.sizes()
	p.Lorenz, p.LorenzCaption = s.lorenz()
	return p
}

// sentence returns the sentence about the sample for a paper.
func (s *source) sentence() string {
	r, t, set := s.report, &s.facts.Total, s.manifest.Settings
	var b strings.Builder
	fmt.Fprintf(&b, "From %s to %s (UTC) we crawled %s of %s with %s", r.Started.UTC().Format("2 January 2006, 15:04"), r.Ended.UTC().Format("2 January 2006, 15:04"),
		plural(r.Pages, "page"), plural(r.Hosts, "site"), s.manifest.Last().Software)
	fmt.Fprintf(&b, ", %s. ", s.frameText())
	fmt.Fprintf(&b, "At least %s lay between the end of one request to a site and the start of the next; the robots.txt of each site was obeyed (RFC 9309), which excluded %s (%s of those known). ",
		orText(set["delay"]), plural(t.Reasons["robots_disallow"], "URL"), percent(t.Reasons["robots_disallow"], s.facts.Known+r.Left))
	if cut := s.sitesIn(censoring...); len(cut) > 0 {
		upTo := ""
		if r.Left > 0 { // some of the URLs left may belong to other hosts
			upTo = "Up to "
		}
		fmt.Fprintf(&b, "%s%s not seen to the end (%s), so that counts of their pages are lower bounds. ", upTo, plural(len(cut), "site")+verb(len(cut)), some(cut, 3))
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "%s were known and not requested when the crawl ended. ", plural(r.Left, "URL"))
	}
	if s.open != "" {
		b.WriteString("The crawl had not ended then. ")
	}
	fmt.Fprintf(&b, "The crawl cost the sites %s, %s and %s of their servers' time.", plural(t.Requests, "request"), bytesText(t.Bytes), span(t.Server))
	return b.String()
}

// frameText describes the pages that could be in the crawl, as a part of a sentence.
func (s *source) frameText() string {
	set := s.manifest.Settings
	if d := s.drawn(); d != nil {
		n, seed, _ := strings.Cut(d.Draw, ":")
		return fmt.Sprintf("a simple random sample of up to %s pages of each of %s, from %s in their sitemaps (those with the smallest HMAC-SHA256 of the URL with the key “%s”), within the scope “%s”%s",
			n, plural(len(d.Sites), "site"), plural(d.Listed, "listed URL"), seed, set["scope"], bounds(set))
	}
	return fmt.Sprintf("beginning at %s and following links %s, within the scope “%s”%s", plural(len(s.manifest.Seeds), "seed"), depthText(set["depth"]), set["scope"], bounds(set))
}

func verb(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

func depthText(depth string) string {
	switch depth {
	case "none":
		return "to any depth"
	case "0":
		return "not at all"
	case "1":
		return "once"
	}
	return "up to " + depth + " deep"
}

// bounds lists the limits in force.
func bounds(set map[string]string) string {
	var texts []string
	for _, b := range [...]struct{ key, text string }{
		{"max-pages", "%s pages"}, {"max-per-host", "%s pages a site"}, {"max-bytes", "%s"}, {"max-time", "%s"},
	} {
		v := set[b.key]
		if n, err := strconv.Atoi(v); err == nil {
			v = num(n)
		} else if d, err := time.ParseDuration(v); err == nil {
			v = span(d)
		}
		if v != "" && v != "none" {
			texts = append(texts, fmt.Sprintf(b.text, v))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return ", at most " + and(texts...)
}

func (s *source) sampleFacts() []fact {
	r, t, set := s.report, &s.facts.Total, s.manifest.Settings
	known := s.facts.Known + r.Left
	frame := fact{"Frame", s.frameText()}
	if s.drawn() == nil {
		frame.Value = fmt.Sprintf("%s given; pages within the scope “%s”, links followed %s", plural(len(s.manifest.Seeds), "seed"), set["scope"], depthText(set["depth"]))
	}
	facts := []fact{
		frame,
		{"Bound", strings.TrimPrefix(bounds(set), ", ") + boundReached(string(r.Finish))},
		{"Order within a site", s.orderInWords()},
		{"Not seen, refused by robots.txt", fmt.Sprintf("%s, %s of those known", plural(t.Reasons["robots_disallow"], "URL"), percent(t.Reasons["robots_disallow"], known))},
		{"Not seen, failed", fmt.Sprintf("%s, %s of those known", plural(t.Failed(), "URL"), percent(t.Failed(), known))},
		{"Not seen, over a site's budget", fmt.Sprintf("%s, %s of those known", plural(t.OverBudget(), "URL"), percent(t.OverBudget(), known))},
		{"Not seen, left in the queue", fmt.Sprintf("%s, %s of those known", plural(r.Left, "URL"), percent(r.Left, known))},
	}
	if cut := s.sitesIn(censoring...); len(cut) > 0 {
		facts = append(facts, fact{"Censored sites", fmt.Sprintf("%s of %s: %s. Their totals are lower bounds", num(len(cut)), num(len(s.facts.Hosts)+s.facts.MoreHosts), some(cut, 5))})
	}
	facts = append(facts, fact{"Duplicates", fmt.Sprintf("%s of %s have the body of an earlier one; %s are nearly the same", num(t.Same), plural(r.Pages, "page"), num(t.Near))})
	facts = append(facts, fact{"Usage signals", usageText(t.Usage)}, fact{"Cost to the sites", s.cost()})
	return facts
}

func boundReached(finish string) string {
	if strings.HasPrefix(finish, "max_") {
		return "; reached: " + strings.ReplaceAll(finish, "_", "-")
	}
	return ""
}

// usageText lists the statements of sites about uses.
func usageText(usage map[string]int) string {
	var texts []string
	for _, r := range counted("", usage).Rows {
		texts = append(texts, fmt.Sprintf("%s: %s", r.Name, plural(r.Count, "page")))
	}
	if len(texts) == 0 {
		return "none was found"
	}
	return and(texts[:min(10, len(texts))]...) + "; kept with each record"
}

// cost returns the crawl's cost for the sites.
func (s *source) cost() string {
	t, connections := &s.facts.Total, ""
	if s.open == "" { // the number is unknown until the crawl has ended
		connections = plural(s.report.Connections, "connection") + ", "
	}
	return fmt.Sprintf("%s, %s, %s%s of their servers' time; at most one request at a time at each",
		plural(t.Requests, "request"), bytesText(t.Bytes), connections, span(t.Server))
}

func (s *source) depths() bars {
	var all []barFacts
	last := 0
	for depth, n := range s.facts.Depths {
		if n > 0 {
			last = depth
		}
	}
	if s.report.Pages == 0 {
		return bars{}
	}
	for depth, n := range s.facts.Depths[:last+1] {
		under := fmt.Sprint(depth)
		if depth == len(s.facts.Depths)-1 {
			under += "+"
		}
		all = append(all, barFacts{under, "got", float64(n), num(n)})
	}
	return drawBars("Pages fetched by links from a seed", all)
}

func (s *source) sizes() bars {
	counts := s.facts.Sizes.Doublings()
	if s.facts.Sizes.Count == 0 {
		return bars{}
	}
	names := [...]string{"< 1 KiB", "to 4", "to 16", "to 64", "to 256", "to 1 MiB", "to 4", "more"}
	var sums [len(names)]int
	for digits, n := range counts {
		i := 0
		if digits > 10 {
			i = min((digits-9)/2, len(names)-1)
		}
		sums[i] += n
	}
	var all []barFacts
	for i, n := range sums {
		all = append(all, barFacts{names[i], "got", float64(n), num(n)})
	}
	return drawBars("Pages fetched by bytes of the decoded body", all)
}

// lorenz draws the distribution of pages over sites as a Lorenz curve.
func (s *source) lorenz() (curves, string) {
	var pages []int
	sum := 0
	for i := range s.facts.Hosts {
		if n := s.facts.Hosts[i].Pages(); n > 0 {
			pages = append(pages, n)
			sum += n
		}
	}
	if len(pages) < 2 {
		return curves{}, ""
	}
	sort.Ints(pages)
	gini, xs, ys := spread(pages, sum)
	c := curves{
		Label: fmt.Sprintf("Share of pages by share of sites: Gini coefficient %.2f over %s", gini, plural(len(pages), "site")), Top: "100 % of the pages",
		From: "sites with the fewest pages first", To: "100 %", Keys: []keyEntry{{"ink", "as many pages from each site"}, {"got", "this crawl"}},
		Curves: []lanePath{{"s-ink thin", line([]float64{0, 1}, []float64{0, 1})}, {"s-got thin", line(xs, ys)}},
	}
	return c, fmt.Sprintf("Lorenz curve, Gini coefficient %.2f over %s.", gini, plural(len(pages), "site"))
}

// spread returns the Gini coefficient of sorted numbers, and the points of their Lorenz curve.
func spread(sorted []int, sum int) (gini float64, xs, ys []float64) {
	const most = 100
	n := len(sorted)
	xs, ys = []float64{0}, []float64{0}
	acc, area := 0, 0.0
	for i, v := range sorted {
		before := acc
		acc += v
		area += float64(before+acc) / 2 / float64(sum) / float64(n)
		if n <= most || (i+1)*most/n > i*most/n {
			xs, ys = append(xs, float64(i+1)/float64(n)), append(ys, float64(acc)/float64(sum))
		}
	}
	return math.Max(0, 1-2*area), xs, ys
}
