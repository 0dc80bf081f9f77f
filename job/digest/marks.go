package digest

import (
	"slices"
	"time"
)

// Mark is one request with its exact times.
type Mark struct {
	Host  string
	Start time.Time
	Took  time.Duration
	Kind  Kind

	Pause time.Duration // before it, since the request before of the same process; 0: there was none
	Owed  time.Duration // of Pause, or what should have been
	Held  bool          // the host lengthened it, or its trouble did
}

// marks keeps the first and the last requests.
type marks struct {
	first, last []Mark
	next        int // in last, once that is full
}

// mostMarks is the number of requests that are kept at either end.
const mostMarks = 4096

func (m *marks) add(x Mark) {
	if len(m.first) < mostMarks {
		m.first = append(m.first, x)
	}
	if len(m.last) < mostMarks {
		m.last = append(m.last, x)
		return
	}
	m.last[m.next] = x
	m.next = (m.next + 1) % mostMarks
}

// recent returns the last requests, oldest first.
func (m *marks) recent() []Mark { return slices.Concat(m.last[m.next:], m.last[:m.next]) }
