package politeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/weburl"
)

// sharer is a crawl that shares robots.txt files with other crawls, and keeps its ledger and the received files.
type sharer struct {
	*client
	name  string
	lines bytes.Buffer
	files map[string]string
}

func newSharer(t *testing.T, s Sharing, name string, c Config) *sharer {
	t.Helper()
	x := &sharer{name: name, files: map[string]string{}}
	c.Shared, c.Name, c.Ledger = s, name, &x.lines
	c.CopyRobots = func(_ weburl.URL, f RobotsFile) error { x.keep(f.Body); return nil }
	x.client = newClient(t, c)
	return x
}

func (x *sharer) keep(body string) {
	sum := sha256.Sum256([]byte(body))
	x.files[hex.EncodeToString(sum[:])] = body
}

func (x *sharer) body(sum string) ([]byte, error) {
	b, ok := x.files[sum]
	if !ok {
		return nil, errors.New("it was not kept")
	}
	return []byte(b), nil
}

// answers requests the robots.txt for raw, and reports the response r.
func (x *sharer) answers(raw string, r Reply) time.Time {
	x.Helper()
	x.keep(string(r.Body))
	p := x.patient(raw, someAddr.String())
	if p.Purpose() != Robots {
		x.Fatalf("%s requests %s", x.name, p.URL())
	}
	return x.send(p, 0, r)
}

// uses fails the test unless the Gate now uses, for raw, the robots.txt that another crawl has requested.
func (x *sharer) uses(raw string) {
	x.Helper()
	if w := x.wait(raw, someAddr); !w.Copied || w.Until.After(time.Now()) {
		x.Fatalf("%s: %+v", x.name, w)
	}
}

func (x *sharer) part() audit.Part {
	return audit.Part{Name: x.name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.lines.Bytes())), nil }, Config: x.config(), Body: x.body}
}

func (x *sharer) config() audit.Config {
	c := x.gate.cfg
	return audit.Config{UserAgent: c.Identity.UserAgent(), Product: c.Identity.Product, Contact: c.Identity.Contact, Delay: c.Delay.Seconds(), ForbidDenies: c.ForbiddenDenies}
}

// found returns the violations that the auditor finds, by invariant, in each ledger alone and in all ledgers together.
func found(t *testing.T, all ...*sharer) (alone, together []string) {
	t.Helper()
	var parts []audit.Part
	for _, x := range all {
		rep, err := audit.Check(bytes.NewReader(x.lines.Bytes()), x.config(), x.body)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rep.Violations {
			alone = append(alone, x.name+" "+v.String())
		}
		parts = append(parts, x.part())
	}
	rep, err := audit.CheckTogether(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rep.Violations {
		together = append(together, v.String())
	}
	return alone, together
}

func mustBeInOrder(t *testing.T, all ...*sharer) {
	t.Helper()
	if alone, together := found(t, all...); len(alone)+len(together) > 0 {
		t.Errorf("alone: %v, together: %v\n%s", alone, together, ledgers(all))
	}
}

func ledgers(all []*sharer) (text string) {
	for _, x := range all {
		text += x.name + ":\n" + x.lines.String()
	}
	return text
}

// robotsRequests counts the requests for a robots.txt.
func robotsRequests(all ...*sharer) (n int) {
	for _, x := range all {
		n += strings.Count(x.lines.String(), `"event":"start"`) - strings.Count(x.lines.String(), `"purpose":"page"`)
	}
	return n
}

const groups = "User-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nCrawl-delay: 3\n"

// TestDelayOfRedirectTargetIsCopied checks that a crawl keeps the Crawl-delay of a host that it knows only as the target of redirected
// robots.txt files, if another crawl has fetched the host's own file.
func TestDelayOfRedirectTargetIsCopied(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "news", Config{}), newSharer(t, hosts, "archive", Config{})
		a.answers("http://h.test/", Reply{Status: 200, Body: []byte(groups)})
		var times []time.Time
		for _, origin := range []string{"http://one.test/", "http://two.test/"} {
			b.answers(origin, redirect("http://h.test/rules.txt"))
			b.answers(origin, Reply{Status: 404})
			times = append(times, time.Now())
		}
		if gap := times[1].Sub(times[0]); gap < 3*time.Second {
			t.Errorf("two requests to a host with a Crawl-delay of 3 s within %v", gap)
		}
		if n := robotsRequests(a, b); n != 5 {
			t.Errorf("%d requests for robots.txt, want 5", n)
		}
		mustBeInOrder(t, a, b)
	})
}

