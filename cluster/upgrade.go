package cluster

import (
	"context"
	"errors"
	"time"
)

// ErrOldNodes means that a node takes no shards yet, because nodes of version 0.2.0 or before may own some.
var ErrOldNodes = errors.New("cluster: nodes of version 0.2.0 or before may own shards of the job, and cannot see requests of this version: stop " +
	"them; this node waits until all have ended, and half a minute more")

// oldRest is the time without any request by nodes of an earlier version after which this version requests pages. The longest pauses of
// single hosts are stored with the queues.
const oldRest = 30 * time.Second

// upgrade reports whether no node of version 0.2.0 or before can own a shard. There the owners of shards kept the clocks of addresses
// and domains; now the engine does. Nodes of both kinds at once would each keep the pauses, but not together.
//
// When no shard has had an owner for oldRest, upgrade takes over each shard and gives it back: nodes of those versions cannot read the
// new record, so they do not take the shard. Only the journals decide. An earlier version that takes a shard meanwhile begins the wait
// anew.
func (n *Node) upgrade(ctx context.Context) bool {
	if n.upgraded {
		return true
	}
	old, quiet := map[int]Entry{}, true
	for shard := range n.job.Shards {
		last, err := n.engine.Last(ctx, shard)
		if err != nil {
			return false
		}
		rest := max(oldRest, n.job.Delay)
		if last.Seq != 0 {
			r, err := decodeRecord(last.Data)
			if err != nil {
				return false
			}
			if !r.old {
				continue
			}
			if r.kind != kindClose {
				rest += n.job.TTL
			}
		}
		old[shard] = last
		quiet = n.restsFor(shard, last.Seq) >= rest && quiet
	}
	if len(old) == 0 {
		n.upgraded = true
		return true
	}
	if !quiet {
		if n.Trace != nil && !n.told {
			n.Trace(Event{Shard: -1, What: Waits, Err: ErrOldNodes})
		}
		n.told = true
		return false
	}
	for shard, last := range old {
		o, err := takeOver(n.alive, n.engine, shard, n.Name, n.job.TTL, last) //nolint:contextcheck // it takes its time
		if err != nil || o.close() != nil {
			return false
		}
	}
	return false // the next look finds out whether all are
}

// restsFor returns for how long this node has known the last record of a journal.
func (n *Node) restsFor(shard int, seq uint64) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.seen[shard]
	if !known || seq > was.seq {
		was = sighting{seq, time.Now()}
		n.seen[shard] = was
	}
	return time.Since(was.since)
}
