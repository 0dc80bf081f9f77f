package robots

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCrawlDelayValues checks that a Crawl-delay is a decimal number of seconds and nothing else.
func TestCrawlDelayValues(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"1": time.Second, "0": 0, "2.5": 2500 * time.Millisecond, ".5": time.Second / 2, "10.": 10 * time.Second,
		"+3": 3 * time.Second, "2.3": 2300 * time.Millisecond, "0.0000000001": 0, "007": 7 * time.Second,
		"9223372036": 9223372036 * time.Second, "9223372037": math.MaxInt64, "9223372036.854775808": math.MaxInt64,
		"99999999999999999999": math.MaxInt64, strings.Repeat("9", 400): math.MaxInt64,
	} {
		d, ok := Parse([]byte("User-agent: *\nCrawl-delay: " + value)).For("x").CrawlDelay()
		if !ok || d != want {
			t.Errorf("%s: %v, %v", value, d, ok)
		}
	}
	for _, value := range []string{"", "-1", "-0", "nan", "NaN", "inf", "+Inf", "5s", "1e3", "0x10", "1_0", "1,5", "1 2", "++1", "1+", ".", "one"} {
		r := Parse([]byte("User-agent: *\nCrawl-delay: " + value))
		if d, ok := r.For("x").CrawlDelay(); ok || d != 0 {
			t.Errorf("%s: %v", value, d)
		}
		if !slices.ContainsFunc(r.Lints(), func(l Lint) bool { return l.Code == lintBadNumber && l.Line == 2 }) {
			t.Errorf("%s: no lint in %v", value, r.Lints())
		}
	}
}

// TestAPauseBelongsToTheRobotsNamedBeforeIt checks that delays apply only to the names before them, although rules
// apply to all names of a group (RFC 9309 section 2.2.1).
func TestAPauseBelongsToTheRobotsNamedBeforeIt(t *testing.T) {
	r := Parse([]byte("User-agent: slowbot\nCrawl-delay: 600\nRequest-rate: 1/500\nVisit-time: 0100-0200\n" +
		"User-agent: ours\nUser-agent: *\nCrawl-delay: 2\nUser-agent: last\nDisallow: /x\n"))
	for agent, want := range map[string]time.Duration{"slowbot": 600 * time.Second, "ours": 2 * time.Second, "other": 2 * time.Second, "last": 0} {
		g := r.For(agent)
		d, _ := g.CrawlDelay()
		_, rate := g.RequestRate()
		if slow := agent == "slowbot"; d != want || rate != slow || (len(g.VisitTimes()) > 0) != slow {
			t.Errorf("%s: %v, a rate %v, hours %v", agent, d, rate, g.VisitTimes())
		}
		if g.Test("/x").Allowed {
			t.Errorf("%s: the rule is not shared", agent)
		}
	}
}

// TestCrawlDelayBelongsToItsGroup checks that the larger of two delays applies, and that a named group does not inherit
// the delay of group "*".
func TestCrawlDelayBelongsToItsGroup(t *testing.T) {
	r := Parse([]byte("Crawl-delay: 99\nUser-agent: *\nCrawl-delay: 10\nDisallow: /a\n\nUser-agent: named\nDisallow: /b\n\n" +
		"User-agent: two\nCrawl-delay: 3\nUser-agent: three\nCrawl-delay: 1\nDisallow: /c\nUser-agent: two\nCrawl-delay: 2\n"))
	for agent, want := range map[string]time.Duration{"other": 10 * time.Second, "named": -1, "two": 3 * time.Second, "three": time.Second} {
		d, ok := r.For(agent).CrawlDelay()
		if !ok {
			d = -1
		}
		if d != want {
			t.Errorf("%s: %v", agent, d)
		}
	}
	// Strictest waits as long as any dialect requires: here only the dialect of 1996 applies the delay to b.
	if d, _ := Parse([]byte("User-agent: a b\nCrawl-delay: 4\n"), WithDialect(Strictest)).For("b").CrawlDelay(); d != 4*time.Second {
		t.Error(d)
	}
	if d, ok := Parse([]byte("User-agent: a b\nCrawl-delay: 4\n")).For("b").CrawlDelay(); ok {
		t.Error(d)
	}
}

