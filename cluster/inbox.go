package cluster

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

// takeSize is the number of links that are queued in one step.
const takeSize = 10_000

// receive reads the inbox and queues what it has not read before. It reports whether it has read a probe.
func (s *Shard) receive(ctx context.Context) (probed bool, err error) {
	for {
		links, at, probe, err := s.readInbox(ctx)
		if err != nil {
			return probed, err
		}
		if len(links) > 0 {
			if links, err = s.forward(ctx, links); err != nil {
				return probed, err
			}
			c := frontier.Checkpoint{Owner: ownerName, Offsets: map[string]int64{offsetInbox: int64(at)}}
			if _, err := s.store.Take(ctx, links, c); err != nil {
				return probed, err
			}
			s.queued()
		}
		s.mu.Lock()
		more := at > s.inbox
		s.inbox = at
		if probe != 0 {
			s.probe, probed = probe, true
		}
		s.mu.Unlock()
		if !more {
			return probed, nil
		}
		if err := s.node.engine.Drop(ctx, s.Number, at); err != nil {
			return probed, err // it is read again, and known
		}
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

// readInbox reads some messages: the links in them, the place of the last one, and the last probe. One that is damaged is put
// aside: its links are lost, and the crawl continues.
func (s *Shard) readInbox(ctx context.Context) (links []frontier.Request, at, probe uint64, err error) {
	at = s.inbox // only the caller changes it
	for x, err := range s.node.engine.Inbox(ctx, s.Number, at) {
		if err != nil {
			return nil, 0, 0, err
		}
		m, err := s.decode(x.Data)
		if err != nil {
			if err := s.putAside(ctx, x, err); err != nil {
				return nil, 0, 0, err
			}
		}
		at, links = x.Seq, append(links, m.links...)
		if m.probe != 0 {
			probe = m.probe
		}
		if len(links) >= takeSize {
			break
		}
	}
	return links, at, probe, nil
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
