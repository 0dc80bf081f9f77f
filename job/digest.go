package job

import (
	"github.com/amble-crawler/amble/internal/digest"
)

// Facts sums up the ledger and the visits of the job, each read once, line by line. It keeps no more than some thousand
// hosts in memory.
func (r *Reader) Facts() (*digest.Facts, error) {
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
	}
	return d.Snapshot(0), nil
}
