package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// spent is where the time went.
type spent struct {
	Text            string
	Bars            bars
	Keys            []keyEntry
	Progress        curves
	ProgressCaption string
	Answers         curves
	AnswerKeys      []keyEntry
	AnswersCaption  string
}

// causes are what time is spent on, with the clauses that belong together.
var causes = []struct {
	keyEntry
	clauses []string
}{
	{keyEntry{"ok", "the site answers"}, nil},
	{keyEntry{"mut", "the operator's pause"}, []string{ledger.ClauseDelay, ledger.ClauseHostDelay}},
	{keyEntry{"cd", "Crawl-delay or Request-rate of robots.txt"}, []string{ledger.ClauseCrawlDelay, ledger.ClauseRequestRate}},
	{keyEntry{"sl", "pause after slow answers"}, []string{ledger.ClauseLatency}},
	{keyEntry{"ra", "Retry-After or RateLimit"}, []string{ledger.ClauseRetryAfter, ledger.ClauseRedirect, ledger.ClauseRateLimit}},
	{keyEntry{"bad", "back-off after errors"}, []string{ledger.ClauseBackoff}},
	{keyEntry{"warn", "waiting for a robots.txt that could not be fetched"}, []string{ledger.ClauseRobots}},
	{keyEntry{"sh", "other hosts of its server, or hours and rates agreed"}, []string{
		ledger.ClauseAddress, ledger.ClauseDomain, ledger.ClauseRate, ledger.ClauseBusy, ledger.ClauseStale, ledger.ClauseQuiet, ledger.ClauseRestart,
	}},
	{keyEntry{"ot", "other crawls of yours"}, []string{ledger.ClauseShared}},
	{keyEntry{"en", "the engine that has the clocks gave no answer"}, []string{ledger.ClauseEngine}},
	{keyEntry{"free", "not owed: the crawler was elsewhere"}, nil},
}

// causeTimes returns the time of a host in the order of causes.
func causeTimes(h *digest.Host) []time.Duration {
	times := make([]time.Duration, len(causes))
	times[0] = h.Server
	for i, c := range causes {
		for _, name := range c.clauses {
			times[i] += h.Pauses.Time.Clause(name)
		}
	}
	times[len(times)-1] = h.Pauses.Time[digest.Free]
	return times
}

func (s *source) spent() spent {
	t := spent{Text: s.spentText()}
	for _, c := range causes {
		t.Keys = append(t.Keys, c.keyEntry)
	}
	hosts := slices.Clone(s.facts.Hosts)
	total := func(h *digest.Host) (d time.Duration) {
		for _, part := range causeTimes(h) {
			d += part
		}
		return d
	}
	slices.SortStableFunc(hosts, func(a, b digest.Host) int { return cmp.Compare(total(&b), total(&a)) })
	var rows []barFacts
	for i := range hosts[:min(maxBars, len(hosts))] {
		h := &hosts[i]
		if h.Requests == 0 {
			continue
		}
		var sizes []float64
		for _, d := range causeTimes(h) {
			sizes = append(sizes, d.Seconds())
		}
		rows = append(rows, barFacts{h.Name, sizes, fmt.Sprintf("%s, %s", span(total(h)), plural(h.Requests, "request"))})
	}
	t.Bars = drawBars("Time of each site by what it was spent on", t.Keys, rows)
	t.Progress, t.ProgressCaption = s.progress()
	t.Answers, t.AnswerKeys, t.AnswersCaption = s.answers()
	return t
}

// spentText says who decided the end.
func (s *source) spentText() string {
	r, f := s.report, s.facts
	text := ""
	if r.Bound.Duration > 0 && r.Elapsed.Duration >= r.Bound.Duration {
		text = fmt.Sprintf("The crawl took %.2f times what %s makes inevitable: %s, one request at a time, with the pauses that were owed. ", r.Elapsed.Seconds()/r.Bound.Seconds(), site(r.BoundBy), span(r.Bound.Duration))
		if r.Elapsed.Seconds() < 1.5*r.Bound.Seconds() {
			text += "More workers would change nothing. "
		}
	}
	var last *digest.Host
	for i := range f.Hosts {
		if h := &f.Hosts[i]; last == nil || h.Last.After(last.Last) {
			last = h
		}
	}
	if last == nil || last.Requests == 0 || len(f.Hosts) < 2 {
		return text + s.longest()
	}
	return text + fmt.Sprintf("The last site was %s, with %s. ", site(last.Name), plural(last.Requests, "request")) + s.longest()
}

// longest names what held the crawl up besides its own pauses.
func (s *source) longest() string {
	times := causeTimes(&s.facts.Total)
	var texts []string
	for i, c := range causes[2:7] {
		if d := times[2+i]; d >= time.Second {
			texts = append(texts, fmt.Sprintf("%s: %s", c.Name, span(d)))
		}
	}
	if d := s.facts.Total.LostToOthers; d > 0 {
		texts = append(texts, "lost to other crawls of yours: "+span(d))
	}
	if d := s.facts.Total.Pauses.Time.Clause(ledger.ClauseEngine); d >= time.Second {
		texts = append(texts, "waiting for an engine that gave no answer: "+span(d))
	}
	if len(texts) == 0 {
		return ""
	}
	return "Over all sites, " + and(texts...) + "."
}

