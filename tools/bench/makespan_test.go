package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

var makespanHosts = flag.Int("makespan.hosts", 0, "also the makespan of a crawl of that many hosts: 20000 take minutes")

const (
	politeDelay   = time.Second
	politeLatency = 50 * time.Millisecond
	politeContact = "https://lab.university.edu/crawl"
)

// politeWeb crawls the sites that prepare makes, politely and in virtual time, and returns how long the crawl took. Neither the servers'
// audit, which crawltest.Test makes at the end, nor the audit of the ledger may find a violation.
func politeWeb(t *testing.T, workers, pages int, prepare func(w *crawltest.Web, r *record) (seeds []string)) (took time.Duration) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: politeDelay, PerAddress: true, Agent: "bench", Contact: politeContact})
		r := newRecord(politeDelay)
		c := &r.config
		c.Contact, c.Concurrency = politeContact, workers
		c.Fetch.DialContext, c.Fetch.Resolver = w.DialContext, w
		seeds := prepare(w, r)
		start := time.Now()
		run(t, *c, pages, seeds)
		took = time.Since(start)
		r.audit(t)
	})
	return took
}

// TestMakespanIsTheIdeal checks in virtual time that a polite crawl takes as long as its delays and the servers require, and no longer. A
// few workers must be as fast as many, because no worker waits for a host.
func TestMakespanIsTheIdeal(t *testing.T) {
	type crawl struct {
		hosts, pages, workers int
	}
	crawls := []crawl{{50, 10, 64}, {50, 10, 8}, {400, 5, 64}, {2000, 2, 64}, {2000, 2, 256}}
	if n := *makespanHosts; n > 0 {
		crawls = append(crawls, crawl{n, 5, 64}, crawl{n, 5, n / 10})
	}
	for _, k := range crawls {
		t.Run(fmt.Sprintf("hosts=%d,workers=%d", k.hosts, k.workers), func(t *testing.T) {
			took := politeWeb(t, k.workers, k.hosts*k.pages, func(w *crawltest.Web, r *record) []string {
				return polite(w, r, k.hosts, k.pages, politeLatency)
			})
			within(t, took, least(k.hosts, k.pages, k.workers))
		})
	}
}

// TestMakespanOfACrowdedAddress crawls 500 hosts at one address. The address sets the limit: its requests are made one after another, with
// the pause between them. Even if some robots.txt files fail at first, no host may starve, or be given up because of the time that others
// take: all pages must be fetched.
func TestMakespanOfACrowdedAddress(t *testing.T) {
	const hosts, pages = 500, 3
	for _, failing := range []int{0, 50} {
		t.Run(fmt.Sprint("failing=", failing), func(t *testing.T) {
			took := politeWeb(t, 64, hosts*pages, func(w *crawltest.Web, r *record) []string {
				seeds := polite(w, r, hosts, pages, politeLatency)
				for i := range hosts {
					s := w.Site(fmt.Sprintf("http://h%d.example", i)).Address("192.0.2.1")
					if i%10 == 0 && i/10 < failing {
						s.Robots(politeRobots).Forbids("/private/*").Fault(crawltest.Fail(503).First(3))
					}
				}
				return seeds
			})
			requests := hosts*(pages+1) + 3*failing
			within(t, took, time.Duration(requests-1)*politeDelay+time.Duration(requests)*politeLatency)
		})
	}
}

// least returns the shortest possible time of a crawl with this many concurrent requests. It is that of the host whose first request comes
// last or, if there are more hosts than the workers can serve, that of all requests together.
func least(hosts, pages, workers int) time.Duration {
	turns := func(requests int) int { return (requests + workers - 1) / workers }
	first := time.Duration(turns(hosts)-1) * politeLatency
	all := time.Duration(turns(hosts*(pages+1))) * politeLatency
	return max(first+ideal(pages, politeDelay, politeLatency), all)
}

// within fails the test if a crawl took less than the shortest possible time, or more than two percent longer.
func within(t *testing.T, took, least time.Duration) {
	t.Helper()
	t.Logf("%v of %v: %.3f", took, least, took.Seconds()/least.Seconds())
	if took < least || took > least*102/100 {
		t.Errorf("the crawl took %v; the least is %v, and a fiftieth longer is allowed", took, least)
	}
}

const politeRobots = "User-agent: *\nDisallow: /private/\n"

// polite makes sites whose pages can all be reached from the first page, and returns the seeds.
func polite(w *crawltest.Web, r *record, hosts, pages int, latency time.Duration) []string {
	sum := sha256.Sum256([]byte(politeRobots))
	r.robots[hex.EncodeToString(sum[:])] = []byte(politeRobots)
	var seeds []string
	for h := range hosts {
		s := w.Site(fmt.Sprintf("http://h%d.example", h)).Latency(latency)
		s.Robots(politeRobots).Forbids("/private/*")
		var index strings.Builder
		index.WriteString(`<a href="/private/x">x</a>`)
		for i := 1; i < pages; i++ {
			fmt.Fprintf(&index, `<a href="/p%d">x</a>`, i)
			s.Page(fmt.Sprintf("/p%d", i), `<a href="/">x</a>`)
		}
		s.Page("/", index.String())
		seeds = append(seeds, s.URL("/"))
	}
	return seeds
}

// run crawls to the end and checks that all pages were fetched.
func run(t *testing.T, c crawler.Config, pages int, seeds []string) {
	t.Helper()
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Pages != pages || rep.Finish != crawler.FinishDone {
		t.Errorf("%d of %d pages, %s", rep.Pages, pages, rep.Finish)
	}
}
