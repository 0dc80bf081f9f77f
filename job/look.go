package job

import (
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
)

// Queue calls f with each host that has URLs left in the job's queue, and returns how many URLs are done and how many were
// rejected. The queue is only read, also while a process works on the job; what that process wrote last may be missing.
func (r *Reader) Queue(f func(disk.HostCount) error) (done, rejected int, err error) {
	var hosts []disk.HostCount
	for try := 0; ; try++ {
		hosts = hosts[:0]
		done, rejected, err = disk.ReadHosts(r.files.path(frontierName), func(c disk.HostCount) error {
			hosts = append(hosts, c)
			return nil
		})
		if err == nil || missingFile(err) || try == 5 || !r.Running() { // a file may have been replaced meanwhile
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return 0, 0, readError(err)
	}
	for _, h := range hosts {
		if err := f(h); err != nil {
			return done, rejected, err
		}
	}
	return done, rejected, nil
}

// HostStates reads the ledger and returns a function that describes a host (weburl.URL.Host) at its end: its delay, how long
// it must wait, and why. A request without an end in the ledger counts as ended now.
func (r *Reader) HostStates() (func(host string) politeness.HostInfo, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	cfg, err := r.Crawler(&c)
	if err != nil {
		return nil, err
	}
	p := cfg.Politeness
	p.Identity, p.Contactless = cfg.Identity(), cfg.Contact == ""
	f, err := r.files.stream(LedgerName)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { _ = f.Close() }() // only read
	p.LedgerSize = f.Size()
	gate, err := politeness.NewGate(p)
	if err == nil {
		err = gate.Replay(f, r.RobotsBody)
	}
	if err != nil {
		return nil, readError(err)
	}
	return gate.Host, nil
}
