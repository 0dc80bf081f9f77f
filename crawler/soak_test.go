package crawler

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// endless is an in-memory web of endless sites. The sites are sometimes slow, refuse, redirect, or send a large page. They
// use ever new values of everything that is counted: types, bodies, directories, queries.
type endless struct {
	server http.Server
	conns  chan net.Conn
	ended  sync.WaitGroup
}

func newEndless(t *testing.T) *endless {
	t.Helper()
	w := &endless{conns: make(chan net.Conn)}
	w.server.Handler = http.HandlerFunc(w.serve)
	w.ended.Go(func() { _ = w.server.Serve(w) })
	t.Cleanup(func() {
		_ = w.server.Close()
		w.ended.Wait()
	})
	return w
}

// Accept implements net.Listener.
func (w *endless) Accept() (net.Conn, error) {
	if c, ok := <-w.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (w *endless) Close() error { close(w.conns); return nil }

// Addr implements net.Listener.
func (w *endless) Addr() net.Addr { return &net.TCPAddr{} }

func (w *endless) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	w.conns <- server
	return client, nil
}

// LookupNetIP implements fetcher.Resolver: each name has its own address.
func (w *endless) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "s"), ".test"))
	return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, byte(n >> 8), byte(n)})}, nil
}

func (w *endless) serve(rw http.ResponseWriter, r *http.Request) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, r.Host+r.URL.String())
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	switch kind := h.Sum32() % 100; {
	case r.URL.Path == "/robots.txt":
		_, _ = io.WriteString(rw, "User-agent: *\nDisallow: /private\n")
		return
	case kind < 5:
		rw.Header().Set("Retry-After", "20")
		rw.WriteHeader(http.StatusTooManyRequests)
		return
	case kind < 10:
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	case kind < 20 && strings.HasPrefix(r.URL.Path, "/d"):
		http.Redirect(rw, r, fmt.Sprintf("/moved%d/x?n=%d", n, n), http.StatusFound)
		return
	case kind < 30:
		time.Sleep(time.Duration(kind) * 100 * time.Millisecond)
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	if n%7 == 0 {
		rw.Header().Set("Content-Type", fmt.Sprintf("text/x-%s-%d", r.Host, n))
	}
	_, _ = fmt.Fprintf(rw, "<title>%s%s</title>", r.Host, r.URL)
	for i := 1; i <= 8; i++ {
		_, _ = fmt.Fprintf(rw, "<a href='/d%d/x?n=%d'>on</a>", n+i, n+i)
	}
	if n%200 == 1 { // 2 MB of links to one disallowed URL
		for i := range 2000 {
			_, _ = fmt.Fprintf(rw, "<a href='/private?%d-%s'>%d</a>", n%10, strings.Repeat("x", 1000), i)
		}
	}
}

// retained returns how many things each part of a run holds, and the number of requests so far.
func (r *run) retained() (counts map[string]int, requests int) {
	r.duplicates.contents.mu.Lock()
	defer r.duplicates.contents.mu.Unlock()
	r.judge.trapCounts.mu.Lock()
	defer r.judge.trapCounts.mu.Unlock()
	r.causes.mu.Lock()
	defer r.causes.mu.Unlock()
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	r.bound.mu.Lock()
	defer r.bound.mu.Unlock()
	r.linkers.mu.Lock()
	defer r.linkers.mu.Unlock()
	return map[string]int{
		"contents": len(r.duplicates.contents.first), "trapCounts": len(r.judge.trapCounts.counts), "causes": len(r.causes.last),
		"hosts": len(r.tally.hosts), "reasons": len(r.tally.r.Reasons), "statuses": len(r.tally.r.Statuses),
		"types": len(r.tally.r.Types), "sitemaps": len(r.tally.sitemaps), "bound": len(r.bound.needs),
		"linkers": len(r.linkers.idle),
	}, r.tally.r.Requests
}

// Limits that are smaller than usual, so that the soak test reaches them. Other counts are bounded by the number of hosts or by
// constants.
const (
	soakContents   = 300
	soakTrapCounts = 3000
	soakMemTable   = 256 << 10
)

// Limits for the memory of an idle linker, in KiB: one that has read a page with many links (at most one per
// processor), and any other. Idle linkers are dropped before the rest is measured, because it is random which ones are
// idle.
const (
	grownLinker = 1000
	smallLinker = 64
)

// dropIdle drops the idle linkers and returns how many there were.
func (r *run) dropIdle() int {
	r.linkers.mu.Lock()
	defer r.linkers.mu.Unlock()
	n := len(r.linkers.idle)
	r.linkers.idle = nil
	return n
}

