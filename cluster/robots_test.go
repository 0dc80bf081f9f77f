package cluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// reader is a crawl that shares robots.txt files with other crawls through an engine.
type reader struct {
	*politeness.Gate
	t      *testing.T
	name   string
	ahead  time.Duration // how far the crawl's clock is ahead
	clocks *cluster.Clocks
	conn   *mem.Conn
	ledger lines
	files  map[string]string
}

func newReader(t *testing.T, server *mem.Server, name, account string, ahead time.Duration) *reader {
	t.Helper()
	x := &reader{t: t, name: name, ahead: ahead, conn: server.Connect(), files: map[string]string{}}
	x.conn.Skew(ahead)
	x.conn.Misbehave(mem.Faults{Latency: 2 * time.Millisecond, Seed: 1})
	x.open(x.conn, account)
	return x
}

func (x *reader) open(store cluster.ClockStore, account string) {
	x.clocks = cluster.NewClocks(x.t.Context(), store, "", 0)
	var err error
	x.Gate, err = politeness.NewGate(politeness.Config{
		Identity: politeness.Identity{Product: "testbot", Contact: simContact}, Shared: x.clocks, Name: x.name, Delay: time.Second,
		DelayFactor: politeness.NoFactor, Ledger: &x.ledger, Account: func(weburl.URL) string { return account },
		CopyRobots: func(_ weburl.URL, f politeness.RobotsFile) error { x.keep(f.Body); return nil },
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *reader) keep(body string) {
	sum := sha256.Sum256([]byte(body))
	x.files[hex.EncodeToString(sum[:])] = body
}

// visit requests a page and, if necessary, first its robots.txt, which has this body. It reports whether robots.txt was requested.
func (x *reader) visit(page, body string) (asked bool) {
	x.t.Helper()
	u, err := weburl.Parse(page)
	if err != nil {
		x.t.Fatal(err)
	}
	for range 1000 {
		p, err := x.Admit(politeness.Request{URL: u, Addr: netip.MustParseAddr("192.0.2.1")})
		var not *politeness.NotYet
		if errors.As(err, &not) {
			time.Sleep(max(time.Millisecond, time.Until(not.Until)))
			continue
		}
		if errors.As(err, new(*politeness.Denied)) {
			return asked
		}
		grant, err := p.Redeem()
		if err == nil {
			err = grant.Begin()
		}
		if err != nil {
			x.t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if p.Purpose() == politeness.Page {
			x.Report(p, ok)
			return asked
		}
		asked = true
		x.keep(body)
		x.Report(p, politeness.Reply{Status: 200, Body: []byte(body)})
	}
	x.t.Fatal("it has no turn")
	return asked
}

// part returns the crawl as input for the auditor, with the measured offset of its clock.
func (x *reader) part() audit.Part {
	text := x.ledger.b.String()
	c := audit.Config{UserAgent: "testbot (+" + simContact + ")", Product: "testbot", Contact: simContact, Delay: 1}
	for line := range strings.Lines(text) {
		var e ledger.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			x.t.Fatal(err)
		}
		c.Processes = []audit.Process{{Run: e.Run, Name: x.name, Ahead: x.ahead.Seconds() * 1.001, Error: 0.005}} // within the measured error
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	return audit.Part{Name: x.name, Open: open, Config: c, Body: func(sum string) ([]byte, error) {
		if b, ok := x.files[sum]; ok {
			return []byte(b), nil
		}
		return nil, errors.New("it was not kept")
	}}
}

// inOrder closes the crawls, and expects no violation in their ledgers, one by one and all together.
func inOrder(t *testing.T, all ...*reader) {
	t.Helper()
	var parts []audit.Part
	for _, x := range all {
		x.clocks.Close()
		p := x.part()
		rep, err := audit.Check(strings.NewReader(x.ledger.b.String()), p.Config, p.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rep.Violations {
			t.Errorf("%s: %v", x.name, v)
		}
		parts = append(parts, x.part())
	}
	rep, err := audit.CheckTogether(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rep.Violations {
		t.Error(v)
	}
	if t.Failed() {
		for _, x := range all {
			t.Logf("%s:\n%s", x.name, x.ledger.b.String())
		}
	}
}

const forbids = "User-agent: *\nDisallow: /no\n# \xff\x00"

// TestRobotsFileIsRequestedOnceOnAnEngine checks that crawls whose machines' clocks differ request a robots.txt once until it expires.
func TestRobotsFileIsRequestedOnceOnAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		a, b := newReader(t, server, "a", "", 3*time.Second), newReader(t, server.NewJob(), "b", "", -2*time.Second)
		if !a.visit("http://a.test/", forbids) || a.visit("http://a.test/2", "") || b.visit("http://a.test/3", "") {
			t.Error("robots.txt was not requested once")
		}
		if b.visit("http://a.test/no", "") || strings.Contains(b.ledger.b.String(), `"url":"http://a.test/no"`) {
			t.Error("what the file forbids was requested")
		}
		if got := b.ledger.b.String(); strings.Count(got, `{"event":"copied"`) != 1 || !strings.Contains(got, `"by":"a"`) {
			t.Errorf("the ledger does not name the crawl that requested it: %s", got)
		}
		server.LoseClocks()
		c := newReader(t, server, "c", "", 0)
		if c.visit("http://a.test/4", "") {
			t.Error("the file was lost with the clocks")
		}
		time.Sleep(24 * time.Hour)
		if !b.visit("http://a.test/5", "") || a.visit("http://a.test/6", "") {
			t.Error("an expired file was not requested once")
		}
		inOrder(t, a, b, c)
	})
}

// TestRobotsFilesOfAccountsAreApart: each account requests robots.txt itself, and the stored data does not contain the account's digest.
func TestRobotsFilesOfAccountsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		digest := strings.Repeat("ab", 32)
		a, b := newReader(t, server, "a", "", 0), newReader(t, server, "b", digest, 0)
		c := newReader(t, server, "c", digest, 0)
		stored := &spy{ClockStore: b.conn}
		b.open(stored, digest)
		if !a.visit("http://a.test/", forbids) || !b.visit("http://a.test/2", "") || c.visit("http://a.test/3", "") {
			t.Error("each account requests robots.txt once")
		}
		if stored.text == "" || strings.Contains(stored.text, digest) {
			t.Errorf("stored: %s", stored.text)
		}
		inOrder(t, a, b, c)
	})
}