// TestRobotsFileOfAnotherCrawlIsUsed checks that each crawl applies the rules for its own user agent, and that the auditor finds no
// violation in the ledgers, alone or together.
func TestRobotsFileOfAnotherCrawlIsUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "news", Config{}), newSharer(t, hosts, "archive", Config{})
		c := newSharer(t, hosts, "other", Config{Identity: Identity{Product: "otherbot", Contact: identity().Contact}})
		a.answers("http://h.test/", Reply{Status: 200, Body: []byte(groups)})
		b.uses("http://h.test/")
		c.uses("http://h.test/")
		a.page("http://h.test/1", someAddr.String(), Reply{Status: 200})
		b.page("http://h.test/2", someAddr.String(), Reply{Status: 200})
		b.denied("http://h.test/private")
		c.denied("http://h.test/")
		if n := robotsRequests(a, b, c); n != 1 {
			t.Errorf("%d requests for robots.txt", n)
		}
		info := b.gate.Origin(b.url("http://h.test/"))
		if d := b.gate.Host("h.test:80").Delay; d != 3*time.Second || info.Source.Status != 200 || !info.Known {
			t.Errorf("delay %v, %+v", d, info)
		}
		mustBeInOrder(t, a, b, c)
		if want := fmt.Sprintf(`"by":"news","by_run":%q`, a.gate.journal.run); strings.Count(b.lines.String(), want) != 1 {
			t.Errorf("%s lacks %s", b.lines.String(), want)
		}
		again := replayed(t, Config{}, b.lines.String(), b.body).gate.Origin(b.url("http://h.test/"))
		if again.Source.SHA256 != info.Source.SHA256 || !again.Expires.Equal(info.Expires) || !again.Known || again.Group == nil {
			t.Errorf("replayed: %+v, was %+v", again, info)
		}
		later := newClient(t, Config{Snapshot: b.gate.Snapshot()}).gate.Origin(b.url("http://h.test/"))
		if later.Source.SHA256 != info.Source.SHA256 || !later.Expires.Equal(info.Expires) || later.Group == nil {
			t.Errorf("from a snapshot: %+v, was %+v", later, info)
		}
	})
}

// TestEveryOutcomeOfARobotsFileIsShared: the outcome of a request for robots.txt is shared; each crawl decides what it follows from it.
func TestEveryOutcomeOfARobotsFileIsShared(t *testing.T) {
	for name, tc := range map[string]struct {
		replies []Reply
		b       Config
		denies  bool // b must not request the page
	}{
		"missing":            {replies: []Reply{{Status: 404}}},
		"forbidden":          {replies: []Reply{{Status: 403}}},
		"forbidden, denies":  {replies: []Reply{{Status: 403}}, b: Config{ForbiddenDenies: true}, denies: true},
		"redirected":         {replies: []Reply{redirect("http://g.test/r"), {Status: 200, Body: []byte("User-agent: *\nDisallow: /")}}, denies: true},
		"redirected nowhere": {replies: []Reply{redirect("")}},
		"redirected too often": {replies: []Reply{
			redirect("/1"), redirect("/2"), redirect("/3"), redirect("/4"), redirect("/5"), redirect("/6"),
		}},
		"empty": {replies: []Reply{{Status: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				hosts := NewHosts(HostsLimits{})
				a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", tc.b)
				for _, r := range tc.replies {
					a.answers("http://h.test/", r)
				}
				b.uses("http://h.test/")
				if tc.denies {
					b.denied("http://h.test/")
				} else {
					b.page("http://h.test/", someAddr.String(), Reply{Status: 200})
				}
				mustBeInOrder(t, a, b)
				info := b.gate.Origin(b.url("http://h.test/"))
				again := replayed(t, Config{ForbiddenDenies: tc.b.ForbiddenDenies}, b.lines.String(), b.body).gate.Origin(b.url("http://h.test/"))
				if !again.Known || again.Source.Status != info.Source.Status || (again.Group == nil) != (info.Group == nil) || !slices.Equal(again.Source.Redirects, info.Source.Redirects) {
					t.Errorf("replayed: %+v, was %+v", again, info)
				}
			})
		})
	}
}

// TestRobotsFileIsRequestedAgainWhenItHasExpired checks that only the first crawl that needs an expired file requests it.
func TestRobotsFileIsRequestedAgainWhenItHasExpired(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", Config{})
		fresh := http.Header{"Cache-Control": {"max-age=3600"}}
		a.answers("http://h.test/", Reply{Status: 200, Header: fresh})
		b.uses("http://h.test/")
		time.Sleep(time.Hour + time.Second)
		b.answers("http://h.test/", Reply{Status: 200, Header: fresh, Body: []byte("User-agent: *\nDisallow: /x")})
		a.uses("http://h.test/")
		a.denied("http://h.test/x")
		if n := robotsRequests(a, b); n != 2 {
			t.Errorf("%d requests for robots.txt", n)
		}
		mustBeInOrder(t, a, b)
	})
}

