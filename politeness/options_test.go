package politeness

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

func TestOverrideReplacesRobots(t *testing.T) {
	in(t, func(t *testing.T) {
		var ledger strings.Builder
		b := open(t, Config{Ledger: &ledger, Overrides: []Override{
			{Origin: "https://a.test", Body: "User-agent: *\nDisallow: /no\nCrawl-delay: 4\n", Reason: "by mail of the owner"},
			{Origin: "https://b.test", Skip: true, Reason: "legal deposit", Until: time.Now().Add(time.Hour)},
		}})
		p := b.must("https://a.test/yes")
		if p.Purpose() != Page {
			t.Fatal("a supplied body needs no request")
		}
		if got := time.Until(b.send(p, 0, Reply{Status: 200})); got != 4*time.Second {
			t.Errorf("its Crawl-delay counts: %v", got)
		}
		if !strings.Contains(ledger.String(), `"override":"by mail of the owner"`) {
			t.Errorf("ledger: %s", ledger.String())
		}
		if d := b.denied("https://a.test/no"); !strings.Contains(d.Detail, "by mail of the owner") {
			t.Errorf("got %v", d)
		}
		p = b.must2("https://b.test/x", "192.0.2.2")
		if p.Purpose() != Page {
			t.Error("skipped")
		}
		b.send(p, 0, Reply{Status: 200})
		time.Sleep(time.Hour)
		if p := b.must2("https://b.test/x", "192.0.2.3"); p.Purpose() != Robots {
			t.Error("an override ends")
		}
	})
}

func TestOverridesAreValidated(t *testing.T) {
	for _, c := range []struct {
		o    Override
		want string
	}{
		{Override{Origin: "a.test", Reason: "x"}, "want an origin"},
		{Override{Origin: "https://a.test/path", Reason: "x"}, "want an origin"},
		{Override{Origin: "https://a.test"}, "needs a reason"},
		{Override{Origin: "https://a.test", Reason: "x", Skip: true}, "needs an end"},
	} {
		_, err := NewGate(Config{Identity: identity(), Overrides: []Override{c.o}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestHours(t *testing.T) {
	in(t, func(t *testing.T) { // a bubble begins at midnight UTC
		b := open(t, Config{Hours: Hours{{From: 2 * time.Hour, To: 3 * time.Hour}, {From: 22 * time.Hour, To: 23 * time.Hour}}})
		if w := b.wait("https://a.test/", someAddr); time.Until(w.Until) != 2*time.Hour || w.Clauses[0].Name != ledger.ClauseQuiet {
			t.Fatalf("got %v", w)
		}
		time.Sleep(2 * time.Hour)
		b.rules("https://a.test/", "User-agent: *\nDisallow:\nVisit-time: 0600-0700\n")
		time.Sleep(time.Second)
		b.must("https://a.test/")
		time.Sleep(90 * time.Minute)
		if w := b.wait("https://b.test/", someAddr); w.Until.UTC().Hour() != 22 {
			t.Errorf("got %v", w)
		}
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{VisitTime: true})
		b.rules("https://a.test/", "User-agent: *\nDisallow:\nVisit-time: 0600-0700\n")
		if w := b.wait("https://a.test/", someAddr); w.Until.UTC().Hour() != 6 {
			t.Errorf("got %v", w)
		}
	})
}

func TestOptOut(t *testing.T) {
	in(t, func(t *testing.T) {
		list := map[string]bool{}
		b := open(t, Config{OptOut: func(h string) bool { return list[h] }})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		list["a.test"] = true
		if d := b.denied("https://a.test/"); d.Reason != ReasonOptOut || d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
}

func TestDialectAndUsage(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Dialect: robots.Original1994})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /\nAllow: /x\n")
		b.denied("https://a.test/x")
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{RefuseUsage: []string{robots.UseTrainAI}})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /z\nContent-Usage: /x train-ai=n\n")
		if d := b.denied("https://a.test/x"); d.Reason != ReasonUsage {
			t.Errorf("got %v", d)
		}
		time.Sleep(time.Second)
		b.must("https://a.test/y")
	})
}

// TestAPermitEndsWithTheHours: what is admitted in the last second must not be sent in the next hour.
func TestAPermitEndsWithTheHours(t *testing.T) {
	for _, c := range []struct {
		hours Hours
		at    time.Duration // of the day
		left  time.Duration
	}{
		{Hours{{From: 2 * time.Hour, To: 3 * time.Hour}}, 3*time.Hour + 50*time.Second, 10*time.Second - 1},
		{Hours{{From: 22 * time.Hour, To: time.Hour}}, time.Hour + 45*time.Second, 15*time.Second - 1},
		{Hours{{From: 22 * time.Hour, To: time.Hour}}, 23*time.Hour + 59*time.Minute + 59*time.Second, DefaultPermitTTL},
		{Hours{{From: 0, To: time.Hour}, {From: time.Hour, To: 2 * time.Hour}}, time.Hour + 59*time.Second, DefaultPermitTTL},
		{Hours{{}}, 5 * time.Hour, DefaultPermitTTL},
		{nil, 5 * time.Hour, DefaultPermitTTL},
	} {
		in(t, func(t *testing.T) {
			time.Sleep(c.at)
			p := open(t, Config{Hours: c.hours}).must("https://a.test/")
			if left := time.Until(p.Expires()); left != c.left {
				t.Errorf("%v at %v: expires in %v, want %v", c.hours, c.at, left, c.left)
			}
		})
	}
}

func TestAPermitEndsWithTheSitesHours(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{VisitTime: true})
		b.ready("https://a.test/", "User-agent: *\nVisit-time: 0000-0005\n")
		time.Sleep(5*time.Minute + 50*time.Second)
		if left := time.Until(b.must("https://a.test/").Expires()); left >= 10*time.Second {
			t.Errorf("expires in %v", left)
		}
	})
}
