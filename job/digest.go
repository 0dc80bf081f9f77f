package job

import (
	"github.com/amble-crawler/amble/internal/digest"
	"github.com/amble-crawler/amble/sink"
)

// Facts sums up the ledger and the visits of the job, each read once, line by line, and passes each visit to the functions. It
// keeps no more than some thousand hosts in memory.
func (r *Reader) Facts(each ...func(*sink.Record)) (*digest.Facts, error) {
	cfg, err := readAuditConfig(r.dir)
	if err != nil {
		return nil, err
	}
	d := digest.New(digest.Config{Audit: cfg, Body: r.RobotsBody})
	for e, err := range r.Ledger() {
		if err != nil {
			return nil, err
		}
		d.Add(e)
	}
	for v, err := range r.Visits() {
		if err != nil {
			return nil, err
		}
		d.AddVisit(v)
		for _, f := range each {
			f(v)
		}
	}
	return d.Snapshot(0), nil
}
