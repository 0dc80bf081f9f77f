package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
)

// sites creates hosts at the given addresses, each with a start page that links to n pages, and returns the seeds.
func sites(w *crawltest.Web, n int, at map[string]string) (seeds []string) {
	for _, host := range slices.Sorted(maps.Keys(at)) {
		s := w.Site("http://" + host).Address(at[host])
		var refs []string
		for i := range n {
			refs = append(refs, fmt.Sprintf("/%d", i))
			s.Page(refs[i], "<title>"+host+refs[i]+"</title>"+strings.Repeat("x", 1000))
		}
		s.Page("/", links(refs...))
		seeds = append(seeds, s.URL("/"))
	}
	return seeds
}

// pagesOf counts the page requests to a host.
func pagesOf(w *crawltest.Web, host string) (n int) {
	for _, u := range w.Visited(host) {
		if !strings.HasSuffix(u, "/robots.txt") {
			n++
		}
	}
	return n
}

func TestSettingsOfHosts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := sites(w, 9, map[string]string{
			"www.a.test": "192.0.2.1", "shop.a.test": "192.0.2.2", "b.test": "192.0.3.1", "c.test": "192.0.4.1", "d.test": "192.0.5.1",
		})
		cfg := config(w, crawler.Config{Limits: crawler.Limits{PagesPerHost: 8}, Hosts: []crawler.HostSettings{
			{Match: "www.a.test", Delay: 4 * time.Second, Pages: 3}, // this entry replaces the domain's entry, including the delay
			{Match: "*.a.test", Delay: 7 * time.Second, Pages: crawler.Unlimited},
			{Match: "e.test", Delay: 9 * time.Second},
			{Match: "192.0.3.0/24", Delay: 3 * time.Second, Pages: 2},
			{Match: "192.0.4.1", Bytes: 2500},
		}})
		v := &visits{}
		cfg.Handler = v
		cr, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := cr.Run(t.Context(), seeds...)
		if err != nil {
			t.Fatal(err)
		}
		for host, want := range map[string]struct {
			pages int
			delay time.Duration
		}{"www.a.test": {3, 4 * time.Second}, "shop.a.test": {10, 7 * time.Second}, "b.test": {2, 3 * time.Second}, "c.test": {4, time.Second}, "d.test": {8, time.Second}} {
			if n := pagesOf(w, host); n != want.pages {
				t.Errorf("%s: %d pages, want %d", host, n, want.pages)
			}
			if gap := slices.Min(w.Gaps(host)); gap != want.delay {
				t.Errorf("%s: a gap of %v, want %v", host, gap, want.delay)
			}
		}
		if !slices.Equal(rep.Unmet, []string{"e.test"}) {
			t.Errorf("unmet: %v", rep.Unmet)
		}
		if rep.Reasons[crawler.ReasonHostBudget] != 7+8+6+2 {
			t.Errorf("%v", rep.Reasons)
		}
		for u, want := range map[string]string{
			"http://www.a.test/8": "hosts www.a.test: 3 pages", "http://b.test/8": "hosts 192.0.3.0/24: 2 pages", "http://c.test/8": "hosts 192.0.4.1: 2500 bytes",
			"http://d.test/8": "",
		} {
			if x := v.by[u]; x.Reason != crawler.ReasonHostBudget || x.Rule != want {
				t.Errorf("%s: %s by %q, want %q", u, v.line(u), x.Rule, want)
			}
		}
	})
}

