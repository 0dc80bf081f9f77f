package watch

import (
	"fmt"
	"time"
)

// Knowledge holds what a watch has stored about a page.
type Knowledge struct {
	Last    time.Time // time of the last visit, rounded to seconds
	Past    string
	Gone    bool
	Changes int
}

// Known returns what a watch knows about each page.
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

// Used returns the number of requests to a host in the last day, as counted for the budget.
func (w *Watch) Used(host string) int { return w.budget.used(host) }

// Recall loads the stored knowledge, as Run does at its start.
func (w *Watch) Recall() error { return w.load() }
