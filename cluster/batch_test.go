package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// postbox is an engine whose Send records messages, or fails while away is set.
type postbox struct {
	Inboxes
	mu   sync.Mutex
	away bool
	got  []message
}

var errAway = errors.New("away")

// Send implements Inboxes.
func (p *postbox) Send(ctx context.Context, _ int, _ string, offer []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away || ctx.Err() != nil {
		return errAway
	}
	m, err := decodeMessage(offer)
	p.got = append(p.got, m)
	return err
}

// senders returns n shards, each with a valid lease, of one node.
func senders(n int) (all []*Shard) {
	for i := range n {
		s := &Shard{Number: i, owner: &owner{lease: newLease(10 * time.Second)}}
		s.owner.lease.renew(time.Now())
		all = append(all, s)
	}
	return all
}

func batchesOn(p *postbox) *batches {
	return &batches{engine: p, open: map[int]*batch{}, window: func() time.Duration { return 100 * time.Millisecond }}
}

func oneLink(t *testing.T, path int) []frontier.Request {
	return []frontier.Request{{URL: parse(t, fmt.Sprint("http://other.test/", path))}}
}

// Links that several shards send to the same shard within the window become one message. Each sender waits until the message is durable.
func TestLinksOfSeveralShardsAreOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postbox{}
		b := batchesOn(p)
		var all sync.WaitGroup
		for i, s := range senders(10) {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				if err := b.send(t.Context(), s, 12, oneLink(t, i), 100); err != nil {
					t.Error(err)
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.got) == 0 {
					t.Errorf("shard %d went on before its links were sent", i)
				}
			})
		}
		all.Wait()
		if len(p.got) != 1 || len(p.got[0].links) != 10 {
			t.Errorf("sent %+v, want one message with 10 links", p.got)
		}
	})
}

// The size of a message is limited: further links go into the next message.
func TestBatchesAreOfLimitedSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postbox{}
		b := batchesOn(p)
		var all sync.WaitGroup
		for i, s := range senders(3) {
			all.Go(func() {
				if err := b.send(t.Context(), s, 12, oneLink(t, i), offerSize/2); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(p.got) != 2 {
			t.Errorf("sent %d messages, want 2", len(p.got))
		}
	})
}

// A sender whose lease or context has ended stops waiting. The other senders still wait, and their links are sent.
func TestSenderThatLeavesABatchDoesNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postbox{away: true}
		b := batchesOn(p)
		shards := senders(3)
		shards[0].owner.lease.giveUp()
		shards[2].owner.lease.life = time.Minute
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if err := b.send(t.Context(), shards[0], 12, oneLink(t, 0), 100); !errors.Is(err, ErrLease) {
				t.Errorf("without a lease: %v", err)
			}
		})
		all.Go(func() {
			if err := b.send(short, shards[1], 12, oneLink(t, 1), 100); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("broken off: %v", err)
			}
		})
		all.Go(func() {
			if err := b.send(t.Context(), shards[2], 12, oneLink(t, 2), 100); err != nil {
				t.Errorf("the one with a lease: %v", err)
			}
		})
		time.Sleep(20 * time.Second)
		p.mu.Lock()
		p.away = false
		p.mu.Unlock()
		all.Wait()
	})
}

// A sender that arrives after all others have left the batch gets a new batch.
func TestBatchThatWasLeftIsShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &postbox{}
		b := batchesOn(p)
		shards := senders(2)
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := b.send(short, shards[0], 12, oneLink(t, 0), 100); err == nil {
			t.Error("sent at once")
		}
		if err := b.send(t.Context(), shards[1], 12, oneLink(t, 1), 100); err != nil || len(p.got) != 1 {
			t.Errorf("%v, %d messages", err, len(p.got))
		}
	})
}