// TestHostBudgetsOutliveTheProcess: budgets for pages, bytes and time, and the address that selected the entry, survive
// each restart.
func TestHostBudgetsOutliveTheProcess(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := sites(w, 30, map[string]string{"a.test": "192.0.2.1", "b.test": "192.0.3.1", "c.test": "192.0.4.1", "d.test": "192.0.5.1"})
		j := job{t, t.TempDir()}
		c := config(w, crawler.Config{Hosts: []crawler.HostSettings{
			{Match: "a.test", Bytes: 8500},
			{Match: "b.test", Time: 12 * time.Second},
			{Match: "x.test"},
			{Match: "192.0.4.0/24", Pages: 11},
		}})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, AllowRepeats: true})
		var rep *crawler.Report
		for runs := 0; rep == nil || rep.Left > 0; runs++ {
			ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			var err error
			rep, err = j.run(ctx, c, seeds...)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			w.Site("http://c.test").Address("192.0.6.1") // the new address does not match the entry
			if runs > 30 {
				t.Fatalf("%+v", rep)
			}
			time.Sleep(time.Hour) // idle time does not count
		}
		fetched := map[string]int{}
		for u, r := range j.records() {
			if r.Outcome == string(crawler.Fetched) {
				fetched[mustParse(t, u).Hostname()]++
			}
		}
		if n := fetched["b.test"]; n > 11 || n < 9 { // one second for each page, except after a restart
			t.Errorf("%d pages in 12 s", n)
		}
		fetched["b.test"] = 0
		if want := map[string]int{"a.test": 9, "b.test": 0, "c.test": 11, "d.test": 31}; !maps.Equal(fetched, want) {
			t.Errorf("%v, want %v", fetched, want)
		}
		if !slices.Equal(rep.Unmet, []string{"x.test"}) || rep.Runs < 4 {
			t.Errorf("%+v", rep)
		}
	})
}

func TestScopeOfHosts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		for _, host := range []string{"a.test", "b.test", "c.test"} {
			s := w.Site("http://" + host)
			s.Page("/", `<a href="/d/1">1</a><a href="/e/1.pdf">2</a><a href="/f/1">3</a><img src="/i.png">`)
			s.Page("/d/1", "").Type("text/html")
			s.Page("/e/1.pdf", "pdf").Type("application/pdf")
			s.Page("/f/1", "<p>")
			s.Page("/i.png", "png").Type("image/png")
		}
		rep, v := crawl(t, w, crawler.Config{
			Follow: crawler.Follow{Resources: true},
			Scope:  crawler.ScopeConfig{Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "/d/"}}},
			Hosts: []crawler.HostSettings{
				{Match: "a.test", Rules: []crawler.ScopeRule{{Pattern: "/d/"}, {Pattern: "/f/"}}},
				{Match: "*.test", Rules: []crawler.ScopeRule{{Exclude: true, Kinds: []frontier.Kind{frontier.KindImage}}, {Exclude: true, Types: []string{"application/pdf"}}}},
			},
		}, "http://a.test/", "http://b.test/", "http://c.test/")
		for u, want := range map[string]string{
			"http://a.test/d/1": "fetched 200", "http://a.test/f/1": "fetched 200", "http://a.test/e/1.pdf": "no visit", "http://a.test/i.png": "no visit",
			"http://b.test/d/1": "no visit", "http://b.test/f/1": "fetched 200", "http://b.test/e/1.pdf": "out_of_scope 200 type", "http://b.test/i.png": "no visit",
		} {
			if got := v.line(u); got != want {
				t.Errorf("%s: %s, want %s", u, got, want)
			}
		}
		if rule := v.by["http://b.test/e/1.pdf"].Rule; rule != "hosts *.test: exclude application/pdf" || len(rep.Unmet) > 0 {
			t.Errorf("%q, unmet %v", rule, rep.Unmet)
		}
	})
}

// TestHostEntryThatMatchesOnlyLinksCounts: an entry counts as used even if its rules keep all links to its host out of the crawl.
func TestHostEntryThatMatchesOnlyLinksCounts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("http://a.test").Page("/", `<a href="http://b.test/">b</a>`)
		rep, _ := crawl(t, w, crawler.Config{
			Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 10},
			Hosts: []crawler.HostSettings{{Match: "b.test", Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "."}}}, {Match: "c.test"}},
		}, "http://a.test/")
		if !slices.Equal(rep.Unmet, []string{"c.test"}) || rep.Links[crawler.FateScope] != 1 {
			t.Errorf("%+v", rep)
		}
	})
}

