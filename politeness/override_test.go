package politeness

import (
	"strings"
	"testing"
	"time"
)

func TestOverrideReplacesRobots(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var ledger strings.Builder
		b := newClient(t, Config{Ledger: &ledger, Overrides: []Override{
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
		p = b.mustAt("https://b.test/x", "192.0.2.2")
		if p.Purpose() != Page {
			t.Error("skipped")
		}
		b.send(p, 0, Reply{Status: 200})
		time.Sleep(time.Hour)
		if p := b.mustAt("https://b.test/x", "192.0.2.3"); p.Purpose() != Robots {
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

func TestAnOverridesCrawlDelayThatIsTooLongEndsTheHostAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{Overrides: []Override{{Origin: "https://a.test", Body: "User-agent: *\nCrawl-delay: 3600", Reason: "x"}}})
		if d := b.denied("https://a.test/"); d.Reason != ReasonCrawlDelay {
			t.Error(d)
		}
	})
}
