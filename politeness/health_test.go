package politeness

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestFailingHostIsGivenUpAndBackOffDecays(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		var last time.Duration
		for i := range 3 {
			last = time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 502}))
			if want := time.Second << i; last != want {
				t.Errorf("after %d failures: %v, want %v", i+1, last, want)
			}
			time.Sleep(last)
		}
		for _, want := range []time.Duration{2 * time.Second, time.Second, time.Second} {
			last = time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 200}))
			if last != want {
				t.Errorf("in recovery: %v, want %v", last, want)
			}
			time.Sleep(last)
		}
		for b.gate.Host("a.test:443").GivenUp == "" {
			time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, Reply{Err: errors.New("reset")})))
		}
		if d := b.denied("https://a.test/"); d.Reason != ReasonHostFailed || !d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
}

func TestAHostIsGivenUpAfterSoManyFailuresOrSoLong(t *testing.T) {
	timeout := Reply{Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		config   Config
		reply    Reply
		failures int
	}{
		{Config{MaxFailures: 3, MaxSilence: Forever}, timeout, 3},
		{Config{MaxFailures: 3, MaxSilence: Forever}, Reply{Status: 429}, 3},
		{Config{MaxFailures: 3, MaxSilence: Forever}, Reply{Status: 200, Truncated: CutIdle}, 3},
		{Config{MaxFailures: 3, MaxSilence: Forever}, Reply{Status: 500}, 6}, // page failures count half
		{Config{MaxFailures: 3, MaxSilence: Forever}, Reply{Status: 200, Truncated: CutShort}, 6},
		{Config{MaxFailures: 3, MaxSilence: Forever}, Reply{Err: errors.New("reset")}, 6},
		{Config{MaxFailures: Unlimited, MaxSilence: 10 * time.Second}, timeout, 5}, // failures at 0, 1, 3, 7 and 15 s
		{Config{MaxFailures: Unlimited, MaxSilence: 10 * time.Second}, Reply{Status: 429}, 5},
		{Config{MaxFailures: Unlimited, MaxSilence: 10 * time.Second}, Reply{Status: 500}, 0},
		{Config{MaxFailures: Unlimited, MaxSilence: Forever}, timeout, 0},
	} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, c.config)
			b.ready("https://a.test/", "")
			n := 0
			for n < 50 && b.gate.Host("a.test:443").GivenUp == "" {
				time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, c.reply)))
				n++
			}
			if n != c.failures && c.failures > 0 || c.failures == 0 && n < 50 {
				t.Errorf("%+v: given up after %d failures, want %d", c.reply, n, c.failures)
			}
		})
	}
}

// TestFailuresOfOnePageAreNotThoseOfItsHost lets one URL fail several times. That lengthens the pause, but the host is never given up, not
// even by a process that resumes from the ledger or a snapshot. An error before anything was sent counts as a failure of the host at every
// attempt.
func TestFailuresOfOnePageAreNotThoseOfItsHost(t *testing.T) {
	refused, broken := Reply{Err: errors.New("connection refused")}, Reply{Status: 500}
	for _, c := range []struct {
		name    string
		reply   Reply
		sent    bool
		attempt func(i int) int
		want    int32
	}{
		{"one page", broken, true, func(i int) int { return i }, 1},
		{"as many pages", broken, true, func(int) int { return 0 }, 3},
		{"one page that is refused for the time being", Reply{Status: 429}, true, func(i int) int { return i }, 6},
		{"one page that comes too late", Reply{Err: os.ErrDeadlineExceeded}, true, func(i int) int { return i }, 6},
		{"one page that resets", Reply{Err: errors.New("reset")}, true, func(i int) int { return i }, 1},
		{"one page that breaks off", Reply{Status: 200, Truncated: CutShort}, true, func(i int) int { return i }, 1},
		{"nobody there", refused, false, func(i int) int { return i }, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var l past
				b := l.process(t, Config{MaxFailures: 4})
				l.keep(b, "https://a.test/", "")
				var between []byte
				for i := range 3 {
					u := b.url("https://a.test/")
					p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr, Attempt: c.attempt(i)})
					if err != nil {
						t.Fatal(err)
					}
					if i == 2 { // while a Permit is held
						between = b.gate.Snapshot()
					}
					if c.sent {
						g, err := p.Redeem()
						if err != nil || g.Begin() != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Until(b.gate.Report(p, c.reply)))
				}
				l.snapshot = nil
				replayed := l.process(t, Config{MaxFailures: 4})
				l.snapshot = between
				restored := l.process(t, Config{MaxFailures: 4})
				for name, g := range map[string]*Gate{"lived": b.gate, "replayed": replayed.gate, "restored": restored.gate} {
					if h := g.hosts["a.test:443"]; h.failures != c.want || h.backoff != 4*time.Second {
						t.Errorf("%s: %d faults and a back-off of %v, want %d and 4s", name, h.failures, h.backoff, c.want)
					}
				}
			})
		})
	}
}

func TestAnAnswerThatBreaksOffIsAFailure(t *testing.T) {
	for cut, failures := range map[string]int{CutShort: 1, CutIdle: 1, CutByLength: 0, "unwanted": 0, "": 0} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{})
			b.ready("https://a.test/", "")
			b.send(b.must("https://a.test/"), 0, Reply{Status: 200, Truncated: cut})
			if got := b.gate.Host("a.test:443").Failures; got != failures {
				t.Errorf("%q: %d failures", cut, got)
			}
		})
	}
}

func TestAbortedRequestsSayNothingAboutTheHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		time.Sleep(time.Until(b.send(b.must("https://a.test/"), time.Minute, Reply{Aborted: true, Err: errors.New("canceled")})))
		if p := b.must("https://a.test/"); p.Purpose() != Robots {
			t.Fatal("robots.txt is requested again")
		} else {
			time.Sleep(time.Until(b.send(p, 0, Reply{Status: 404})))
		}
		b.send(b.must("https://a.test/"), 0, Reply{Aborted: true, Err: errors.New("canceled")})
		if i := b.gate.Host("a.test:443"); i.Failures != 0 || i.Backoff != 0 {
			t.Errorf("got %+v", i)
		}
	})
}

func TestP5AGoodAnswerThatTheLedgerDoesNotHaveShortensNoPause(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		out := &closing{lines: 5}
		b := newClient(t, Config{Delay: 100 * time.Millisecond, Ledger: out})
		b.ready("https://a.test/", "")
		b.send(b.must("https://a.test/"), 0, Reply{Status: 500})
		time.Sleep(time.Second)
		b.send(b.must("https://a.test/"), 0, Reply{Status: 200})
		if was := b.gate.Host("a.test:443").Backoff; was != time.Second {
			t.Errorf("the back-off is %v", was)
		}
	})
}
