package watch

import (
	"fmt"
	"time"
)

// Knowledge holds a watch's stored state of a page.
type Knowledge struct {
	Last    time.Time // rounded to seconds
	Past    string
	Gone    bool
	Changes int
}

// Known returns what is known about each page.
func (w *Watch) Known() map[string]Knowledge {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]Knowledge{}
	for _, r := range w.pages {
		all[r.url.String()] = Knowledge{
			Last: r.last.UTC().Truncate(time.Second), Past: fmt.Sprintf("%x %v", r.past.SHA256, r.past.Validators), Gone: r.gone,
			Changes: r.host.sched.Page(r.number).Changes,
		}
	}
	return all
}

// Used returns how many requests of the last day count for a host.
func (w *Watch) Used(host string) int { return w.budget.used(host) }

// Recall loads what is known, as Run does at its beginning.
func (w *Watch) Recall() error { return w.load() }
