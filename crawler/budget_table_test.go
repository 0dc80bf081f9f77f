package crawler

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

// busyRenderer uses up a page's processor time in each round.
type busyRenderer struct {
	rendertest.Fake
	spent time.Duration
}

func (r *busyRenderer) Round(ctx context.Context, t render.Task) (*render.Result, error) {
	res, err := r.Fake.Round(ctx, t)
	if err == nil {
		res.Processor = t.MaxProcessor
		r.spent += t.MaxProcessor
	}
	return res, err
}

// endlessHosts creates hosts whose robots.txt disallows everything and names a sitemap of the next host.
func endlessHosts(w *crawltest.Web, from string) {
	name := func(i int) string { return fmt.Sprintf("http://s%d.example", i) }
	w.Site(from).Robots("Sitemap: " + name(0) + "/m.xml\n")
	for i := range 400 {
		w.Site(name(i)).Robots("User-agent: *\nDisallow: /\nSitemap: " + name(i+1) + "/m.xml\n").Forbids("/m.xml")
	}
}

// TestEveryBudgetHolds tests each row of the table of budgets. With page limits alone, a hostile web gets no more than
// the row says, per host and in total.
func TestEveryBudgetHolds(t *testing.T) {
	const seed = "http://a.example"
	hostile := map[string]func(w *crawltest.Web){ // by kind of work
		"pages": func(w *crawltest.Web) {
			for i := range 30 {
				w.Site(seed).Page(fmt.Sprintf("/%d", i), fmt.Sprintf("<a href=/%d>x</a><a href=http://b.example/%d>x</a>", i+1, i))
				w.Site("http://b.example").Page(fmt.Sprintf("/%d", i), "end")
			}
			w.Site(seed).Page("/", "<a href=/0>x</a>")
		},
		"sitemaps": func(w *crawltest.Web) {
			w.Site(seed).Robots("Sitemap: /i.xml\n")
			text := ""
			for i := range 30 {
				text += fmt.Sprintf("<sitemap><loc>/i%d.xml</loc></sitemap>", i)
				w.Site(seed).Page(fmt.Sprintf("/i%d.xml", i), "<sitemapindex></sitemapindex>").Type("application/xml")
			}
			w.Site(seed).Page("/i.xml", "<sitemapindex>"+text+"</sitemapindex>").Type("application/xml")
			w.Site(seed).Page("/", "no links")
		},
		"robots.txt": func(w *crawltest.Web) {
			endlessHosts(w, seed)
			w.Site(seed).Page("/", "no links")
		},
		"resources": func(w *crawltest.Web) {
			script := ""
			for i := range 100 {
				script += fmt.Sprintf("fetch /r%d\n", i)
				w.Site(seed).Page(fmt.Sprintf("/r%d", i), "x").Header("Cache-Control", "no-store")
			}
			w.Site(seed).Page("/", "<body><div id=root></div><script>"+script+"</script>")
		},
		"processor seconds": func(w *crawltest.Web) {
			w.Site(seed).Page("/", "<body><div id=root></div><script>fetch /r\ntext x</script>")
			w.Site(seed).Page("/r", "x")
		},
	}
	for _, row := range budgets {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			hostile[row.kind](w)
			renderer := &busyRenderer{}
			c := Config{
				Agent: "testbot/1.0", Contact: "https://lab.university.edu/crawl", Limits: Limits{Pages: 7, PagesPerHost: 5, Depth: Unlimited},
				Scope: ScopeConfig{Kind: ScopeAny}, Follow: Follow{Sitemaps: true},
				Render: render.Policy{Mode: render.Auto}, Renderer: renderer,
			}
			w.Apply(&c)
			c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
			w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: c.Contact, MaxRetryAfter: 5 * time.Minute})
			cr, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cr.Run(t.Context(), seed+"/"); err != nil {
				t.Fatal(err)
			}
			effective := c.withDefaults()
			for _, limit := range []allowance{row.host, row.crawl} {
				if field(&c, limit.setting) == "" {
					t.Errorf("%s: Config has no field %s", row.kind, limit.setting)
				}
				if n := limit.of(&effective, nil); n <= 0 {
					t.Errorf("%s: %s is no limit", row.kind, limit.setting)
				}
			}
			host, all := spentOn(w, row.kind, renderer)
			if all == 0 {
				t.Errorf("%s: the hostile web spent nothing", row.kind)
			}
			if most := row.host.of(&effective, nil); Limit(host) > most {
				t.Errorf("%s: %d of one host, more than %s allows: %d", row.kind, host, row.host.setting, most)
			}
			if most := row.crawl.of(&effective, nil); Limit(all) > most {
				t.Errorf("%s: %d in all, more than %s allows: %d", row.kind, all, row.crawl.setting, most)
			}
		})
	}
}

// field returns the type of a field of c by its path, or "" if there is none.
func field(c *Config, path string) string {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(path, ".") {
		if v = v.FieldByName(name); !v.IsValid() {
			return ""
		}
	}
	return v.Type().String()
}

// spentOn returns what a crawl spent on a kind of work: on the host with the most, and in total.
func spentOn(w *crawltest.Web, kind string, r *busyRenderer) (host, all int) {
	if kind == "processor seconds" {
		return int(r.spent / time.Second), int(r.spent / time.Second)
	}
	is := map[string]func(path string) bool{
		"pages":      func(path string) bool { return path != "/robots.txt" },
		"sitemaps":   func(path string) bool { return strings.HasSuffix(path, ".xml") },
		"robots.txt": func(path string) bool { return path == "/robots.txt" },
		"resources":  func(path string) bool { return strings.HasPrefix(path, "/r") && path != "/robots.txt" },
	}[kind]
	names := []string{"a.example", "b.example"}
	for i := range 400 {
		names = append(names, fmt.Sprintf("s%d.example", i))
	}
	if kind == "robots.txt" {
		all-- // without the robots.txt of the seed
	}
	for _, name := range names {
		n := len(slices.DeleteFunc(slices.Clone(w.Visited(name)), func(u string) bool {
			return !is(strings.TrimPrefix(u, "http://"+name))
		}))
		host, all = max(host, n), all+n
	}
	return host, all
}
