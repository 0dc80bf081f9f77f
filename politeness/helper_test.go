package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/amble-crawler/amble/weburl"
)

// client is a Gate together with a client that uses the Gate as a crawler does, in virtual time.
type client struct {
	*testing.T
	gate *Gate
}

func identity() Identity {
	return Identity{Product: "testbot", Version: "1.0", Contact: "https://lab.university.edu/crawl"}
}

func newClient(t *testing.T, c Config) *client {
	t.Helper()
	if c.Identity == (Identity{}) {
		c.Identity = identity()
	}
	g, err := NewGate(c)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, g}
}

func (b *client) url(s string) weburl.URL {
	b.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

var someAddr = netip.MustParseAddr("192.0.2.1")

func addrOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// admit asks for a Permit for the URL that is next for raw (its robots.txt, a redirect, or raw itself), at an address.
func (b *client) admit(raw string, addr netip.Addr) (Permit, error) {
	u := b.url(raw)
	return b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: addr})
}

// must is like admit, for some address. The test fails if the URL may not be requested now.
func (b *client) must(raw string) Permit {
	b.Helper()
	p, err := b.admit(raw, someAddr)
	if err != nil {
		b.Fatalf("%s: %v", raw, err)
	}
	return p
}

// mustAt is like must, at the given address.
func (b *client) mustAt(raw, addr string) Permit {
	b.Helper()
	p, err := b.admit(raw, netip.MustParseAddr(addr))
	if err != nil {
		b.Fatalf("%s: %v", raw, err)
	}
	return p
}

// send simulates an admitted request, which takes the given time and ends with r. It returns when the next one may begin.
func (b *client) send(p Permit, took time.Duration, r Reply) time.Time {
	b.Helper()
	g, err := p.Redeem()
	if err != nil {
		b.Fatal(err)
	}
	if err := g.Begin(); err != nil {
		b.Fatal(err)
	}
	r.Written = time.Now()
	time.Sleep(took)
	r.Ended = time.Now()
	return b.gate.Report(p, r)
}

// rules fetches the robots.txt of a host, which has this body.
func (b *client) rules(raw, body string) time.Time {
	b.Helper()
	p := b.must(raw)
	if p.Purpose() != Robots {
		b.Fatalf("%s: first request is for %s, want robots.txt (P1)", raw, p.URL())
	}
	return b.send(p, 0, Reply{Status: 200, Body: []byte(body)})
}

// answerAt fetches the robots.txt of a URL at an address, and reports the response r.
func (b *client) answerAt(raw, addr string, r Reply) {
	b.Helper()
	b.send(b.mustAt(raw, addr), 0, r)
}

// ready fetches the robots.txt of a host, which has this body, and waits until a page of the host may be requested.
func (b *client) ready(raw, body string) {
	b.Helper()
	time.Sleep(time.Until(b.rules(raw, body)))
}

// page requests raw at an address as soon as that is allowed, and reports the response r.
func (b *client) page(raw, addr string, r Reply) {
	b.Helper()
	b.send(b.patient(raw, addr), 0, r)
}

// patient waits until it gets a Permit for the URL that is next for raw.
func (b *client) patient(raw, addr string) Permit {
	b.Helper()
	for range 10_000 {
		p, err := b.admit(raw, netip.MustParseAddr(addr))
		var w *NotYet
		switch {
		case err == nil:
			return p
		case !errors.As(err, &w):
			b.Fatalf("%s: %v", raw, err)
		}
		time.Sleep(max(1, time.Until(w.Until)))
	}
	b.Fatalf("%s has to wait for ever", raw)
	return Permit{}
}

// wait expects Admit to return NotYet, and returns that error.
func (b *client) wait(raw string, addr netip.Addr) *NotYet {
	b.Helper()
	_, err := b.admit(raw, addr)
	var w *NotYet
	if !errors.As(err, &w) {
		b.Fatalf("%s: %v, want NotYet", raw, err)
	}
	return w
}

// denied expects Admit to return Denied, and returns that error.
func (b *client) denied(raw string) *Denied {
	b.Helper()
	_, err := b.admit(raw, someAddr)
	var d *Denied
	if !errors.As(err, &d) {
		b.Fatalf("%s: %v, want Denied", raw, err)
	}
	return d
}

// restored returns a Gate that continues from b's snapshot.
func (b *client) restored(c Config) *client {
	b.Helper()
	c.Snapshot = b.gate.Snapshot()
	return newClient(b.T, c)
}

// replayed returns a Gate restored from a ledger alone.
func replayed(t *testing.T, c Config, ledger string, body func(string) ([]byte, error)) *client {
	t.Helper()
	c.LedgerSize = int64(len(ledger))
	b := newClient(t, c)
	if err := b.gate.Replay(strings.NewReader(ledger), body); err != nil {
		t.Fatal(err)
	}
	return b
}

func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func redirect(to string) Reply {
	return Reply{Status: 302, Header: http.Header{"Location": {to}}}
}

// lines is a writer that counts its calls.
type lines struct {
	strings.Builder
	writes int
	err    error
}

