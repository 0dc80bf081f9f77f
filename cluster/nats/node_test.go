package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// TestNodesOnJetStream runs three nodes that share a crawl through a server. One node stops, and another one is cut off from the server.
// The job ends by itself, and the outputs have each page.
func TestNodesOnJetStream(t *testing.T) {
	if testing.Short() || !long.Full() {
		t.Skip("takes real time; the command's tests do much of it with processes, always")
	}
	t.Parallel()
	s := start(t, 1)
	c := Config{URLs: s.urls(), Job: "nodes", Shards: 4, Replicas: 1}
	create(t, c)
	w := crawltest.New(t)
	w.Expect(crawltest.Expect{Delay: 100 * time.Millisecond, PerAddress: true, Agent: "testbot", AllowRepeats: true})
	pages := makePages(w)
	job := cluster.Job{Shards: 4, TTL: cluster.MinTTL, Delay: 100 * time.Millisecond}
	if err := cluster.Create(t.Context(), connect(t, c), job); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var nodes sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e, name := connect(t, c), fmt.Sprint("n", i)
		n, err := cluster.NewNode(ctx, cluster.Config{
			Engine: e, Name: name, Dir: filepath.Join(dir, name), Crawl: crawl(w, 100*time.Millisecond), Poll: 200 * time.Millisecond, SnapshotSize: 4000,
			Store: disk.Config{CacheSize: 4 << 20, MemTableSize: 256 << 10},
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes.Go(func() { errs[i] = n.Run(ctx) })
		if i == 1 {
			time.AfterFunc(2*time.Second, cancel)
		}
		if i == 2 {
			time.AfterFunc(3*time.Second, e.Close) // from now on the node can neither write nor ask
			time.AfterFunc(3*time.Second+2*cluster.MinTTL, cancel)
		}
	}
	nodes.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("node %d: %v", i, err)
		}
	}
	seen := visited(t, dir)
	for _, u := range pages {
		if seen[u] == 0 {
			t.Errorf("%s is in no output", u)
		}
	}
	t.Logf("%d pages, %d requests", len(pages), len(w.Requests()))
}

// TestJobsOnJetStreamTakeTurns runs two jobs on one engine, and a separate crawl that uses the same engine, on the same hosts. The hosts
// see one polite crawler. It requests each robots.txt once; a second request is allowed only if the engine answered too slowly.
func TestJobsOnJetStreamTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	t.Parallel()
	const delay = 200 * time.Millisecond
	s := start(t, 1)
	var late atomic.Int64
	w := crawltest.New(t)
	w.Expect(crawltest.Expect{Delay: delay, PerAddress: true, Agent: "testbot", AllowRepeats: true})
	for h := range 2 {
		site := w.Site(fmt.Sprintf("h%d.test", h)).Latency(20 * time.Millisecond)
		for p := range 5 {
			site.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<a href=http://h0.test/%d>a</a><a href=http://h1.test/%d>b</a>", (p+1)%5, (p+1)%5))
		}
	}
	var crawls sync.WaitGroup
	for _, name := range []string{"news", "archive"} {
		c := Config{URLs: s.urls(), Job: name, Shards: 2, Replicas: 1}
		create(t, c)
		e := connect(t, c)
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 2, TTL: cluster.MinTTL, Delay: delay}); err != nil {
			t.Fatal(err)
		}
		n, err := cluster.NewNode(t.Context(), cluster.Config{
			Engine: observed{e, observedClocks{e.Clocks(), &late}}, Name: "n", Dir: t.TempDir(), Crawl: crawl(w, delay), Poll: 200 * time.Millisecond, Store: disk.Config{CacheSize: 4 << 20, MemTableSize: 256 << 10},
		})
		if err != nil {
			t.Fatal(err)
		}
		crawls.Go(func() {
			if err := n.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	store, err := ConnectClocks(t.Context(), Config{URLs: s.urls()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	clocks := cluster.NewClocks(t.Context(), observedClocks{store, &late}, "", 0)
	c := crawler.Config{
		Agent: "testbot/1.0", Contact: "https://lab.university.edu/crawl", Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny},
		Limits: crawler.Limits{Pages: 1000}, Politeness: politeness.Config{Delay: delay, Shared: clocks},
	}
	w.Apply(&c)
	x, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), "http://h0.test/0"); err != nil {
		t.Error(err)
	}
	crawls.Wait()
	clocks.Close()
	for h := range 2 {
		host := fmt.Sprintf("http://h%d.test/", h)
		if robots, page := w.Count(host+"robots.txt"), w.Count(host+"3"); robots < 1 || robots > 1+int(late.Load()) || page != 3 {
			t.Errorf("%s: %d requests for robots.txt, and %d for a page of three crawls; the engine was late %d times", host, robots, page, late.Load())
		}
	}
}

