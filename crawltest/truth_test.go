package crawltest

import (
	"slices"
	"strings"
	"testing"
)

func TestSameSeedSameWeb(t *testing.T) {
	dump := func(seed uint64) string {
		w := NewWeb()
		defer w.Close()
		r := w.Random(seed, RandomConfig{Faults: LastingFaults, HTTPS: true, Agent: "x"})
		var s strings.Builder
		for _, n := range r.nodes {
			p := w.origins[n.host.site.origin].pages[canonPath(n.path)][0]
			s.WriteString(n.url() + p.location + p.body + "\n")
		}
		return s.String()
	}
	seven := dump(7)
	if again, eight := dump(7), dump(8); again != seven || eight == seven {
		t.Error("not a function of the seed")
	}
}

// TestRandomHasEverything checks that all features promised by the generator occur within the first seeds.
func TestRandomHasEverything(t *testing.T) {
	has := map[string]bool{
		"loop": false, "chain": false, "cross-host redirect": false, "redirect to forbidden": false, "forbidden": false,
		"nofollow": false, "hidden": false, "broken": false, "dead": false, "shared address": false, "crawl delay": false,
		"robots redirect": false, "robots 4xx": false, "own group": false, "excused": false, "gone": false, "escaped link": false,
		"https": false, "port": false, "too fast": false,
	}
	see := func(what string, is bool) { has[what] = has[what] || is }
	for seed := range uint64(25) {
		w := NewWeb()
		r := w.Random(seed, RandomConfig{Faults: LastingFaults, HTTPS: true, Agent: "testbot"})
		for _, n := range r.nodes {
			if n.kind == nodeRedirect {
				see("loop", n.to == n || n.to.to == n)
				see("chain", n.to.kind == nodeRedirect)
				see("cross-host redirect", n.to.host != n.host)
				see("redirect to forbidden", n.to.forbidden)
			}
			see("forbidden", n.forbidden)
			see("nofollow", n.nofollow)
			see("hidden", n.kind == nodeHidden)
			see("broken", n.broken)
			see("escaped link", strings.Contains(w.origins[n.host.site.origin].pages[canonPath(n.path)][0].body, "%70"))
		}
		for i, h := range r.hosts {
			see("dead", h.dead)
			see("https", h.site.scheme == "https")
			see("port", strings.Contains(h.site.origin, ":800"))
			robots := h.site.robots(0)
			see("robots 4xx", robots.status/100 == 4)
			see("own group", robots != nil && strings.Contains(strings.ToLower(robots.body), "testbot"))
			see("crawl delay", robots != nil && robots.delay > 0)
			see("too fast", slices.ContainsFunc(h.site.faults, func(f *Fault) bool { return f.kind == faultTooFast }))
			for _, o := range r.hosts[:i] {
				see("shared address", o.site.Addr() == h.site.Addr() && o.site.host != h.site.host)
			}
		}
		truth := r.Truth(nil, r.Seeds()...)
		see("robots redirect", len(r.hops) > 0)
		see("excused", len(truth.Excused) > 0)
		see("gone", len(truth.Gone) > 0)
		w.Close()
	}
	for what, seen := range has {
		if !seen {
			t.Errorf("no %s in 25 webs", what)
		}
	}
}

func TestTruthCheck(t *testing.T) {
	truth := Truth{
		Pages: []string{"http://a.example/", "http://a.example/%7Ex", "http://a.example/b"}, Redirects: []string{"http://a.example/r"},
		Excused: []string{"http://b.example/"}, robots: map[string]bool{"http://a.example/hop": true},
	}
	ok := func(url string) Request { return Request{URL: url, Status: 200, Complete: true} }
	log := []Request{
		ok("http://a.example/robots.txt"), ok("http://a.example/hop"), ok("http://a.example/~x"), ok("http://b.example/"), ok("http://b.example/"),
		{URL: "http://a.example/r", Status: 503, Complete: true}, {URL: "http://a.example/r", Status: 302, Complete: true},
		{URL: "http://a.example/", Status: 200}, ok("http://a.example/b"),
	}
	if got := truth.Check(log); !slices.Equal(got, []string{"http://a.example/ was never answered"}) {
		t.Errorf("got %q", got)
	}
	got := truth.Check(append(log, ok("http://a.example/"), ok("http://a.example/%7ex"), ok("http://a.example/hidden")))
	want := []string{"request 0: http://a.example/%7ex was answered before", "request 0: http://a.example/hidden is none of the crawl's"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTruthStaysInScope(t *testing.T) {
	w := NewWeb()
	defer w.Close()
	r := w.Random(3, RandomConfig{Hosts: 6})
	all := r.Truth(nil, r.Seeds()[0])
	one := r.Truth(func(u string) bool { return strings.HasPrefix(u, "http://h0.example/") }, r.Seeds()[0])
	if len(one.Pages) == 0 || len(one.Pages) >= len(all.Pages) {
		t.Errorf("%d of %d pages", len(one.Pages), len(all.Pages))
	}
	for _, u := range slices.Concat(one.Pages, one.Redirects, one.Gone, one.Forbidden) {
		if !strings.HasPrefix(u, "http://h0.example/") {
			t.Errorf("%s is out of scope", u)
		}
	}
}
