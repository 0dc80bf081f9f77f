package crawler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestEveryURLHasOneVisit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(50 * time.Millisecond)
		s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
		s.Page("/", links("/b", "b#frag", "./b", "/private/x", "/gone", "/moved", "http://other.example/", "mailto:x@y", "//a.example/c?q=1"))
		s.Page("/b", links("/", "/c?q=1", "/d"))
		s.Page("/c?q=1", links("/"))
		s.Page("/d", "<!-- <a href='/comment'> --><script>var a='<a href=/script>'</script>")
		s.Page("/gone", "no").Status(404)
		s.Redirect("/moved", "/target")
		s.Page("/target", "here")
		rep, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/b"): "fetched 200", s.URL("/c?q=1"): "fetched 200", s.URL("/d"): "fetched 200",
			s.URL("/gone"): "fetched 404", s.URL("/moved"): "redirected 302", s.URL("/target"): "fetched 200",
			s.URL("/private/x"): "refused 0 robots_disallow",
		})
		if rep.Finish != crawler.FinishDone || rep.Pages != 6 || rep.Left != 0 {
			t.Errorf("report %+v", rep)
		}
		if x := v.by[s.URL("/private/x")]; x.Rule != "Disallow: /private/" || !strings.Contains(x.Detail, "line 2") {
			t.Errorf("rule %q, detail %q", x.Rule, x.Detail)
		}
		if x := v.by[s.URL("/target")]; x.Depth != 1 || len(x.Hops) != 1 || x.Hops[0] != s.URL("/moved") || x.Via.String() != s.URL("/moved") {
			t.Errorf("redirect target: depth %d, hops %v, via %v", x.Depth, x.Hops, x.Via)
		}
		if n := v.links[s.URL("/")]; n != 9 {
			t.Errorf("%d links", n)
		}
	})
}
