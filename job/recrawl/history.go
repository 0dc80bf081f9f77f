package recrawl

import "time"

// maxSpells limits the changes that a [History] keeps.
const maxSpells = 40

// History holds the changes that visits to a page have shown. The zero value is that of a page that was visited once. It is not safe
// for concurrent use.
type History struct {
	spells []spell // oldest first; quiet ones that follow one another are one
}

// spell is a time about which something is known.
type spell struct {
	days float32
	kind spellKind
}

type spellKind uint8

const (
	quiet   spellKind = iota // nothing changed in it
	changed                  // at least one change in it
	dated                    // a change at its beginning, and none after it
)

// Add notes a visit, a time gap after the one before: whether the page had changed since then, and if so, how long ago it
// changed last, if that is known (of a Last-Modified within the gap; otherwise 0). A gap that is not positive says nothing
// and is left out.
func (h *History) Add(gap time.Duration, hasChanged bool, age time.Duration) {
	s := spell{days: float32(Days(gap))}
	switch {
	case gap <= 0:
		return
	case hasChanged && age > 0 && age <= gap:
		s = spell{days: float32(Days(age)), kind: dated}
	case hasChanged:
		s.kind = changed
	case len(h.spells) > 0 && h.spells[len(h.spells)-1].kind == quiet:
		h.spells[len(h.spells)-1].days += s.days
		return
	}
	if len(h.spells) == maxSpells {
		copy(h.spells, h.spells[1:])
		h.spells = h.spells[:maxSpells-1]
	}
	h.spells = append(h.spells, s)
}

// Changes returns how many changes were seen, among those that are kept.
func (h *History) Changes() (n int) {
	for _, s := range h.spells {
		if s.kind != quiet {
			n++
		}
	}
	return n
}

// Empty reports whether nothing is known: the page was visited at most once.
func (h *History) Empty() bool { return len(h.spells) == 0 }

// Days returns a duration in days.
func Days(d time.Duration) float64 { return d.Hours() / 24 }

// Duration returns days as a duration, at most a hundred years.
func Duration(days float64) time.Duration {
	return time.Duration(min(days, 36525) * 24 * float64(time.Hour))
}

// Signals counts the signals of one host: announcements that a page has changed, by the lastmod of a sitemap
// or the date of a feed's entry. They are believed as far as they were right before. Busa-Fekete, Zimmert, György, Qiu and
// others (2025) and Kolobov, Peres, Lubetzky and Horvitz ("Staying up to date with online content changes using
// reinforcement learning for scheduling", NeurIPS 2019) treat such signals as noisy, with a precision and a recall. The zero
// value knows nothing and believes nothing.
type Signals struct {
	Right  int `json:"right"`  // signals after which the page had changed
	Wrong  int `json:"wrong"`  // signals after which it had not
	Missed int `json:"missed"` // changes of pages that signals are given of, without a signal before
}

// trials is the number of judged signals, or changes, from which they are believed.
const trials = 5

// Precision returns the part of the signals that were right, as the mean of a Beta distribution that begins with one right
// and one wrong signal.
func (s Signals) Precision() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Wrong+2)
}

// Recall returns the part of the changes that a signal announced, in the same way.
func (s Signals) Recall() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Missed+2)
}

// Believed reports whether a page with a signal is requested at once: at least half of the signals were right.
func (s Signals) Believed() bool { return s.Right+s.Wrong >= trials && s.Precision() >= 0.5 }

// Silent returns the part of the changes of a page that come without a signal, which visits without one have to find: 1
// unless signals are believed.
func (s Signals) Silent() float64 {
	if !s.Believed() || s.Right+s.Missed < trials {
		return 1
	}
	return 1 - s.Recall()
}

// judge notes what the visit after a signal, or without one, has shown.
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
