package digest

import (
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Owner is a process that shared the crawl with others: a part of the hosts was its own.
type Owner struct {
	audit.Process

	Requests    int       // that began
	First, Last time.Time // the start of the first and the end of the last, by its own clock
}

// run is a process.
type run struct {
	name     string
	open     map[uint64]start // requests without an end so far
	requests int
	first    time.Time
	last     time.Time
}

// Shared reports whether several processes have shared the crawl, so that their lines are mixed.
func (d *Digest) Shared() bool { return len(d.config.Audit.Processes) > 0 }

// enter makes a process the one that wrote the last line.
func (d *Digest) enter(name string) {
	if d.run.name == name && d.run.open != nil {
		return
	}
	if known := d.runs[name]; known != nil {
		d.run = known
		return
	}
	d.facts.Runs++
	if !d.Shared() || len(d.runs) >= maxRuns { // requests of the previous process can no longer end
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

// owners are the processes that shared the crawl.
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
