package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
)

// manyHosts makes a job on many hosts, each with its own address.
func manyHosts(t *testing.T, w *crawltest.Web, hosts, pages int) *sim {
	s := &sim{t: t, w: w, rng: rand.New(rand.NewPCG(1, 3)), links: map[string][]string{}, server: mem.New(), dir: t.TempDir(), snapshots: 1 << 20}
	s.job = cluster.Job{Shards: 12, TTL: 30 * time.Second, Delay: time.Second}
	for h := range hosts {
		name := fmt.Sprintf("h%d.test", h)
		site := w.Site(name).Latency(100 * time.Millisecond)
		var links strings.Builder
		for p := range pages {
			fmt.Fprintf(&links, "<a href=\"/%d\">x</a>", p+1)
			site.Page(fmt.Sprintf("/%d", p+1), "")
		}
		site.Page("/0", links.String())
		s.seeds = append(s.seeds, "http://"+name+"/0")
	}
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: simContact, AllowRepeats: true, PerAddress: true})
	s.faults = mem.Faults{Latency: 10 * time.Millisecond}
	if err := cluster.Create(t.Context(), s.server.Connect(), s.job); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHostsOfSurvivorsGoOnAfterTakeover checks that after the shards of a dead node have been taken over, the hosts of all other shards are
// requested again soon, including hosts at an address whose last request was made by the dead node.
func TestHostsOfSurvivorsGoOnAfterTakeover(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := manyHosts(t, w, 24, 300)
		for i := range 3 {
			s.begin(fmt.Sprint("n", i))
		}
		time.Sleep(2 * time.Minute) // meanwhile each node takes its share
		job, err := cluster.LoadJob(t.Context(), s.server.Connect())
		if err != nil {
			t.Fatal(err)
		}
		died := time.Now()
		s.nodes[0].conn.Cut(true)
		s.nodes[0].kill()
		s.nodes[0].stop()
		time.Sleep(2 * time.Minute)
		survivors, taken := map[int]bool{}, died
		for shard := range job.Shards {
			all, err := cluster.ReadWritten(s.server.History(shard))
			if err != nil {
				t.Fatal(err)
			}
			survivors[shard] = true
			for _, r := range all {
				if r.Open && r.At.After(died) {
					survivors[shard], taken = false, later(taken, r.At)
				}
			}
		}
		soon := taken.Add(s.job.Delay + s.job.TTL/6 + 3*time.Second)
		soonRequested, survive := 0, 0
		for _, u := range s.seeds {
			host := strings.TrimSuffix(strings.TrimPrefix(u, "http://"), "/0") + ":80"
			if !survivors[job.Shard(host)] {
				continue
			}
			survive++
			for _, r := range w.Requests() {
				if r.Host == host && r.Start.After(taken) && !r.Start.After(soon) {
					soonRequested++
					break
				}
			}
		}
		if soonRequested != survive || survive == 0 || survive == len(s.seeds) {
			t.Errorf("%d of %d hosts of survivors are requested within %v of the takeover", soonRequested, survive, soon.Sub(taken))
		}
		for _, x := range s.nodes {
			x.stop()
			<-x.ended
		}
	})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