// TestHeadersOfHosts: header fields of an entry are sent only to its hosts, and fields for a single origin take
// precedence.
func TestHeadersOfHosts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("http://a.test").Page("/", `<a href="http://b.test/">b</a><a href="/r">r</a>`)
		w.Site("http://a.test").Page("/r", "").Status(302).Location("http://b.test/2")
		w.Site("http://b.test").Page("/", "").Site().Page("/2", "")
		w.Site("http://c.a.test").Page("/", "")
		cfg := crawler.Config{
			Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 10},
			Hosts: []crawler.HostSettings{{Match: "*.a.test", Header: http.Header{"X-Key": {"general"}, "x-more": {"m"}}}},
		}
		cfg.Fetch.Headers = fetcher.Headers{"http://c.a.test": {"X-Key": {"special"}}}
		crawl(t, w, cfg, "http://a.test/", "http://c.a.test/")
		for _, r := range w.Requests() {
			want := map[string]string{"a.test:80": "general m", "c.a.test:80": "special m", "b.test:80": " "}[r.Host]
			if got := r.Header.Get("X-Key") + " " + r.Header.Get("X-More"); got != want {
				t.Errorf("%s: %q, want %q", r.URL, got, want)
			}
		}
	})
}

// TestHostEntryWaitsForFailedLookup: the entry waits for the address, and the look-up is retried as usual.
func TestHostEntryWaitsForFailedLookup(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := sites(w, 5, map[string]string{"a.test": "192.0.2.1"})
		w.Site("http://a.test").Fault(crawltest.DNSFailure().First(2))
		rep, _ := crawl(t, w, crawler.Config{Hosts: []crawler.HostSettings{{Match: "192.0.2.0/24", Pages: 2}}}, seeds...)
		if rep.Pages != 2 || rep.Outcomes[crawler.Failed] != 0 || rep.Retries == 0 {
			t.Errorf("%+v", rep)
		}
	})
}

func TestInvalidHostSettings(t *testing.T) {
	rules := []crawler.ScopeRule{{Exclude: true, Pattern: "x"}}
	for want, hosts := range map[string][]crawler.HostSettings{
		"Hosts[0] (a.test): Delay is 20ms, which would shorten the delay of 1s: that is only for hosts of your own": {{Match: "a.test", Delay: 20 * time.Millisecond}},
		`Hosts[1] (www.a.test): never holds, because "*.a.test" comes before it and matches all that it does`:       {{Match: "*.a.test"}, {Match: "www.a.test"}},
		`Hosts[1] (a.test): a name must come before all ranges of addresses, and this one follows "192.0.2.0/24"`:   {{Match: "192.0.2.0/24"}, {Match: "a.test"}},
		"Hosts[0] (): want a host such as www.site.test":                                                            {{}},
		"Hosts[0] (a.test): Pages is -2: must be 1 or more, or Unlimited":                                           {{Match: "a.test", Pages: -2}},
		"Hosts[0] (a.test): Bytes is -3: must be 1 or more, or Unlimited":                                           {{Match: "a.test", Bytes: -3}},
		"Hosts[0] (a.test): Time is -1s: must not be negative":                                                      {{Match: "a.test", Time: -time.Second}},
		"Hosts[0] (192.0.2.0/24): has Rules, and whether a link belongs to the crawl is decided before the address": {{Match: "192.0.2.0/24", Rules: rules}},
		"Hosts[0] (192.0.2.0/24): has a Header, which whoever points a name at such an address would get":           {{Match: "192.0.2.0/24", Header: http.Header{"X": {"y"}}}},
		`Hosts[0] (a.test): crawler: scope rule "(": error parsing regexp`:                                          {{Match: "a.test", Rules: []crawler.ScopeRule{{Pattern: "("}}}},
		"Hosts[0] (a.test): Header: User-Agent is reserved":                                                         {{Match: "a.test", Header: http.Header{"user-agent": {"x"}}}},
		"Hosts[0] (a.test): Header: the value of X-Key holds control characters":                                    {{Match: "a.test", Header: http.Header{"X-Key": {"secret\nInjected: 1"}}}},
	} {
		err := crawler.Config{Contact: contact, Hosts: hosts}.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	err := crawler.Config{Contact: contact, Hosts: []crawler.HostSettings{{Match: "a.test"}}, Politeness: politeness.Config{HostDelays: []politeness.HostDelay{{Match: "a.test"}}}}.Validate()
	if err == nil || !strings.Contains(err.Error(), "Politeness.HostDelays is set from Hosts") {
		t.Error(err)
	}
	own := politeness.Config{OwnHosts: func(host string) int { return len(host) % 2 }}
	if err := (crawler.Config{Contact: contact, Politeness: own, Hosts: []crawler.HostSettings{{Match: "*.a.test", Delay: crawler.NoDelay}}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestTheTargetOfASeedsRedirectNeedsNoInclude: the target of a seed's redirect is exempt from the include rules of entries, too.
func TestTheTargetOfASeedsRedirectNeedsNoInclude(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.test").Address("192.0.2.1")
		s.Page("/", "").Status(302).Location("/home")
		s.Page("/home", links("/x", "/d/1"))
		s.Page("/d/1", "")
		rep, v := crawl(t, w, crawler.Config{Hosts: []crawler.HostSettings{
			{Match: "a.test", Rules: []crawler.ScopeRule{{Pattern: "/d/"}}}, {Match: "192.0.3.0/24", Delay: 9 * time.Second},
		}}, s.URL("/"))
		if v.line(s.URL("/home")) != "fetched 200" || v.line(s.URL("/d/1")) != "fetched 200" || v.line(s.URL("/x")) != "no visit" {
			t.Errorf("%v", v.all)
		}
		if !slices.Equal(rep.Unmet, []string{"192.0.3.0/24"}) {
			t.Errorf("unmet: %v", rep.Unmet)
		}
	})
}

// TestHostEntryByAddressCounts: an entry for addresses counts as used once a host at such an address is requested, even without budgets.
func TestHostEntryByAddressCounts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seeds := sites(w, 1, map[string]string{"a.test": "192.0.2.1"})
		rep, _ := crawl(t, w, crawler.Config{Hosts: []crawler.HostSettings{{Match: "192.0.2.0/24", Delay: 9 * time.Second}, {Match: "192.0.0.0/16"}}}, seeds...)
		if !slices.Equal(rep.Unmet, []string{"192.0.0.0/16"}) {
			t.Errorf("unmet: %v", rep.Unmet)
		}
	})
}