// progress draws how many URLs were known and how many were done.
func (s *source) progress() (curves, string) {
	steps := s.facts.Series.Steps
	if len(steps) < 2 {
		return curves{}, ""
	}
	found, done, xs := running(steps, func(p *digest.Step) int { return p.Found }), running(steps, func(p *digest.Step) int { return p.Done }), places(len(steps))
	most := max(1, found[len(found)-1], done[len(done)-1])
	took := time.Duration(len(steps)) * s.facts.Series.Width
	c := newCurves(fmt.Sprintf("URLs known and URLs done over %s: %s and %s at the end", span(took), num(int(found[len(found)-1])), num(int(done[len(done)-1]))))
	c.scale(int(most), span(took))
	scale(found, most)
	scale(done, most)
	c.Curves = []lanePath{{"s-mut thin", line(xs, found)}, {"s-ok thin", line(xs, done)}}
	c.text("d", chartLeft+8, chartTop+10, "upper line: known; lower: done")
	return c, "Of URLs that have an outcome. The upper line flattens when the sites are known: until then the end cannot be told."
}

func places(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i) / float64(max(1, n-1))
	}
	return xs
}

func running(steps []digest.Step, of func(*digest.Step) int) []float64 {
	sum, ys := 0, make([]float64, len(steps))
	for i := range steps {
		sum += of(&steps[i])
		ys[i] = float64(sum)
	}
	return ys
}

func scale(ys []float64, most float64) {
	for i := range ys {
		ys[i] /= most
	}
}

// answerKinds are the classes of answers in a picture, from the bottom.
var answerKinds = []struct {
	keyEntry
	classes []int
}{
	{keyEntry{"ok", "2xx"}, []int{1, 2}}, {keyEntry{"sl", "3xx"}, []int{3}}, {keyEntry{"warn", "4xx"}, []int{4}},
	{keyEntry{"bad", "5xx"}, []int{5}}, {keyEntry{"mut", "none"}, []int{0}},
}

// answers draws the answers over time.
func (s *source) answers() (c curves, keys []keyEntry, caption string) {
	steps := s.facts.Series.Steps
	if len(steps) < 2 {
		return c, nil, ""
	}
	const most = 150 // points
	merged := make([]digest.Step, 0, most)
	per := (len(steps) + most - 1) / most
	for chunk := range slices.Chunk(steps, per) {
		var m digest.Step
		for _, p := range chunk {
			for i, n := range p.Answers {
				m.Answers[i] += n
			}
		}
		merged = append(merged, m)
	}
	top := 1
	for i := range merged {
		n := 0
		for _, k := range merged[i].Answers {
			n += k
		}
		top = max(top, n)
	}
	t := &s.facts.Total
	c = newCurves(fmt.Sprintf("Answers over time, by status: %s", s.classText()))
	low, xs := make([]float64, len(merged)), places(len(merged))
	for _, k := range answerKinds {
		high, some := slices.Clone(low), false
		for i := range merged {
			for _, class := range k.classes {
				high[i] += float64(merged[i].Answers[class]) / float64(top)
				some = some || merged[i].Answers[class] > 0
			}
		}
		if some {
			keys = append(keys, k.keyEntry)
			c.Curves = append(c.Curves, lanePath{"area " + k.Class, area(xs, low, high)})
		}
		low = high
	}
	width := time.Duration(per) * s.facts.Series.Width
	c.scale(top, span(time.Duration(len(steps))*s.facts.Series.Width))
	caption = fmt.Sprintf("Requests in %s, retries included.", span(width))
	if text := repeated(t); text != "" {
		caption += " " + text + "."
	}
	return c, keys, caption
}

// classText counts answers by class.
func (s *source) classText() string {
	var texts []string
	for class, n := range s.facts.Total.Classes {
		switch {
		case n == 0:
		case class == 0:
			texts = append(texts, num(n)+" without an answer")
		default:
			texts = append(texts, fmt.Sprintf("%s × %dxx", num(n), class))
		}
	}
	return and(texts...)
}

// repeated says which answers are not in the pages' statuses, since a later attempt went better.
func repeated(t *digest.Host) string {
	var texts []string
	if n := t.TooMany - t.Statuses[429]; n > 0 {
		texts = append(texts, num(n)+" × 429")
	}
	final := 0
	for status, n := range t.Statuses {
		if status >= 500 {
			final += n
		}
	}
	if n := t.Classes[5] - final; n > 0 {
		texts = append(texts, num(n)+" × 5xx")
	}
	if len(texts) == 0 {
		return ""
	}
	return and(texts...) + " are no page's status: the URL, or a robots.txt, was requested again"
}
