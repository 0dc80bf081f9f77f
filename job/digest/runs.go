package digest

import (
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Owner is one of the processes that shared the crawl, each with its own part of the hosts.
type Owner struct {
	audit.Process

	Requests    int       // requests started
	First, Last time.Time // start of the first request and end of the last, by the owner's clock
}

// run is the state of one process that wrote the ledger.
type run struct {
	name     string
	open     map[uint64]start // requests that have not ended
	requests int
	first    time.Time
	last     time.Time
}

// Shared reports whether several processes have shared the crawl, so that the ledger interleaves their lines.
func (d *Digest) Shared() bool { return len(d.config.Audit.Processes) > 0 }

// enter makes the named process the current one, the writer of the last line.
func (d *Digest) enter(name string) {
	if d.run.name == name && d.run.open != nil {
		return
	}
	if known := d.runs[name]; known != nil {
		d.run = known
		return
	}
	d.facts.Runs++
	if !d.Shared() || len(d.runs) >= maxRuns { // if processes do not overlap, requests of the earlier ones can no longer end
		clear(d.runs)
		d.opened = 0
	}
	d.run = &run{name: name, open: map[uint64]start{}}
	d.runs[name] = d.run
}

func (r *run) begin(e *ledger.Entry) {
	r.requests++
	if r.first.IsZero() {
		r.first = e.Written
	}
}

func (r *run) end(e *ledger.Entry) {
	if e.Ended.After(r.last) {
		r.last = e.Ended
	}
}

// owners returns the processes that shared the crawl.
func (d *Digest) owners() (all []Owner) {
	for _, p := range d.config.Audit.Processes {
		o := Owner{Process: p}
		if r := d.runs[p.Run]; r != nil {
			o.Requests, o.First, o.Last = r.requests, r.first, r.last
		}
		all = append(all, o)
	}
	return all
}
