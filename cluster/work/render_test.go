package work

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/render/rendertest"
)

// appHosts is the number of hosts whose pages are built by scripts.
const appHosts, appPages = 4, 3

// newApps makes hosts whose pages are empty without their scripts. All pages load a library from a host outside the crawl, some data that
// the pages of a host share, and some data that only one page uses.
func newApps(t *testing.T, w *crawltest.Web, settings ...job.Setting) *lab {
	t.Helper()
	w.Site("cdn.test").Robots("User-agent: *\nDisallow: /no/\n")
	w.Site("cdn.test").Page("/lib.js", "text made by the library\n").Header("Content-Type", "text/javascript")
	var seeds []string
	for h := range appHosts {
		site := w.Site(fmt.Sprintf("a%d.test", h))
		site.Page("/data", "<p>for all").Header("Content-Type", "text/html").Header("Cache-Control", "max-age=86400")
		for p := range appPages {
			site.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<!doctype html><div id=root></div><script src=http://cdn.test/lib.js></script>"+
				"<script>fetch /data\nfetch /own%d\nfetch http://cdn.test/no/%d\nlink /%d\nlink http://a%d.test/%d\n</script>", p, p, (p+1)%appPages, (h+1)%appHosts, p))
			site.Page(fmt.Sprintf("/own%d", p), fmt.Sprintf("<p>own %d", p)).Header("Content-Type", "text/html").Header("Cache-Control", "no-store")
		}
		seeds = append(seeds, site.URL("/0"))
	}
	fake := &rendertest.Fake{Parked: 2}
	t.Cleanup(func() {
		for _, f := range fake.Faults() {
			t.Error(f)
		}
	})
	return newLabBy(t, w, mem.New(), 4, seeds[:1], func(c *job.Config) { c.Crawl.Renderer = fake }, append([]job.Setting{limit("render", "auto"), limit("max-time", "3h")}, settings...)...)
}

// checkApps checks that each page is in the collected job once, completely rendered, with the text made by the library.
func (l *lab) checkApps() {
	l.t.Helper()
	res, _ := l.collect()
	r, err := job.Read(filepath.Join(l.dir, "out"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	pages := map[string]int{}
	for v, err := range r.Visits() {
		if err != nil {
			l.t.Fatal(err)
		}
		pages[v.URL]++
		if x := v.Rendered; x == nil || x.Cut != "" || x.WARC == nil || v.Links == nil {
			l.t.Errorf("%s: %+v", v.URL, x)
		}
	}
	for h := range appHosts {
		for p := range appPages {
			if u := fmt.Sprintf("http://a%d.test/%d", h, p); pages[u] != 1 {
				l.t.Errorf("%s is there %d times", u, pages[u])
			}
		}
	}
	if n := appHosts * appPages; len(pages) != n || res.Report.Rendering == nil || res.Report.Rendering.Pages != n {
		l.t.Errorf("%d pages, %+v", len(pages), res.Report.Rendering)
	}
	for p := range appPages {
		l.w.MustNotRequest(fmt.Sprintf("http://cdn.test/no/%d", p))
	}
}

// atMost checks that the library and the shared data were requested at most shared times, and each page at most pages times. Data that only
// one page uses may be requested once with each request for that page.
func (l *lab) atMost(shared, pages int) {
	l.t.Helper()
	check := func(url string, most int) {
		if n := l.w.Count(url); n < 1 || n > most {
			l.t.Errorf("%s was requested %d times, want %d at most", url, n, most)
		}
	}
	check("http://cdn.test/lib.js", shared)
	for h := range appHosts {
		check(fmt.Sprintf("http://a%d.test/data", h), shared)
		for p := range appPages {
			page := fmt.Sprintf("http://a%d.test/%d", h, p)
			check(page, pages)
			check(fmt.Sprintf("http://a%d.test/own%d", h, p), l.w.Count(page))
		}
	}
}

// TestNodeRenders checks that a node requests each resource once, as a single crawl would, although the pages belong to several shards.
func TestNodeRenders(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newApps(t, w)
		l.begin("a")
		l.wait()
		l.checkApps()
		l.atMost(1, 1)
	})
}