// TestRequestRate checks that n/m means m/n seconds per request.
func TestRequestRate(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"1/5": 5 * time.Second, "1/10s": 10 * time.Second, "2/1m": 30 * time.Second, "100/24h": 864 * time.Second,
		"3/10": 3333333334, "1/0": 0, "1/10s 1800-1900": 10 * time.Second, "1/99999999999h": math.MaxInt64,
		"1/9999999999999999999999999999": math.MaxInt64,
	} {
		d, ok := Parse([]byte("User-agent: *\nRequest-rate: " + value)).For("x").RequestRate()
		if !ok || d != want {
			t.Errorf("%s: %v, %v", value, d, ok)
		}
	}
	for _, value := range []string{"", "5", "0/5", "-1/5", "1/-5", "a/b", "1/5x", "1/5 18-19", "1/", "1/s", "99999999999999999999/1", "1 / 5"} {
		if d, ok := Parse([]byte("User-agent: *\nRequest-rate: " + value)).For("x").RequestRate(); ok {
			t.Errorf("%s: %v", value, d)
		}
	}
	g := Parse([]byte("User-agent: *\nRequest-rate: 1/20s 0800-1200\nRequest-rate: 1/5\n")).For("x")
	if d, _ := g.RequestRate(); d != 20*time.Second {
		t.Errorf("the longest counts: %v", d)
	}
	want := []Rate{{1, 20 * time.Second, Window{8 * time.Hour, 12 * time.Hour}}, {1, 5 * time.Second, Window{}}}
	if got := g.RequestRates(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestVisitTime reads hours of the day in UTC, which may cross midnight.
func TestVisitTime(t *testing.T) {
	g := Parse([]byte("User-agent: *\nVisit-time: 0600-0845\nVisit-time: 22:30 - 01:15\nVisit-time: 2500-2600\nVisit-time: 0660-0700\nVisit-time: always\nVisit-time: 06-07\n")).For("x")
	want := []Window{{6 * time.Hour, 8*time.Hour + 45*time.Minute}, {22*time.Hour + 30*time.Minute, time.Hour + 15*time.Minute}}
	if got := g.VisitTimes(); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	clock := func(h, m int) time.Time { return time.Date(2026, 1, 5, h, m, 59, 0, time.UTC) }
	for _, c := range []struct {
		w    Window
		h, m int
		in   bool
	}{
		{want[0], 5, 59, false}, {want[0], 6, 0, true}, {want[0], 8, 45, true}, {want[0], 8, 46, false},
		{want[1], 22, 29, false}, {want[1], 22, 30, true}, {want[1], 0, 0, true}, {want[1], 1, 15, true}, {want[1], 1, 16, false},
		{Window{}, 3, 0, true},
	} {
		if got := c.w.Contains(clock(c.h, c.m)); got != c.in {
			t.Errorf("%v at %02d:%02d: %v", c.w, c.h, c.m, got)
		}
	}
	if !want[0].Contains(clock(7, 0).In(time.FixedZone("", 7200))) {
		t.Error("the zone of the time counts")
	}
}

// TestFileWideLines checks that Sitemap, Host and Clean-param lines belong to no group and do not end one.
func TestFileWideLines(t *testing.T) {
	r := Parse([]byte("Sitemap: https://h.example/a.xml\nUser-agent: a\nSitemap: /b.xml\nSITEMAP:https://h.example/c.xml?x=y:z # last\nSitemap:\nHost:\nHost: www.h.example\nHost: other\n" +
		"Clean-param: sid&ref /shop/*.php\nClean-param: utm\nClean-param: &&a /x\nClean-param:\n"))
	if got := r.Sitemaps(); !slices.Equal(got, []string{"https://h.example/a.xml", "/b.xml", "https://h.example/c.xml?x=y:z"}) {
		t.Errorf("%q", got)
	}
	if got := r.Host(); got != "www.h.example" {
		t.Error(got)
	}
	got := r.CleanParams()
	if len(got) != 3 || !slices.Equal(got[0].Params, []string{"sid", "ref"}) || got[0].Path != "/shop/*.php" || got[0].Line != 9 ||
		got[1].Path != "" || !slices.Equal(got[2].Params, []string{"a"}) {
		t.Errorf("%+v", got)
	}
}