// observed is an engine that counts the calls about host clocks that are answered late.
type observed struct {
	*Engine
	clocks cluster.ClockStore
}

// Clocks implements cluster.Engine.
func (e observed) Clocks() cluster.ClockStore { return e.clocks }

// observedClocks counts the calls about host clocks that were not answered in time.
type observedClocks struct {
	cluster.ClockStore
	late *atomic.Int64
}

func (o observedClocks) note(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		o.late.Add(1)
	}
}

// Now implements cluster.ClockStore.
func (o observedClocks) Now(ctx context.Context) (t time.Time, err error) {
	t, err = o.ClockStore.Now(ctx)
	o.note(err)
	return t, err
}

// LoadRobots implements cluster.ClockStore.
func (o observedClocks) LoadRobots(ctx context.Context, name string) (b []byte, err error) {
	b, err = o.ClockStore.LoadRobots(ctx, name)
	o.note(err)
	return b, err
}

// StoreRobots implements cluster.ClockStore.
func (o observedClocks) StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) (err error) {
	err = o.ClockStore.StoreRobots(ctx, name, file, life)
	o.note(err)
	return err
}

// Era implements cluster.ClockStore.
func (o observedClocks) Era(ctx context.Context) (era uint64, since time.Time, err error) {
	era, since, err = o.ClockStore.Era(ctx)
	o.note(err)
	return era, since, err
}

// makePages makes hosts whose pages link to each other.
func makePages(w *crawltest.Web) (urls []string) {
	const hosts, each = 6, 20
	for h := range hosts {
		site := w.Site(fmt.Sprintf("h%d.test", h))
		for p := range each {
			next := fmt.Sprintf("http://h%d.test/%d", (h+1)%hosts, p)
			own := fmt.Sprintf("http://h%d.test/%d", h, (p+1)%each)
			site.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<a href=%q>a</a><a href=%q>b</a>", next, own))
			urls = append(urls, fmt.Sprintf("http://h%d.test/%d", h, p))
		}
	}
	return urls
}

func crawl(w *crawltest.Web, delay time.Duration) func(ctx context.Context, sh *cluster.Shard) error {
	return func(ctx context.Context, sh *cluster.Shard) error {
		out, err := sink.OpenJSONL(filepath.Join(sh.Dir, "visits.jsonl"))
		if err != nil {
			return err
		}
		defer out.Close(ctx)
		c := crawler.Config{
			Agent: "testbot/1.0", Contact: "https://lab.university.edu/crawl", Frontier: sh.Frontier(), Sinks: []sink.Sink{sh.Sink(out)},
			Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Concurrency: 8,
			Limits:     crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited, Time: time.Hour},
			Politeness: politeness.Config{Delay: delay, Fence: sh.Fence, Shared: sh.Sharing()},
			Commits:    crawler.Commits{Interval: 250 * time.Millisecond, Gate: true},
		}
		w.Apply(&c)
		x, err := crawler.New(c)
		if err != nil {
			return err
		}
		if sh.Epoch > 1 {
			if err := x.Gate().TakeOver(time.Second); err != nil {
				return err
			}
		}
		_, err = x.Run(ctx, "http://h0.test/0")
		return err
	}
}

// visited counts how often each URL is in the outputs of all nodes, including lines that were not committed.
func visited(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "visits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(bytes.TrimSpace(b))) {
			var v struct{ URL string }
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Errorf("%s: %v", f, err)
			}
			seen[v.URL]++
		}
	}
	return seen
}
