package recrawl

import "time"

// maxPeriods limits the changes that a [History] keeps.
const maxPeriods = 40

// History holds the changes that visits to a page have shown. The zero value is the history of a page that was visited once. It is not
// safe for concurrent use.
type History struct {
	periods []observedPeriod // oldest first; consecutive quiet periods are merged
}

// observedPeriod is a period with an observation.
type observedPeriod struct {
	days float32
	kind spellKind
}

type spellKind uint8

const (
	quiet   spellKind = iota // no change
	changed                  // at least one change
	dated                    // a change at the beginning of the period, and none after it
)

// Add adds a visit. gap is the time since the previous visit, and hasChanged whether the page had changed since then. age is the time
// since the last change, if it is known (from a Last-Modified within the gap), and 0 otherwise. A visit with a gap that is not positive
// is ignored.
func (h *History) Add(gap time.Duration, hasChanged bool, age time.Duration) {
	s := observedPeriod{days: float32(Days(gap))}
	switch {
	case gap <= 0:
		return
	case hasChanged && age > 0 && age <= gap:
		s = observedPeriod{days: float32(Days(age)), kind: dated}
	case hasChanged:
		s.kind = changed
	case len(h.periods) > 0 && h.periods[len(h.periods)-1].kind == quiet:
		h.periods[len(h.periods)-1].days += s.days
		return
	}
	if len(h.periods) == maxPeriods {
		copy(h.periods, h.periods[1:])
		h.periods = h.periods[:maxPeriods-1]
	}
	h.periods = append(h.periods, s)
}

// Changes returns the number of changes seen, among those that are kept.
func (h *History) Changes() (n int) {
	for _, s := range h.periods {
		if s.kind != quiet {
			n++
		}
	}
	return n
}

// Empty reports whether there is no observation: the page was visited at most once.
func (h *History) Empty() bool { return len(h.periods) == 0 }

// Days returns a duration in days.
func Days(d time.Duration) float64 { return d.Hours() / 24 }

// Duration converts days to a duration, at most a hundred years.
func Duration(days float64) time.Duration {
	return time.Duration(min(days, 36525) * 24 * float64(time.Hour))
}

// Signals counts the signals of one host: announcements that a page has changed, by the lastmod of a sitemap or the date of a feed's
// entry. They are believed to the extent that they were right before. Busa-Fekete, Zimmert, György, Qiu and others (2025) and Kolobov,
// Peres, Lubetzky and Horvitz ("Staying up to date with online content changes using reinforcement learning for scheduling", NeurIPS
// 2019) treat such signals as noisy, with a precision and a recall. The zero value has no signals and believes none.
type Signals struct {
	Right  int `json:"right"`  // signals after which the page had changed
	Wrong  int `json:"wrong"`  // signals after which the page had not changed
	Missed int `json:"missed"` // changes without a signal, of pages for which signals exist
}

// trials is the minimum number of judged signals, or of changes, for an estimate.
const trials = 5

// Precision returns the fraction of the signals that were right, as the mean of a Beta distribution that starts with one right and one
// wrong signal.
func (s Signals) Precision() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Wrong+2)
}

// Recall returns the fraction of changes that a signal announced, estimated in the same way.
func (s Signals) Recall() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Missed+2)
}

// Believed reports whether a page with a signal is requested at once: at least half of the signals were right.
func (s Signals) Believed() bool { return s.Right+s.Wrong >= trials && s.Precision() >= 0.5 }

// Silent returns the fraction of a page's changes that have no signal, so that ordinary visits must find them. It is 1 unless signals
// are believed.
func (s Signals) Silent() float64 {
	if !s.Believed() || s.Right+s.Missed < trials {
		return 1
	}
	return 1 - s.Recall()
}

// judge records the result of a visit after a signal, or without one.
func (s *Signals) judge(signalled, hasChanged bool) {
	switch {
	case signalled && hasChanged:
		s.Right++
	case signalled:
		s.Wrong++
	case hasChanged:
		s.Missed++
	}
}
