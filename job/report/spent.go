package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// spent is the section of the page about how the time was spent.
type spent struct {
	Text            string
	Bars            bars
	Progress        curves
	ProgressCaption string
	Answers         curves
	AnswersCaption  string
}

// causes are the uses of time, with the clauses that belong to each.
var causes = []struct {
	name    string
	clauses []string
}{
	{"the site answers", nil},
	{"the operator's pause", []string{ledger.ClauseDelay, ledger.ClauseHostDelay}},
	{"Crawl-delay, Request-rate", []string{ledger.ClauseCrawlDelay, ledger.ClauseRequestRate}},
	{"after slow answers", []string{ledger.ClauseLatency}},
	{"Retry-After, RateLimit", []string{ledger.ClauseRetryAfter, ledger.ClauseRedirect, ledger.ClauseRateLimit}},
	{"back-off after errors", []string{ledger.ClauseBackoff}},
	{"robots.txt not fetched", []string{ledger.ClauseRobots}},
	{"shared server, hours, rates", []string{
		ledger.ClauseAddress, ledger.ClauseDomain, ledger.ClauseRate, ledger.ClauseBusy, ledger.ClauseStale, ledger.ClauseQuiet, ledger.ClauseRestart,
	}},
	{"other crawls of yours", []string{ledger.ClauseShared}},
	{"no answer of the clocks' engine", []string{ledger.ClauseEngine}},
	{"not required", nil},
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
	var rows []barFacts
	for i, d := range causeTimes(&s.facts.Total) {
		if d > 0 {
			rows = append(rows, barFacts{causes[i].name, "ink", d.Seconds(), span(d)})
		}
	}
	t.Bars = drawBars("Time by what it was spent on, summed over all sites", rows)
	t.Progress, t.ProgressCaption = s.progress()
	t.Answers, t.AnswersCaption = s.answers()
	return t
}

// spentText describes what determined the end time.
func (s *source) spentText() string {
	r, f := s.report, s.facts
	text := ""
	if r.Bound.Duration > 0 && r.Elapsed.Duration >= r.Bound.Duration {
		text = fmt.Sprintf("The crawl took %.2f times what %s makes inevitable: %s, one request at a time, with the required pauses. ", r.Elapsed.Seconds()/r.Bound.Seconds(), site(r.BoundBy), span(r.Bound.Duration))
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

// longest names what delayed the crawl besides its own pauses.
func (s *source) longest() string {
	times := causeTimes(&s.facts.Total)
	var texts []string
	for i, c := range causes[2:7] {
		if d := times[2+i]; d >= time.Second {
			texts = append(texts, fmt.Sprintf("%s: %s", c.name, span(d)))
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

// progress draws the numbers of known and of done URLs.
func (s *source) progress() (curves, string) {
	steps := s.facts.Series.Steps
	if len(steps) < 2 {
		return curves{}, ""
	}
	found, done, xs := running(steps, func(p *digest.Step) int { return p.Found }), running(steps, func(p *digest.Step) int { return p.Done }), places(len(steps))
	most := max(1, found[len(found)-1], done[len(done)-1])
	took := time.Duration(len(steps)) * s.facts.Series.Width
	last := len(found) - 1
	known, ended := num(int(found[last])), num(int(done[last]))
	scale(found, most)
	scale(done, most)
	return curves{
		Label: fmt.Sprintf("URLs known and URLs done over %s: %s and %s at the end", span(took), known, ended), Top: num(int(most)), From: "0", To: span(took),
		Keys:   []keyEntry{{"ink", known + " known"}, {"got", ended + " done"}},
		Curves: []lanePath{{"s-ink thin", line(xs, found)}, {"s-got thin", line(xs, done)}},
	}, "Of URLs that have an outcome. The line of known URLs flattens when the sites are known: until then the end cannot be told."
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

// answerKinds are the classes of responses in a picture, from bottom to top.
var answerKinds = []struct {
	keyEntry
	classes []int
}{
	{keyEntry{"got", "2xx"}, []int{1, 2}}, {keyEntry{"other", "3xx"}, []int{3}}, {keyEntry{"broken", "4xx, 5xx or none"}, []int{4, 5, 0}},
}

// answers draws the responses over time.
func (s *source) answers() (c curves, caption string) {
	steps := s.facts.Series.Steps
	if len(steps) < 2 {
		return c, ""
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
	width, took := time.Duration(per)*s.facts.Series.Width, time.Duration(len(steps))*s.facts.Series.Width
	c = curves{Label: "Answers over time, by status: " + s.classText(), Top: num(top), From: "0", To: span(took)}
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
			c.Keys = append(c.Keys, k.keyEntry)
			c.Curves = append(c.Curves, lanePath{k.Class, area(xs, low, high)})
		}
		low = high
	}
	caption = fmt.Sprintf("Requests in %s, retries included.", span(width))
	if texts := repeated(&s.facts.Total); len(texts) > 0 {
		caption += " " + and(texts...) + " are no page's status: the URL, or a robots.txt, was requested again."
	}
	return c, caption
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

// repeated counts the responses that are not the final status of a page, because the URL, or a robots.txt, was requested again.
func repeated(h *digest.Host) (texts []string) {
	final := 0
	for status, n := range h.Statuses {
		if status/100 == 5 {
			final += n
		}
	}
	if n := h.TooMany - h.Statuses[429]; n > 0 {
		texts = append(texts, num(n)+" × 429")
	}
	if n := h.Classes[5] - final; n > 0 {
		texts = append(texts, num(n)+" × 5xx")
	}
	return texts
}
