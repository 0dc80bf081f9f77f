package recrawl

import "time"

// maxSpells limits the changes that a [History] keeps.
const maxSpells = 40

// History is what the visits to a page have shown. The zero value is that of a page that was visited once. It is not safe
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
