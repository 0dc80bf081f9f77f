package crawler

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

var (
	sameWebs    = flag.Int("same.webs", 15, "how many random webs TestSameSample crawls")
	sameTimings = flag.Int("same.timings", long.Seeds(2, 4), "and how often each, with other timing")
)

// order is a sink that records the fetched URLs of each host in order.
type order struct {
	sink.Base

	fetched map[string][]string
	crossed int // URLs first linked from another host's page
}

func (o *order) Append(_ context.Context, r *sink.Record) error {
	host := hostPart(r.URL)
	if r.Via != "" && hostPart(r.Via) != host {
		o.crossed++
	}
	if r.Outcome == string(Fetched) {
		o.fetched[host] = append(o.fetched[host], r.URL)
	}
	return nil
}

func (*order) Sync(_ context.Context) (int64, error) { return 0, nil }
func (*order) Restore(context.Context, int64) error  { return nil }
func (*order) Close(_ context.Context) error         { return nil }

func hostPart(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// timed runs one crawl of a random web, with random timing, number of workers and order of seeds.
func timed(t *testing.T, web, timing uint64, faults crawltest.FaultLevel, alone bool) (o *order, rep *Report) {
	o = &order{fetched: map[string][]string{}}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		rng := rand.New(rand.NewPCG(web, timing))
		all := w.Random(web, crawltest.RandomConfig{Agent: "testbot", HTTPS: true, Faults: faults, MaxDelay: 3 * time.Second})
		seeds := slices.Clone(all.Seeds())
		if alone {
			seeds = seeds[:1]
		}
		rng.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
		c := Config{Agent: "testbot/1", Contact: "https://crawl.university.edu/", Sinks: []sink.Sink{o}, Concurrency: 1 + rng.IntN(40)}
		c.Scope.Kind, c.Limits.PagesPerHost, c.Limits.Depth = ScopeHost, 3+Limit(web%6), Unlimited
		if web/2%2 == 1 {
			c.Order = OrderHash(fmt.Sprint(web))
		}
		c.Politeness.Delay = time.Duration(100+rng.IntN(4000)) * time.Millisecond
		late := time.Duration(rng.IntN(3000)) * time.Millisecond
		c.Fetch.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case <-time.After(late * time.Duration(len(addr)%4)):
			case <-ctx.Done():
			}
			return w.DialContext(ctx, network, addr)
		}
		c.Fetch.Resolver, c.Fetch.RootCAs = w, w.RootCAs()
		crawl, err := New(c)
		if err == nil {
			rep, err = crawl.Run(t.Context(), seeds...)
		}
		if err != nil && !errors.As(err, new(*UnreachableError)) {
			t.Fatal(err)
		}
	})
	return o, rep
}

// TestSameSample tests the promise of docs/research-crawls.md. With the scope host and a budget per host, a second
// crawl that gets the same responses fetches the same pages of each host in the same order, whatever its timing,
// workers and order of seeds. Half of the webs are crawled in the order of a hash. The promise excludes webs with
// repeated attempts, given-up hosts, or pages found through another host; these are crawled, too, and counted.
func TestSameSample(t *testing.T) {
	count := map[string]int{}
	for web := range uint64(*sameWebs) {
		var first *order
		differ, kind := 0, "promised"
		for timing := range uint64(*sameTimings) {
			o, rep := timed(t, web, timing, crawltest.FaultLevel(web%3), web%2 == 0)
			switch {
			case rep.Finish != FinishDone:
				kind = "not finished"
			case rep.Reasons[politeness.ReasonHostFailed]+rep.Reasons[politeness.ReasonRobotsUnreachable] > 0:
				kind = "given up"
			case rep.Retries > 0:
				kind = "repeated"
			case o.crossed > 0 && kind == "promised":
				kind = "linked"
			}
			count["crawls"]++
			if first == nil {
				first = o
			} else if was, is := fmt.Sprint(first.fetched), fmt.Sprint(o.fetched); was != is {
				if differ++; differ == 1 {
					defer func() {
						if kind == "promised" {
							t.Errorf("web %d, timing %d:\nwas %s\nis  %s", web, timing, was, is)
						}
					}()
				}
			}
		}
		count[kind]++
		if kind == "promised" && web/2%2 == 1 {
			count["promised, by hash"]++
		}
		if differ > 0 {
			count[kind+", differ"]++
		}
	}
	t.Logf("webs by kind: %v", count)
	if count["promised"] < *sameWebs/5 || count["promised, by hash"] < *sameWebs/10 {
		t.Errorf("only %d webs were judged", count["promised"])
	}
}