// Linkers with large buffers are not kept, and must not stay reachable from the list of kept ones.
func TestLinkersThatAreNotKeptAreForgotten(t *testing.T) {
	var l linkers
	j := &judge{cfg: &Config{}}
	// Each linker is in the list before it is taken out, and as many are taken as there are workers.
	var all []*linker
	for range 4 * runtime.GOMAXPROCS(0) {
		all = append(all, newLinker(j))
	}
	for _, k := range all {
		l.put(k)
	}
	var taken []weak.Pointer[linker]
	for i := range all {
		all[i] = l.take(j)
		taken = append(taken, weak.Make(all[i]))
	}
	for _, k := range all {
		k.grown = true
		l.put(k)
	}
	clear(all)
	runtime.GC()
	reachable := 0
	for _, k := range taken {
		if k.Value() != nil {
			reachable++
		}
	}
	if want := len(l.idle); reachable != want || want != runtime.GOMAXPROCS(0) {
		t.Errorf("%d linkers with grown buffers are reachable, %d are kept, want %d", reachable, want, runtime.GOMAXPROCS(0))
	}
}

// TestSoak crawls endless sites for hours of simulated time. In the first two hours, a run may grow up to its limits,
// which are small here. After that it must not grow, except for the memory that a frontier needs per known URL.
func TestSoak(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		hours := long.N(4, 7)
		if testing.Short() {
			hours = 4
		}
		sites := long.N(10, 20)
		if long.Race {
			sites = 3
		}
		soak(t, sites, hours, 15, func() frontier.Frontier { return frontier.NewMemory(frontier.MemoryConfig{}) })
	})
	t.Run("disk", func(t *testing.T) {
		if testing.Short() {
			t.Skip("each commit is written to the disk")
		}
		soak(t, 5, 4, 0, func() frontier.Frontier {
			store, err := disk.Open(t.TempDir(), disk.Config{MemTableSize: soakMemTable})
			if err != nil {
				t.Fatal(err)
			}
			return store
		})
	})
}

// soak crawls the given number of sites for the given number of hours. perURL is the maximum number of bytes per known
// URL.
func soak(t *testing.T, hosts, hours, perURL int, open func() frontier.Frontier) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := open()
		defer func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		r, end := soaking(t, newEndless(t), hosts, time.Duration(hours)*time.Hour, store)
		defer end()
		most := map[string]int{
			"contents": soakContents, "trapCounts": soakTrapCounts, "types": maxTypes + 1, "hosts": hosts, "bound": 2 * hosts,
			"linkers": r.cfg.Concurrency, "statuses": 4, "reasons": 4, "causes": 0, "sitemaps": 0,
		}
		settled, known := 0, 0
		for hour := 1; hour < hours; hour++ {
			time.Sleep(time.Hour)
			synctest.Wait()
			has, requests := r.retained()
			for part, n := range has {
				if limit, ok := most[part]; !ok || n > limit {
					t.Errorf("hour %d: %d %s, want at most %d", hour, n, part, limit)
				}
			}
			s := r.frontier.Stats()
			all := heapKiB()
			idle := r.dropIdle()
			urls, heap := s.Queued+s.Waiting+s.Done, heapKiB()
			if held, limit := all-heap, runtime.GOMAXPROCS(0)*grownLinker+idle*smallLinker; held > limit {
				t.Errorf("hour %d: %d idle linkers hold %d KiB, want at most %d", hour, idle, held, limit)
			}
			t.Logf("hour %d: %d requests, %d URLs known, heap %d KiB, %v", hour, requests, urls, heap, has)
			if hour == 2 {
				settled, known = heap, urls
			}
			varies := 128
			if long.Race { // with -race, it is random whether the engine uses Go's heap
				varies += 4 * soakMemTable >> 10
			}
			if grown := heap - settled; hour > 2 && grown > (urls-known)*perURL>>10+varies {
				t.Errorf("hour %d: the heap has grown by %d KiB since the second, with %d further URLs known", hour, grown, urls-known)
			}
		}
	})
}

// soaking starts a crawl of the first sites of w.
func soaking(t *testing.T, w *endless, hosts int, long time.Duration, store frontier.Frontier) (r *run, end func()) {
	t.Helper()
	c, err := New(Config{
		Contact: "https://crawler-tests.org/", Limits: Limits{Depth: Unlimited, Pages: Unlimited, Time: long}, Concurrency: 16,
		Traps: Traps{Queries: Unlimited, PerDir: 100}, Sinks: []sink.Sink{sink.NewJSONL(io.Discard)}, Duplicates: Duplicates{NearBits: 1},
		Politeness: politeness.Config{Delay: 10 * time.Second, Ledger: io.Discard, MaxFailures: politeness.Unlimited, MaxSilence: politeness.Forever},
		Fetch:      fetcher.Config{DialContext: w.dial, Resolver: w}, Frontier: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	seeds := make([]string, hosts)
	for i := range seeds {
		seeds[i] = fmt.Sprintf("http://s%d.test/d1/x?n=1", i)
	}
	if r, err = c.start(seeds, nil); err != nil {
		t.Fatal(err)
	}
	r.duplicates.contents.most, r.judge.trapCounts.most = soakContents, soakTrapCounts
	var ended sync.WaitGroup
	ended.Go(func() {
		if _, err := r.crawl(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r, func() { ended.Wait(); c.end(r) }
}

func heapKiB() int {
	runtime.GC()
	runtime.GC() // sync.Pool keeps its contents through one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 10)
}
