package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// takeSize is the maximum number of links that are queued in one step.
const takeSize = 10_000

// readAfter is the number of poll intervals after which a shard reads its inbox in any case. Earlier, it reads the inbox only if the engine
// has reported a message; a shard with queued URLs also waits a little: see [Node.gathers].
const readAfter = 5

// gathers returns the time for which a shard with queued URLs collects links before it queues them in one step: 80 ms for each shard of the
// job, at most the time until the inbox is read in any case. Fewer shards make fewer steps for a node, so each may wait for less.
func (n *Node) gathers() time.Duration {
	return min(time.Duration(n.job.Shards)*80*time.Millisecond, readAfter*n.Poll)
}

// dropEvery is the minimum time between two removals of messages from an inbox: a removal costs the engine as much as a message.
const dropEvery = 10 * time.Second

// receive reads the inbox if a message is reported or after some polls, and queues new links. It reports whether it has read a probe.
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
	s.looked = time.Time{} // zero until the read succeeds: after a failure, the next call reads again
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
			if read >= some { // all reported messages were visible
				s.looked = time.Now()
			}
			return probed, nil
		}
	}
}

// dropRead removes messages that were read from the engine. If that fails, a later call repeats it: a message may be read twice.
func (s *Shard) dropRead(ctx context.Context) {
	if s.inbox > s.dropped && time.Since(s.dropAt) >= dropEvery && s.node.engine.Drop(ctx, s.Number, s.inbox) == nil {
		s.dropped, s.dropAt = s.inbox, time.Now()
	}
}

// forward sends links to other shards whose hosts belonged to this shard before the shards were doubled: the links were sent earlier, or by
// nodes that did not know of the doubling. The links are durable when it returns, before a commit records that they were read.
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

// arrivals holds the contents of some messages of an inbox.
type arrivals struct {
	messages int64
	all      bool   // the end of the inbox was reached
	last     uint64 // sequence of the last message
	links    []frontier.Request
	probe    uint64 // the last probe among the messages, 0 if there was none
}

// readInbox reads messages, up to the number some, or all if some is 0 or less. It puts damaged messages aside: their links are lost.
func (s *Shard) readInbox(ctx context.Context, some int64) (in arrivals, err error) {
	in.last = s.inbox // read without a lock, because only this goroutine changes s.inbox
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

// decode decodes a message. Links to hosts that never belonged to this shard are an error: they are in the wrong inbox, and only the right
// shard may request them.
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

// putAside moves an unreadable message to the dead letters, and tells the operator.
func (s *Shard) putAside(ctx context.Context, x Entry, why error) error {
	if err := s.node.engine.PutAside(ctx, s.Number, x); err != nil {
		return err
	}
	s.node.trace(s.owner, Aside, fmt.Errorf("%w: shard %d at %d", why, s.Number, x.Seq))
	return nil
}
