package politeness

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestP9ASnapshotShortensNoWait takes a snapshot at a random moment of a random crawl, restores it at once or later, and continues. The
// restored Gate admits only what the old Gate would have admitted at that time.
func TestP9ASnapshotShortensNoWait(t *testing.T) {
	for seed := range uint64(400) {
		inBubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			c := randomConfig(rng)
			old := newClient(t, c)
			flying := map[uint64]Permit{}
			for range rng.IntN(120) {
				randomStep(old, rng, flying)
			}
			snapshot := old.gate.Snapshot()
			if rng.IntN(2) == 0 {
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(time.Minute)))
			}
			c.Snapshot = snapshot
			restored := newClient(t, c)
			for _, p := range flying { // requests that the end of the process interrupted
				old.gate.Report(p, Reply{Aborted: true})
			}

			for range 60 {
				if p, err := restored.admit(randomRequest(rng)); err == nil {
					sendBoth(restored, old, p, old.mintSame(p), time.Duration(rng.IntN(2000))*time.Millisecond, randomReply(rng))

				}
				time.Sleep(time.Duration(rng.ExpFloat64() * float64(2*time.Second)))
			}
		})
	}
}

// randomStep begins a request or ends one, and lets some time pass.
func randomStep(b *client, rng *rand.Rand, flying map[uint64]Permit) {
	if p, err := b.admit(randomRequest(rng)); err == nil {
		flying[p.ID()] = p
		if g, err := p.Redeem(); err == nil && rng.IntN(10) > 0 {
			_ = g.Begin()
		}
	}
	time.Sleep(time.Duration(rng.ExpFloat64() * float64(time.Second)))
	for id, p := range flying {
		if rng.IntN(3) > 0 {
			b.gate.Report(p, randomReply(rng))
			delete(flying, id)
		}
	}
}

func TestASnapshotSavesAllThatIsKnown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\nCrawl-delay: 7\n")
		b.send(b.must("https://a.test/"), 0, Reply{Status: 500})
		b.answerAt("https://b.test/", "192.0.2.2", Reply{Status: 429, Header: http.Header{"Retry-After": {"3000"}}})
		b.answerAt("https://c.test/x", "192.0.2.3", redirect("https://d.test/r"))
		b.answerAt("https://e.test/", "192.0.2.5", Reply{Status: 403})
		r := b.restored(Config{})
		for _, raw := range []string{"https://a.test/", "https://b.test/", "https://c.test/", "https://e.test/"} {
			u := b.url(raw)
			was, is := b.gate.Origin(u), r.gate.Origin(u)
			if was.Known != is.Known || was.Unreachable != is.Unreachable || !was.Expires.Equal(is.Expires) ||
				was.Source.String() != is.Source.String() || was.Source.SHA256 != is.Source.SHA256 {
				t.Errorf("%s: was %+v, is %+v", raw, was, is)
			}
			if was, is := b.gate.Host(u.Host()), r.gate.Host(u.Host()); was.Delay != is.Delay || was.Clause != is.Clause ||
				!was.NotBefore.Equal(is.NotBefore) || was.Failures != is.Failures || was.GivenUp != is.GivenUp {
				t.Errorf("%s: was %+v, is %+v", raw, was, is)
			}
			if was, is := b.gate.Next(u), r.gate.Next(u); was != is {
				t.Errorf("%s: next was %v, is %v", raw, was, is)
			}
		}
		if d := r.denied("https://a.test/no"); d.Reason != ReasonRobots || d.Verdict.Line != 2 {
			t.Error(d)
		}
		if d := r.denied("https://b.test/"); d.Reason != ReasonRetryAfter {
			t.Error(d)
		}
	})
}

func TestARestoredGateAddsItsOwnDelay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.rules("https://a.test/", "")
		r := b.restored(Config{Delay: 10 * time.Second})
		time.Sleep(9 * time.Second)
		r.wait("https://a.test/", someAddr)
		time.Sleep(time.Second)
		r.must("https://a.test/")
	})
}

func TestARequestInFlightAtASnapshotEndsAtItsRestoration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Delay: 5 * time.Second})
		b.must("https://a.test/")
		time.Sleep(7 * time.Second)
		r := b.restored(Config{Delay: 5 * time.Second})
		if w := r.wait("https://a.test/", someAddr); time.Until(w.Until) != 5*time.Second {
			t.Error(w)
		}
		r = b.restored(Config{Delay: 5 * time.Second})
		if w := r.wait("https://b.test/", someAddr); time.Until(w.Until) != 5*time.Second {
			t.Errorf("of its address: %v", w)
		}
	})
}

func TestAnOwnHostsSlotsAreRestoredAlsoInAnotherNumber(t *testing.T) {
	own := func(n int) Config { return Config{Delay: 5 * time.Second, OwnHosts: func(string) int { return n }} }
	for from := 1; from <= 3; from++ {
		for to := 1; to <= 3; to++ {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, own(from))
				b.rules("https://a.test/", "")
				for p, err := b.admit("https://a.test/", someAddr); err == nil; p, err = b.admit("https://a.test/", someAddr) {
					b.send(p, time.Second, Reply{Status: 200})
				}
				r := b.restored(own(to))
				r.wait("https://a.test/", someAddr)
				time.Sleep(5 * time.Second)
				for range to {
					r.must("https://a.test/")
				}
				r.wait("https://a.test/", someAddr)
			})
		}
	}
}

func TestSnapshotsThatAreNotWholeAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{PerDomain: true, Rate: 1})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\n")
		b.answerAt("https://c.test/x", "192.0.2.3", redirect("https://d.test/r"))
		whole := b.gate.Snapshot()
		for n := 1; n < len(whole); n++ {
			if _, err := NewGate(Config{Identity: identity(), Snapshot: whole[:n]}); !errors.Is(err, errSnapshot) {
				t.Fatalf("the first %d bytes of %d: %v", n, len(whole), err)
			}
		}
		for _, bad := range [][]byte{[]byte("amble-gate\x01"), append([]byte("amble-gate\x07"), whole[len("amble-gate")+1:]...), append(bytes.Clone(whole), 0), []byte("{}")} {
			if _, err := NewGate(Config{Identity: identity(), Snapshot: bad}); !errors.Is(err, errSnapshot) {
				t.Errorf("%.20q: %v", bad, err)
			}
		}
	})
}

// TestAnEarlierSnapshotIsRead reads a snapshot of version 2. It lacks fields that do not matter for long: whether a host is on loopback,
// and the number of attempts of a URL in flight.
func TestAnEarlierSnapshotIsRead(t *testing.T) {
	snapshot, err := os.ReadFile("testdata/gate-v2.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, func(t *testing.T) {
		time.Sleep(10 * time.Second)
		b := newClient(t, Config{Snapshot: snapshot})
		if behind, _ := b.gate.Skew(); behind != 0 {
			t.Fatalf("the clock is %v behind: when was it made?", behind)
		}
		if d := b.denied("https://a.test/no"); d.Reason != ReasonRobots || d.Verdict.Line != 2 {
			t.Error(d)
		}
		if h := b.gate.Host("a.test:443"); h.Delay != 7*time.Second || h.Failures != 1 || h.Backoff != time.Second {
			t.Errorf("%+v", h)
		}
		if d := b.denied("https://b.test/"); d.Reason != ReasonRetryAfter {
			t.Error(d)
		}
		if w := b.wait("https://c.test/", netip.MustParseAddr("192.0.2.3")); time.Until(w.Until) != time.Second {
			t.Errorf("the request under way is followed by a pause until %v", w.Until)
		}
	})
}

// TestASnapshotOfVersion5IsRead reads a snapshot of version 5, which does not count challenges. If it has rules from a response with status
// 202, these are discarded.
func TestASnapshotOfVersion5IsRead(t *testing.T) {
	snapshot, err := os.ReadFile("testdata/gate-v5.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, func(t *testing.T) {
		time.Sleep(10 * time.Second)
		b := newClient(t, Config{Snapshot: snapshot})
		if d := b.denied("https://a.test/no"); d.Reason != ReasonRobots || d.Verdict.Line != 2 {
			t.Error(d)
		}
		if h := b.gate.Host("a.test:443"); h.Delay != 7*time.Second || h.Failures != 1 || h.Backoff != time.Second {
			t.Errorf("%+v", h)
		}
		if d := b.denied("https://b.test/"); d.Reason != ReasonRetryAfter {
			t.Error(d)
		}
		if p := b.mustAt("https://c.test/", "192.0.2.3"); p.Purpose() != Robots {
			t.Errorf("a permit for %s", p.URL())
		}
	})
}

// TestASnapshotIncludesWholeLines: if the ledger ends with an incomplete line, this is cut off before the ledger is continued.
func TestASnapshotIncludesWholeLines(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Ledger: &short{}})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err == nil {
			t.Fatal("no error")
		}
		b.gate.Report(p, Reply{Aborted: true})
		r := b.restored(Config{})
		if err := r.gate.Replay(strings.NewReader(""), nil); err != nil {
			t.Error(err)
		}
	})
}

// TestNoEventIsInNeitherASnapshotNorTheLedgerBehindItsMark takes snapshots during requests that fail. In each restored Gate, every failure
// counts exactly once: it is either in the snapshot, or in the part of the ledger that follows it.
func TestNoEventIsInNeitherASnapshotNorTheLedgerBehindItsMark(t *testing.T) {
	var out bytes.Buffer
	c := Config{
		Delay: NoDelay, DelayFactor: NoFactor, MaxFailures: Unlimited, MaxSilence: Forever, MaxBackoff: 1, Ledger: &out,
		Overrides: []Override{{Origin: "http://127.0.0.1:8080", Reason: "a test", Skip: true, Until: time.Now().Add(time.Hour)}},
		OwnHosts:  func(string) int { return 4 },
	}
	b := newClient(t, c)
	const workers, each, taken = 4, 300, 50
	var wg sync.WaitGroup
	var made atomic.Int64
	for range workers {
		wg.Go(func() {
			for n := 0; n < each; {
				p, err := b.admit("http://127.0.0.1:8080/", netip.MustParseAddr("127.0.0.1"))
				if err != nil {
					runtime.Gosched()
					continue
				}
				if g, err := p.Redeem(); err == nil {
					_ = g.Begin()
				}
				b.gate.Report(p, Reply{Err: os.ErrDeadlineExceeded})
				n++
				made.Add(1)
			}
		})
	}
	var snapshots [][]byte
	for i := range int64(taken) {
		for made.Load() < i*workers*each/taken { // snapshots are spread over the whole run, however slow it is
			runtime.Gosched()
		}
		snapshots = append(snapshots, b.gate.Snapshot())
	}
	wg.Wait()
	for _, s := range append(snapshots, nil) {
		c.Snapshot = s
		r := replayed(t, c, out.String(), nil)
		if n := r.gate.Host("127.0.0.1:8080").Failures; n != workers*each {
			t.Fatalf("%d failures, %d happened", n, workers*each)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	g, err := NewGate(Config{Identity: identity(), Rate: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(g.Snapshot())
	f.Add([]byte(snapshotMagic + "\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := NewGate(Config{Identity: identity(), Rate: 1, Snapshot: b})
		if err == nil && len(b) > 0 {
			g.Snapshot()
		}
	})
}
