package cluster

import (
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Sharing implements politeness.Config.Shared for the shard's crawl. It uses the clocks of hosts, addresses and domains that all crawls on
// the engine share, and applies the total rate of the job, if it has one.
func (s *Shard) Sharing() politeness.Sharing { return turns{s.node.clocks, s} }

// turns implements politeness.Sharing for a shard's crawl.
type turns struct {
	*Clocks
	s *Shard
}

// Take implements politeness.Sharing.
func (t turns) Take(q *politeness.Turn) error {
	if err := t.s.heard(); err != nil {
		return err
	}
	if !t.s.node.enter() {
		return notYet(time.Now(), ledger.ClauseBusy)
	}
	if err := t.take(q); err != nil {
		t.s.node.exit()
		return err
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.inFlight[q] = true
	return nil
}

func (t turns) take(q *politeness.Turn) error {
	limit := t.s.node.current().Rate
	if err := t.Clocks.Take(q); err != nil || limit <= 0 {
		return err
	}
	rate := politeness.Turn{Gate: q.Gate, Crawl: q.Crawl, Total: true, Delay: time.Duration(float64(time.Second) / limit)}
	if err := t.Clocks.Take(&rate); err != nil {
		t.Clocks.Done(q, politeness.Owed{})
		q.Waited, q.Until = ledger.Clause{}, time.Time{}
		return err
	}
	if q.Until.IsZero() || rate.Until.Before(q.Until) {
		q.Until = rate.Until
	}
	return nil
}

// Done implements politeness.Sharing. Before the crawl begins it stores nothing: the previous owner has stored the state of the gate.
func (t turns) Done(q *politeness.Turn, owed politeness.Owed) {
	t.s.mu.Lock()
	had, crawls := t.s.inFlight[q], t.s.started
	delete(t.s.inFlight, q)
	t.s.mu.Unlock()
	if had {
		t.s.node.exit()
	}
	if had || crawls {
		t.Clocks.Done(q, owed)
	}
}

// Leave implements politeness.Sharing.
func (t turns) Leave(gate string) {
	t.s.mu.Lock()
	n := len(t.s.inFlight)
	clear(t.s.inFlight)
	t.s.mu.Unlock()
	for range n {
		t.s.node.exit()
	}
	t.Clocks.Leave(gate)
}

// enter waits, for at most a second, until the node may have another request in flight, and reports whether it may.
func (n *Node) enter() bool {
	if n.flight == nil {
		return true
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case n.flight <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

func (n *Node) exit() {
	if n.flight != nil {
		<-n.flight
	}
}

// heard returns a *politeness.NotYet if storing takes longer than a reachable engine needs: otherwise information from a response, such as
// a Retry-After, might be lost for the next owner.
func (s *Shard) heard() error {
	if s.owner.under.longest(time.Now()) < s.node.job.storeTime() {
		return nil
	}
	return notYet(time.Now().Add(retry), ledger.ClauseEngine)
}

// storeTime returns the duration of a commit or another append up to which new requests may begin.
func (j *Job) storeTime() time.Duration { return max(patience, j.TTL/10) }
