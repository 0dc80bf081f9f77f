package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
)

// manyVariable names an environment variable for measuring by hand. Its value, such as "100 1000", is the numbers of jobs and of hosts.
const manyVariable = "TEST_MANY"

// many represents a simulated web with any number of hosts behind one listener. Each host has an address and a page.
type many struct {
	listener string
	open     atomic.Int64 // number of open connections
	most     atomic.Int64
	inFlight atomic.Int64
	busiest  atomic.Int64
	pages    sync.Map // number of requests by host
}

func raise(most *atomic.Int64, n int64) {
	for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
	}
}

func (m *many) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raise(&m.busiest, m.inFlight.Add(1))
	defer m.inFlight.Add(-1)
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	n, _ := m.pages.LoadOrStore(r.Host, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<title>page</title>")
}

// LookupNetIP returns the address of a host. Hosts are named hN.test.
func (m *many) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var n uint32
	if _, err := fmt.Sscanf(host, "h%d.test", &n); err != nil {
		return nil, err
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)})}, nil
}

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	close func()
}

func (c *counted) Close() error {
	c.close()
	return c.Conn.Close()
}

// DialContext connects to the one listener, whatever the address is.
func (m *many) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, m.listener)
	if err != nil {
		return nil, err
	}
	raise(&m.most, m.open.Add(1))
	return &counted{c, sync.OnceFunc(func() { m.open.Add(-1) })}, nil
}

// Many jobs together need no more requests in flight, memory and open files than a few jobs.
func TestManyJobsShareBounds(t *testing.T) {
	count, hosts := 8, 10
	if text := os.Getenv(manyVariable); text != "" {
		if _, err := fmt.Sscan(text, &count, &hosts); err != nil {
			t.Fatal(err)
		}
	} else if long.Full() {
		count, hosts = 20, 50
	}
	web := &many{}
	s := httptest.NewServer(web)
	defer s.Close()
	web.listener = s.Listener.Addr().String()
	const concurrency = 200
	m := open(t, t.TempDir(), Config{
		Running: count, Concurrency: concurrency, InFlight: 64 << 20,
		Programs: map[string]Program{"many": func(_ json.RawMessage, c *job.Config) error {
			c.Crawl.Fetch = fetcher.Config{Resolver: web, DialContext: web.DialContext}
			return nil
		}},
	})
	var files, routines, heap, rss int
	watched, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(200 * time.Millisecond); ; {
			if all, err := os.ReadDir("/proc/self/fd"); err == nil {
				files = max(files, len(all))
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			routines, heap, rss = max(routines, runtime.NumGoroutine()), max(heap, int(mem.HeapInuse>>20)), max(rss, resident())
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				return
			}
		}
	}()
	began := time.Now()
	var ids []string
	for i := range count {
		q := Request{Program: "many", Settings: map[string]any{"contact": "me@university.edu", "max-pages": "none"}}
		for j := range hosts {
			q.Seeds = append(q.Seeds, fmt.Sprintf("http://h%d.test/", i*hosts+j))
		}
		ids = append(ids, start(t, m, q).ID)
	}
	for _, id := range ids {
		if info := wait(t, m, id, Done); info.Pages != hosts {
			t.Errorf("%+v", info)
		}
	}
	took := time.Since(began)
	close(stop)
	<-watched
	seen := 0
	web.pages.Range(func(host, n any) bool {
		if seen++; n.(*atomic.Int64).Load() != 1 {
			t.Errorf("%v: %d requests for its page", host, n.(*atomic.Int64).Load())
		}
		return true
	})
	if seen != count*hosts {
		t.Errorf("%d hosts were requested, want %d", seen, count*hosts)
	}
	if n := web.busiest.Load(); n > concurrency {
		t.Errorf("%d requests in flight, of at most %d", n, concurrency)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs of %d hosts: %.1f s, CPU %.1f s, server included; resident %d MiB, heap %d MiB, %d files, %d goroutines, %d connections, %d requests in flight at most",
		count, hosts, took.Seconds(), time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds(), rss, heap, files, routines, web.most.Load(), web.busiest.Load())
}

// resident returns the resident memory of the process in MiB.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		return 0
	}
	return pages * os.Getpagesize() >> 20
}

// However many jobs run, they share resources that are as large as those of four jobs.
func TestSharesOfManyJobsAreThoseOfFour(t *testing.T) {
	for _, running := range []int{1, 4, 100} {
		m := open(t, t.TempDir(), Config{Running: running, Concurrency: 200, InFlight: 64 << 20})
		c, err := m.configure(&Request{Seeds: []string{"http://127.0.0.1/"}})
		if err != nil {
			t.Fatal(err)
		}
		m.restrain(&c)
		if c.Parallel != running || (c.Crawl.Politeness.MaxRulesBytes != 0) != (running > 4) || c.Crawl.Concurrency != 200/running || c.Crawl.Limits.InFlight != 64<<20/int64(running) {
			t.Errorf("%d jobs: %d, %d, %d, %d", running, c.Parallel, c.Crawl.Politeness.MaxRulesBytes, c.Crawl.Concurrency, c.Crawl.Limits.InFlight)
		}
	}
	if _, err := Open(t.TempDir(), Config{Running: 1 << 30}); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Error("more jobs than there are files for")
	}
}
