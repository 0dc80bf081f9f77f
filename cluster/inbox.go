package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// takeSize is the number of links that are queued in one step.
const takeSize = 10_000

// readAfter is the number of polls after which an inbox is always read. Until then a shard reads it if the engine has told of an arrival,
// and one with queued URLs only after a while: see [Node.gathers].
const readAfter = 5

// gathers is the time for which a shard with queued URLs lets links arrive, so that it queues them in one step: 80 ms for each shard of the
// job, and no longer than until the inbox is read anyway. The fewer shards there are, the fewer steps a node has to do.
func (n *Node) gathers() time.Duration {
	return min(time.Duration(n.job.Shards)*80*time.Millisecond, readAfter*n.Poll)
}

// dropEvery is the least time between two removals of messages that were read: each costs the engine as much as a message.
const dropEvery = 10 * time.Second

// receive reads the inbox, if there is a reason, and queues what it has not read before. It reports whether it has read a probe.
func (s *Shard) receive(ctx context.Context) (probed bool, err error) {
	all := time.Since(s.looked) >= readAfter*s.node.Poll
	if !all && s.store.Stats().Queued > 0 && time.Since(s.looked) < s.node.gathers() {
		return false, nil
	}
	some := s.arrived.Swap(0)
	switch {
	case all:
		some = 0
	case some == 0:
		return false, nil
	}
	s.looked = time.Time{} // until all is read, or as much as has arrived
	for read := int64(0); ; {
		in, err := s.readInbox(ctx, some-read)
		if err != nil {
			return probed, err
		}
		if len(in.links) > 0 {
			if in.links, err = s.forward(ctx, in.links); err != nil {
				return probed, err
			}
			c := frontier.Checkpoint{Owner: ownerName, Offsets: map[string]int64{offsetInbox: int64(in.last)}}
			if _, err := s.store.Take(ctx, in.links, c); err != nil {
				return probed, err
			}
			s.queued()
		}
		s.mu.Lock()
		s.inbox = in.last
		if in.probe != 0 {
			s.probe, probed = in.probe, true
		}
		s.mu.Unlock()
		read += in.messages
		if in.all || some > 0 && read >= some {
			if read >= some { // or the engine has told of more, which may not be there yet
				s.looked = time.Now()
			}
			return probed, nil
		}
	}
}

// dropRead removes messages from the engine that were read. If that fails it is tried again: to read them twice changes nothing.
func (s *Shard) dropRead(ctx context.Context) {
	if s.inbox > s.dropped && time.Since(s.dropAt) >= dropEvery && s.node.engine.Drop(ctx, s.Number, s.inbox) == nil {
		s.dropped, s.dropAt = s.inbox, time.Now()
	}
}

// forward sends on the links to hosts that belonged to this shard before the shards were doubled: who sent them did not know of that, or
// sent them before. As with links of pages, they are durable before it is committed here that they were read.
func (s *Shard) forward(ctx context.Context, links []frontier.Request) (own []frontier.Request, err error) {
	moved := map[int][]frontier.Request{}
	for i := range links {
		if to := s.node.job.Shard(links[i].URL.Host()); to == s.Number {
			own = append(own, links[i])
		} else {
			moved[to] = append(moved[to], links[i])
		}
	}
	return own, s.outbox.send(ctx, moved)
}

// arrivals are messages of an inbox.
type arrivals struct {
	messages int64
	all      bool   // that there were
	last     uint64 // the place of the last one
	links    []frontier.Request
	probe    uint64 // the last one, 0 if there was none
}

// readInbox reads some messages, or all if that is 0 or less. One that is damaged is put aside: its links are lost, and the crawl
// continues.
func (s *Shard) readInbox(ctx context.Context, some int64) (in arrivals, err error) {
	in.last = s.inbox // only the caller changes it
	for x, err := range s.node.engine.Inbox(ctx, s.Number, in.last) {
		if err != nil {
			return arrivals{}, err
		}
		m, err := s.decode(x.Data)
		if err != nil {
			if err := s.putAside(ctx, x, err); err != nil {
				return arrivals{}, err
			}
		}
		in.messages, in.last, in.links = in.messages+1, x.Seq, append(in.links, m.links...)
		if m.probe != 0 {
			in.probe = m.probe
		}
		if in.messages == some || len(in.links) >= takeSize {
			return in, nil
		}
	}
	in.all = true
	return in, nil
}

// decode reads a message. One with links to hosts that never belonged to this shard is in the wrong inbox: no other shard may request
// them.
func (s *Shard) decode(b []byte) (message, error) {
	m, err := decodeMessage(b)
	for i := range m.links {
		if err == nil && !s.node.job.had(s.Number, m.links[i].URL.Host()) {
			err = errOffer
		}
	}
	if err != nil {
		return message{}, err
	}
	return m, nil
}

// putAside moves a message that cannot be read to the dead letters, and tells the operator.
func (s *Shard) putAside(ctx context.Context, x Entry, why error) error {
	if err := s.node.engine.PutAside(ctx, s.Number, x); err != nil {
		return err
	}
	s.node.trace(s.owner, Aside, fmt.Errorf("%w: shard %d at %d", why, s.Number, x.Seq))
	return nil
}