// TestBytesForOtherHostsCount: bytes that an address sends for the robots.txt of another host count before a page of its host is due.
func TestBytesForOtherHostsCount(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		b := w.Site("http://b.test").Address("192.0.4.1")
		b.Page("/rules", "User-agent: *\n#"+strings.Repeat("x", 300)).Type("text/plain")
		b.Page("/", "text")
		a := w.Site("http://a.test")
		a.Redirect("/robots.txt", b.URL("/rules"))
		a.Page("/", `<a href="http://b.test/">b</a>`)
		_, v := crawl(t, w, crawler.Config{
			Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 9},
			Hosts: []crawler.HostSettings{{Match: "192.0.4.1", Bytes: 200}},
		}, a.URL("/"))
		if x := v.by[b.URL("/")]; x.Reason != crawler.ReasonHostBudget {
			t.Errorf("%s", v.line(b.URL("/")))
		}
	})
}

// TestRulesOfHostsBelongToTheCrawl: once a crawl has ended, changed rules do not bring back links that were not queued.
func TestRulesOfHostsBelongToTheCrawl(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		chain(w, 3)
		j := job{t, t.TempDir()}
		for i, c := range []struct {
			hosts []crawler.HostSettings
			want  error
		}{
			{[]crawler.HostSettings{{Match: "a.example", Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "/2"}}}}, nil},
			{[]crawler.HostSettings{{Match: "a.example", Pages: 9, Rules: []crawler.ScopeRule{{Exclude: true, Pattern: "/2"}}}, {Match: "b.example"}}, nil},
			{[]crawler.HostSettings{{Match: "a.example"}}, crawler.ErrRulesChanged},
		} {
			if _, err := j.run(t.Context(), config(w, crawler.Config{Hosts: c.hosts}), "http://a.example/"); !errors.Is(err, c.want) {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}