// spy is a slow store that records the stored robots.txt entries.
type spy struct {
	cluster.ClockStore
	takes time.Duration
	text  string
}

func (s *spy) StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) error {
	time.Sleep(s.takes)
	s.text += name + string(file)
	return s.ClockStore.StoreRobots(ctx, name, file, life)
}

// TestRobotsFileIsStoredBeforeItsTurnEnds: a turn in which robots.txt was requested ends only when the file is stored, so that the crawl
// whose turn is next does not request the file again.
func TestRobotsFileIsStoredBeforeItsTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		a, b := newReader(t, server, "a", "", 0), newReader(t, server, "b", "", 0)
		a.open(&spy{ClockStore: a.conn, takes: 1500 * time.Millisecond}, "")
		ended := make(chan bool)
		go func() {
			time.Sleep(100 * time.Millisecond)
			ended <- b.visit("http://a.test/2", "")
		}()
		if asked := a.visit("http://a.test/", forbids); !asked || <-ended {
			t.Error("the file was requested again while it was being stored")
		}
		inOrder(t, a, b)
	})
}

// TestBrokenStoreOfRobotsFilesIsHarmless checks that robots.txt is requested from the host if its stored copy is foreign or garbage, or if
// the engine can neither store nor read copies.
func TestBrokenStoreOfRobotsFilesIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		var all []*reader
		for i, text := range []string{"", "\x00", "{}", `{"Format":1}`, strings.Repeat("[", 10_000)} {
			x := newReader(t, server, fmt.Sprint("crawl", i), "", 0)
			x.open(broken{x.conn, text}, "")
			if !x.visit(fmt.Sprintf("http://a.test/%d", i), forbids) {
				t.Errorf("%q is used", text)
			}
			all = append(all, x)
		}
		x := newReader(t, server, "long", "", 0)
		if !x.visit("http://long.test/", strings.Repeat("#", 900<<10)) {
			t.Error("a file was not requested")
		}
		if y := newReader(t, server, "other", "", 0); !y.visit("http://long.test/2", "") {
			t.Error("a file is shared that is too long")
		}
		inOrder(t, all...)
	})
}

type broken struct {
	cluster.ClockStore
	text string
}

func (b broken) LoadRobots(context.Context, string) ([]byte, error) {
	if b.text == "" {
		return nil, errors.New("away")
	}
	return []byte(b.text), nil
}

func (broken) StoreRobots(context.Context, string, []byte, time.Duration) error {
	return errors.New("full")
}