func (l *lines) Write(b []byte) (int, error) {
	l.writes++
	if l.err != nil {
		return 0, l.err
	}
	return l.Builder.Write(b)
}

// faulty is a ledger writer that returns errors when the test says so.
type faulty struct {
	bytes.Buffer
	fail bool
}

func (f *faulty) Write(b []byte) (int, error) {
	if f.fail {
		return 0, errors.New("disk full")
	}
	return f.Buffer.Write(b)
}

// short is a writer that accepts only one byte of each write.
type short struct{ n int }

func (s *short) Write([]byte) (int, error) {
	s.n++
	return 1, io.ErrShortWrite
}

// slow is a ledger writer that takes as long as a slow disk.
type slow struct{}

func (slow) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"start"`) {
		time.Sleep(time.Second)
	}
	return len(b), nil
}

// closing is a ledger writer that accepts a limited number of lines.
type closing struct{ lines int }

func (c *closing) Write(b []byte) (int, error) {
	if c.lines--; c.lines < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func randomConfig(rng *rand.Rand) Config {
	c := Config{
		Delay: time.Duration(rng.IntN(3000)) * time.Millisecond, DelayFactor: float64(rng.IntN(3)), PerDomain: rng.IntN(2) == 0,
		MaxRetryAfter: Forever, MaxCrawlDelay: Forever, MaxFailures: Unlimited, MaxSilence: Forever, RobotsGiveUp: Forever,
	}
	if rng.IntN(3) == 0 {
		c.Rate = 0.2 + rng.Float64()*3
	}
	return c
}

func randomRequest(rng *rand.Rand) (string, netip.Addr) {
	h := rng.IntN(5)
	scheme := []string{"https", "https", "http"}[rng.IntN(3)]
	return fmt.Sprintf("%s://h%d.site%d.test:8080/%d", scheme, h, h/2, rng.IntN(3)), addrOf(h / 2)
}

func randomReply(rng *rand.Rand) Reply {
	header := map[string][]string{}
	if rng.IntN(4) == 0 {
		header["Cache-Control"] = []string{"max-age=" + []string{"0", "90", "7200"}[rng.IntN(3)]}
	}
	if rng.IntN(12) == 0 {
		header["Ratelimit"] = []string{fmt.Sprintf(`"a \"b, c";r=%d;t=%d, "d";r=0;t=3`, rng.IntN(2), rng.IntN(60))}
	}
	switch rng.IntN(9) {
	case 8:
		return Reply{Status: []int{401, 403}[rng.IntN(2)], Header: header, Challenged: rng.IntN(2) == 0}
	case 0:
		return Reply{Err: errors.New("reset")}
	case 1:
		header["Retry-After"] = []string{[]string{"0", "7", "200"}[rng.IntN(3)]}
		if rng.IntN(3) == 0 { // a date, by the clock of the server, which may be slow
			clock := time.Now().Add(-time.Duration(rng.IntN(2)*rng.IntN(3600)) * time.Second).UTC()
			header["Date"] = []string{clock.Format(http.TimeFormat)}
			header["Retry-After"] = []string{clock.Add(time.Duration(rng.IntN(200)) * time.Second).Format(http.TimeFormat)}
		}
		return Reply{Status: []int{429, 503}[rng.IntN(2)], Header: header, Challenged: rng.IntN(4) == 0}
	case 2:
		header["Location"] = []string{[]string{"/r", "https://h4.site2.test:8080/x", ""}[rng.IntN(3)]}
		if rng.IntN(3) == 0 {
			header["Retry-After"] = []string{[]string{"0", "7", "200"}[rng.IntN(3)]}
		}
		return Reply{Status: 302, Header: header}
	case 3:
		return Reply{Status: 404, Header: header}
	case 4:
		return Reply{Aborted: true, Err: errors.New("canceled")}
	}
	wall := ""
	if rng.IntN(6) == 0 {
		wall = "Anubis"
	}
	body := fmt.Sprintf("User-agent: *\nDisallow: /%d\nCrawl-delay: %d\n", rng.IntN(4), rng.IntN(12)) + strings.Repeat("#\n", rng.IntN(40))
	return Reply{Status: []int{200, 200, 202}[rng.IntN(3)], Header: header, Body: []byte(body), Wall: wall}
}

// set returns t as time.Now would return it after the wall clock was set forward or back by whole seconds: the monotonic reading stays the
// same. In a bubble with virtual time there is no monotonic clock, so tests with two clocks run outside of bubbles and pass times that they
// have made with set.
func set(t time.Time, d time.Duration) time.Time {
	const seconds = 30 // lowest bit of the seconds in time.Time.wall, if there is a monotonic reading
	(*struct{ wall uint64 })(unsafe.Pointer(&t)).wall += uint64(d/time.Second) << seconds
	return t
}

func TestSetMovesTheWallClockAlone(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		if then := set(now, d); then.Sub(now) != 0 || then.UnixNano()-now.UnixNano() != int64(d) {
			t.Errorf("set by %v: the monotonic clock is %v later, the wall clock %v", d, then.Sub(now), then.Round(0).Sub(now.Round(0)))
		}
	}
}
