package cluster

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
)

// takeSize is how many links are queued in one step.
const takeSize = 10_000

// receive reads the inbox and queues what it has not read before. It reports whether it has read a probe.
func (s *Shard) receive(ctx context.Context) (probed bool, err error) {
	for {
		links, at, probe, err := s.readInbox(ctx)
		if err != nil {
			return probed, err
		}
		if len(links) > 0 {
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

// readInbox reads some messages: the links in them, the place of the last one, and the last probe.
func (s *Shard) readInbox(ctx context.Context) (links []frontier.Request, at, probe uint64, err error) {
	at = s.inbox // only the caller changes it
	for x, err := range s.node.engine.Inbox(ctx, s.Number, at) {
		if err != nil {
			return nil, 0, 0, err
		}
		m, err := decodeMessage(x.Data)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%w: shard %d at %d", err, s.Number, x.Seq)
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