// TestFailureOfARobotsFileIsShared checks that failures and the pauses after them are shared: all crawls together try again as often as one
// crawl would.
func TestFailureOfARobotsFileIsShared(t *testing.T) {
	for name, r := range map[string]Reply{"503": {Status: 503}, "error": {Err: errFailed}, "wall": {Status: 200, Wall: "Anubis"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				hosts := NewHosts(HostsLimits{})
				a, b := newSharer(t, hosts, "a", Config{RobotsGiveUp: Forever}), newSharer(t, hosts, "b", Config{RobotsGiveUp: Forever})
				all, tries := []*sharer{a, b}, 0
				begun := time.Now()
				for time.Since(begun) < time.Hour {
					for _, x := range all {
						p, err := x.admit("http://h.test/", someAddr)
						if err == nil {
							x.send(p, 0, r)
							tries++
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
				if tries != 9 { // pauses of 1 s, 5 s, 30 s, 1 min, 2 min, …
					t.Errorf("%d attempts in an hour", tries)
				}
				mustBeInOrder(t, a, b)
				c := newSharer(t, hosts, "c", Config{})
				c.uses("http://h.test/")
				if until := c.wait("http://h.test/", someAddr).Until; time.Until(until) < time.Minute {
					t.Errorf("a third crawl waits until %v", until)
				}
				if w := replayed(t, Config{}, c.lines.String(), nil).wait("http://h.test/", someAddr); time.Until(w.Until) < time.Minute {
					t.Errorf("replayed: it waits until %v", w.Until)
				}
			})
		})
	}
}

// TestRobotsFileIsNotSharedWithAnotherAccount: a response may depend on the account, so it is not shared with crawls with another account.
// A robots.txt of a loopback address is not shared either, because another program may soon use the address.
func TestRobotsFileIsNotSharedWithAnotherAccount(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", Config{Account: account("b")})
		a.answers("http://h.test/", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /")})
		time.Sleep(time.Second)
		b.answers("http://h.test/", Reply{Status: 200})
		time.Sleep(time.Second)
		newSharer(t, hosts, "c", Config{Account: account("b")}).uses("http://h.test/")
		mustBeInOrder(t, a, b)
		for _, x := range []*sharer{a, newSharer(t, hosts, "d", Config{})} {
			p := x.patient("http://127.0.0.1/", "127.0.0.1")
			if x.send(p, 0, Reply{Status: 404}); p.Purpose() != Robots {
				t.Errorf("%s requests %s", x.name, p.URL())
			}
		}
	})
}

// TestRobotsFileThatIsBeingRequestedIsWaitedFor: if another crawl is requesting a robots.txt, a crawl that needs the file waits, and then
// uses the shared file.
func TestRobotsFileThatIsBeingRequestedIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", Config{})
		p := a.must("http://h.test/")
		if w := b.wait("http://h.test/", someAddr); w.Copied {
			t.Errorf("%+v", w)
		}
		a.send(p, 2*time.Second, Reply{Status: 404})
		b.uses("http://h.test/")
		if n := robotsRequests(a, b); n != 1 {
			t.Errorf("%d requests for robots.txt", n)
		}
		mustBeInOrder(t, a, b)
	})
}

// forgetful is a Sharing that shares turns but no files. ever is one that never forgets a file.
type (
	forgetful struct{ *Hosts }
	ever      struct {
		*Hosts
		file RobotsFile
	}
)

func (forgetful) Robots(RobotsKey) (f RobotsFile, ok bool) { return f, false }

func (e *ever) KeepRobots(_ RobotsKey, f RobotsFile)     { e.file = f }
func (e *ever) Robots(RobotsKey) (f RobotsFile, ok bool) { return e.file, e.file.Status > 0 }

// TestRobotsFileThatIsRequestedTwiceIsFound checks that the joint audit finds a violation if crawls could share their files but do not.
func TestRobotsFileThatIsRequestedTwiceIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := forgetful{NewHosts(HostsLimits{})}
		a, b := newSharer(t, s, "a", Config{}), newSharer(t, s, "b", Config{})
		a.answers("http://h.test/", Reply{Status: 404})
		b.answers("http://h.test/", Reply{Status: 404})
		a.page("http://h.test/", someAddr.String(), Reply{Status: 200})
		alone, together := found(t, a, b)
		if len(alone) > 0 || len(together) != 1 || !strings.HasPrefix(together[0], "P1 h.test:80: http://h.test/robots.txt was requested again") {
			t.Errorf("alone: %v, together: %v", alone, together)
		}
	})
}