// TestKilledNodeRenders checks that each of two nodes requests a shareable resource at most once, although one node is cut off for a while.
// A resource that only one page uses is requested again with that page.
func TestKilledNodeRenders(t *testing.T) {
	for at := 3; at < 30; at += 6 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				l := newApps(t, w)
				j, err := cluster.LoadJob(t.Context(), l.server.Connect())
				if err != nil {
					t.Fatal(err)
				}
				var owners [4]atomic.Int64 // number of owners of each shard
				l.trace = func(e cluster.Event) {
					if e.What == cluster.Taken {
						owners[e.Shard].Add(1)
					}
				}
				a, _ := l.begin("a"), l.begin("b")
				time.Sleep(time.Duration(at) * time.Second)
				a.conn.Cut(true)
				time.Sleep(20 * time.Second)
				a.conn.Cut(false)
				l.wait()
				l.checkApps()
				l.atMost(2, 3)
				for h := range appHosts { // if a page is in progress when its shard moves, the next owner requests the page again
					host := fmt.Sprintf("a%d.test", h)
					for p := range appPages {
						url := fmt.Sprintf("http://%s/%d", host, p)
						if n, most := l.w.Count(url), int(owners[j.Shard(host+":80")].Load()); n > most {
							t.Errorf("%s was requested %d times by %d owners", url, n, most)
						}
					}
				}
			})
		})
	}
}

// TestStoppedNodeRendersAgain checks that a node restarted in its directory uses the stored resources and does not request them again.
func TestStoppedNodeRendersAgain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newApps(t, w)
		a := l.begin("a")
		time.Sleep(8 * time.Second)
		a.stop()
		if err := <-a.ended; err != nil {
			t.Fatal(err)
		}
		if n := w.Count("http://cdn.test/lib.js"); n != 1 {
			t.Fatalf("the library was requested %d times, want once", n)
		}
		l.nodes = nil
		l.begin("a")
		l.wait()
		l.checkApps()
		l.atMost(1, 2)
	})
}

// TestMaxResources: the limit of resources applies to each shard. By default it is 20 for each page that the job may fetch.
func TestMaxResources(t *testing.T) {
	if got := [3]crawler.Limit{maxResources(&crawler.Limits{Pages: 7}), maxResources(&crawler.Limits{Pages: crawler.Unlimited}), maxResources(&crawler.Limits{Pages: 7, Resources: 3})}; got != [3]crawler.Limit{140, 0, 3} {
		t.Errorf("%v", got)
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newApps(t, w, limit("max-resources", "1"))
		l.begin("a")
		l.wait()
		res, _ := l.collect()
		if n := res.Report.Resources; n < 1 || n > 8 { // requests in flight at the limit are completed
			t.Errorf("4 shards have requested %d resources", n)
		}
	})
}

// TestNodeWithoutBrowser checks that a node that cannot render refuses a job that renders, and writes nothing.
func TestNodeWithoutBrowser(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newApps(t, w)
		dir := filepath.Join(t.TempDir(), "n1")
		n := &Node{Engine: l.server.Connect(), Name: "n1", Dir: dir}
		var refused *job.Error
		if err := n.Run(t.Context()); !errors.As(err, &refused) || refused.Kind != job.Refused || !strings.Contains(err.Error(), "no browser") {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the directory was made: %v", err)
		}
		s, err := cluster.ReadStatus(t.Context(), l.server.Connect())
		if err != nil {
			t.Fatal(err)
		}
		if got := Summarize(&s, time.Now()).Text("shop"); !strings.Contains(got, "node n1 refuses the job: ") {
			t.Errorf("the status: %s", got)
		}
	})
}
