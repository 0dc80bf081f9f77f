package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slow is an engine whose appends take effect at once but are answered late or never.
type slow struct {
	Engine
	late  time.Duration
	seq   uint64
	nonce Nonce
	sent  int
	lost  int // number of appends that are lost before they arrive
	err   error
}

func (s *slow) Append(ctx context.Context, _ int, n Nonce, _ []byte, last uint64) (uint64, error) {
	s.sent++
	if s.lost > 0 {
		s.lost--
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if s.err != nil {
		return 0, s.err
	}
	if n != s.nonce {
		if last != s.seq {
			return 0, ErrFenced
		}
		s.seq, s.nonce = s.seq+1, n
	}
	wait(ctx, s.late)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return s.seq, nil
}

// A record may be stored long before its acknowledgement arrives, so the lease counts from before the record was first sent.
func TestLeaseCountsFromTheFirstSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{}
		o, err := takeOver(t.Context(), e, 0, "n", 30*time.Second, Entry{})
		if err != nil {
			t.Fatal(err)
		}
		e.late = 7 * time.Second
		began := time.Now()
		if _, err := o.Append([]byte("group")); err != nil {
			t.Fatal(err)
		}
		if left, took := o.lease.left(time.Now()), time.Since(began); left != 27*time.Second-took || took < e.late {
			t.Errorf("%v are left after an answer that took %v, want 27 s less that", left, took)
		}
	})
}

// If an append or its answer is lost, the append is repeated long before the lease ends. An engine that is unreachable for a moment
// therefore costs no shard.
func TestLostAppendIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ttl := range []time.Duration{MinTTL, DefaultTTL} {
			e := &slow{}
			o, err := takeOver(t.Context(), e, 0, "n", ttl, Entry{})
			if err != nil {
				t.Fatal(err)
			}
			e.lost = 2
			if _, err := o.Append([]byte("group")); err != nil || o.lease.check() != nil {
				t.Errorf("lease %v: %v, %v", ttl, err, o.lease.check())
			}
		}
	})
}

// An append without an answer is repeated until the lease ends. After that, the owner sends nothing.
func TestAppendIsRepeatedUntilTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{}
		o, err := takeOver(t.Context(), e, 0, "n", 30*time.Second, Entry{})
		if err != nil {
			t.Fatal(err)
		}
		begin, cut := time.Now(), errors.New("cut")
		e.err = cut
		_, err = o.Append([]byte("group"))
		if took := time.Since(begin); !errors.Is(err, ErrLease) || !errors.Is(err, cut) || took > 27*time.Second || took < 26*time.Second {
			t.Errorf("given up after %v: %v", took, err)
		}
		e.err, e.sent = nil, 0
		if _, err := o.Append([]byte("group")); !errors.Is(err, ErrLease) || e.sent > 0 || o.lease.check() == nil {
			t.Errorf("after that: %v, sent %d times", err, e.sent)
		}
	})
}

// An owner whose append is refused because of a newer owner (fenced) has lost its lease at once.
func TestFencedOwnerHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slow{}
		o, err := takeOver(t.Context(), e, 0, "n", 30*time.Second, Entry{})
		if err != nil {
			t.Fatal(err)
		}
		e.seq++
		if _, err := o.Append(nil); !errors.Is(err, ErrFenced) || o.lease.check() == nil {
			t.Errorf("%v, lease %v; want ErrFenced and no lease", err, o.lease.check())
		}
	})
}

// Near the end of its lease, an owner hands out no URLs to crawl until the lease is renewed.
func TestNothingIsHandedOutNearTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner(t.Context(), nil, 0, "n", 30*time.Second, 0, 1)
		s := &Shard{node: &Node{job: Job{TTL: 30 * time.Second}}, owner: o}
		o.lease.renew(time.Now())
		if err := s.secure(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(17*time.Second + 1) // 10 s of the 27 s remain: less than a third of the TTL
		begin := time.Now()
		time.AfterFunc(4*time.Second, func() { o.lease.renew(time.Now()) })
		if err := s.secure(t.Context()); err != nil || time.Since(begin) < 4*time.Second {
			t.Errorf("handed out after %v, %v; want it after the lease was renewed", time.Since(begin), err)
		}
		time.Sleep(20 * time.Second)
		if err := s.secure(t.Context()); !errors.Is(err, ErrLease) {
			t.Errorf("at the end: %v", err)
		}
	})
}