// TestStaleRobotsFileIsNotUsed checks that an expired file is ignored even if it is still shared.
func TestStaleRobotsFileIsNotUsed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &ever{Hosts: NewHosts(HostsLimits{})}
		a, b := newSharer(t, s, "a", Config{}), newSharer(t, s, "b", Config{})
		a.answers("http://h.test/", Reply{Status: 404})
		time.Sleep(24*time.Hour + time.Second)
		b.answers("http://h.test/", Reply{Status: 404})
		mustBeInOrder(t, a, b)
		s.file.Fetched, s.file.Until = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour) // as if the clock had been set back
		time.Sleep(time.Second)
		newSharer(t, s, "c", Config{}).answers("http://h.test/", Reply{Status: 404})
	})
}

// TestWrongCopyOfARobotsFileIsFound checks that the audit notices a copy that its source never received, and a copy that had expired.
func TestWrongCopyOfARobotsFileIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", Config{})
		a.answers("http://h.test/", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /")})
		b.uses("http://h.test/")
		line := b.lines.String()
		b.keep("")
		sum := func(s string) string { x := sha256.Sum256([]byte(s)); return hex.EncodeToString(x[:]) }
		for change, want := range map[[2]string]string{
			{sum("User-agent: *\nDisallow: /"), sum("")}:       "its ledger has no such answer",
			{`"status":200`, `"status":404`}:                   "its ledger has no such answer",
			{`"expires":"2000-01-02`, `"expires":"2000-01-03`}: "its ledger has no such answer",
		} {
			b.lines.Reset()
			b.lines.WriteString(strings.Replace(line, change[0], change[1], 1))
			if _, together := found(t, a, b); len(together) != 1 || !strings.Contains(together[0], want) {
				t.Errorf("%v: %v", change, together)
			}
		}
		b.lines.Reset()
		b.lines.WriteString(strings.Replace(line, `"reported":"2000-01-01`, `"reported":"2000-01-02`, 1))
		b.lines.WriteString(strings.Replace(line, `"reported":"2000-01-01T00:00:00.000000Z"`, `"reported":"2000-01-03T00:00:00.000000Z"`, 1))
		if alone, _ := found(t, a, b); len(alone) != 1 || !strings.Contains(alone[0], "P1") {
			t.Errorf("stale: %v", alone)
		}
	})
}

// TestSharedRobotsFilesAreBounded checks that the least recently used file is dropped and requested again.
func TestSharedRobotsFilesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := NewHosts(HostsLimits{RobotsBytes: 4 << 10})
		key := func(i int) RobotsKey { return RobotsKey{Origin: fmt.Sprint("http://h", i)} }
		for i := range 20 {
			s.KeepRobots(key(i), RobotsFile{Status: 200, Until: time.Now().Add(time.Hour), Body: strings.Repeat("x", 500)})
			if _, ok := s.Robots(key(0)); !ok {
				t.Fatal("the file that is used all the time was forgotten")
			}
		}
		n := 0
		for i := range 20 {
			if _, ok := s.Robots(key(i)); ok {
				n++
			}
		}
		if n != 4 || s.files.size > 4<<10 {
			t.Errorf("%d files, %d bytes", n, s.files.size)
		}
		time.Sleep(time.Hour)
		for i := range 20 {
			if _, ok := s.Robots(key(i)); ok {
				t.Errorf("%v has expired", key(i))
			}
		}
		if s.files.size != 0 {
			t.Errorf("%d bytes", s.files.size)
		}
	})
}

// TestRobotsFileThatWasDroppedIsRequestedAgain also checks that the ledger records the reason, so that the joint audit can tell a dropped
// file from a file that is not shared.
func TestRobotsFileThatWasDroppedIsRequestedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{RobotsBytes: 2 << 10})
		a, b := newSharer(t, hosts, "a", Config{}), newSharer(t, hosts, "b", Config{})
		a.answers("http://h.test/", Reply{Status: 200, Body: []byte(groups)})
		a.answers("http://i.test/", Reply{Status: 200, Body: []byte(strings.Repeat("#", 1500))})
		b.answers("http://h.test/", Reply{Status: 200, Body: []byte(groups)})
		a.page("http://i.test/", someAddr.String(), Reply{Status: 200})
		mustBeInOrder(t, a, b)
		if strings.Count(b.lines.String(), `"dropped":"`) != 1 || strings.Contains(a.lines.String(), `"dropped":"`) {
			t.Errorf("%s", b.lines.String())
		}
		first := b.lines.String()
		b.lines.Reset()
		b.lines.WriteString(strings.Replace(first, `"dropped":"2000`, `"dropped":"1999`, 1))
		if _, together := found(t, a, b); len(together) != 1 {
			t.Errorf("a file that was not dropped was requested again: %v", together)
		}
	})
}
