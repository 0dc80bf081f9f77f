package chromium_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

var (
	figures = flag.Int("figures", 0, "pages of each row of TestFigures; 0: none")
	flat    = flag.Int("figures.flat", 0, "pages of TestMemoryIsFlat; 0: none")
)

// sums holds a row of measurements.
type sums struct {
	pages    int
	wall     time.Duration
	browser  time.Duration // processor time of the browser's processes
	own      time.Duration // processor time of this process, which is server, fetcher and renderer
	peak     int64         // memory of the browser, in bytes
	requests int
}

func (s sums) cpu() time.Duration { return (s.browser + s.own) / time.Duration(s.pages) }

func (s sums) String() string {
	n := time.Duration(s.pages)
	return fmt.Sprintf("%5.1f pages/s, CPU a page %4d ms (browser %4d, this process %3d), browser's memory at most %3d MiB, %4.1f requests a page",
		float64(s.pages)/s.wall.Seconds(), s.cpu().Milliseconds(), (s.browser / n).Milliseconds(), (s.own / n).Milliseconds(), s.peak>>20, float64(s.requests)/float64(s.pages))
}

// shop is a site whose pages are built by scripts: a library of 200 KiB, two modules, and an answer of 100 entries for each page.
func shop() files {
	var lib strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lib, "export function f%d(a, b) { return a.map(x => ({v: x * %d + b})).filter(x => x.v %% 3) }\n", i, i)
	}
	return files{
		"/":       `<!doctype html><title>shell</title><div id=root></div><script type=module src=/app.js></script>`,
		"/app.js": `import * as lib from "/lib.js"; import {row} from "/row.js"; const j = await (await fetch("/api" + location.search)).json(); let n = 0; for (const k of Object.keys(lib)) n += lib[k]([1, 2, 3], 4).length; root.innerHTML = j.items.map(row).join("") + n; document.title = "done"`,
		"/row.js": `export const row = x => "<div class=item><h2>" + x.name + "</h2><p>" + x.text + "</p><a href=/item?" + x.id + ">more</a></div>"`,
		"/lib.js": lib.String(),
		"/api":    `{"items": [` + strings.TrimSuffix(strings.Repeat(`{"id": 1, "name": "thing", "text": "some words about it, as shops have them"},`, 100), ",") + `]}`,
	}
}

// measure loads n pages, with "at" pages in progress at the same time, and measures what the browsers with these processes use.
func measure(t *testing.T, s *site, n, at int, pids func() []int, load func(path string) error) sums {
	t.Helper()
	s.mu.Lock()
	before := len(s.requests)
	s.mu.Unlock()
	m := sums{pages: n, browser: -processors(pids()), own: -ownCPU()}
	ctx, stop := context.WithCancel(t.Context())
	var peak atomic.Int64
	var watch, work sync.WaitGroup
	watch.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			total := int64(0)
			for _, p := range pids() {
				total += chromium.Memory(p)
			}
			peak.Store(max(peak.Load(), total))
		}
	})
	began := time.Now()
	var next atomic.Int64
	for range at {
		work.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := load(fmt.Sprint("/?", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	m.wall = time.Since(began)
	stop()
	watch.Wait()
	m.browser, m.own, m.peak = m.browser+processors(pids()), m.own+ownCPU(), peak.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	m.requests = len(s.requests) - before
	return m
}

func processors(pids []int) (total time.Duration) {
	for _, p := range pids {
		total += chromium.CPU(p)
	}
	return total
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// onlyLoopback ends a test that would give a browser access to a network.
func onlyLoopback(t *testing.T) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			t.Fatalf("there is a network here, %s: run the test where there is none (unshare -n, and loopback up)", i.Name)
		}
	}
}

// intercepted measures a Renderer. If shared is false, each page has its own store.
func intercepted(t *testing.T, c chromium.Config, s *site, n int, shared bool) (sums, chromium.Info) {
	t.Helper()
	r := rendertest.Configured(t, c)
	defer r.Close()
	store := render.NewStore(0)
	x := measure(t, s, n, max(1, c.Tabs), r.Processes, func(path string) error {
		own := store
		if !shared {
			own = render.NewStore(0)
		}
		if res := s.with(r, path, render.Policy{}, own); res.Cut != "" || len(res.DOM) < 5000 && !bytes.Contains(res.DOM, []byte("end!")) {
			return fmt.Errorf("%s: %q, %d bytes", path, res.Cut, len(res.DOM))
		}
		return nil
	})
	return x, r.Info()
}

// TestFigures compares, in one run, the cost of rendering with that of the same browser loading the same pages by itself:
//
//	go test -c -o chromium.test ./render/chromium
//	unshare -n sh -c 'ip link set lo up && ./chromium.test -test.run ^TestFigures$ -test.v -test.timeout 1h -figures 100'
func TestFigures(t *testing.T) {
	if *figures == 0 {
		t.Skip("measures with -figures N")
	}
	onlyLoopback(t)
	t.Logf("%d processors, %d pages in each row", runtime.NumCPU(), *figures)
	plain := map[int]sums{}
	for _, at := range []int{1, 2, 4} {
		for _, virtual := range []bool{false, true} {
			s, b := newSite(t, shop()), chromium.StartPlain(t)
			m := measure(t, s, *figures, at, func() []int { return []int{b.PID()} }, func(path string) error {
				html, err := b.Page(t.Context(), s.server.URL+path, virtual)
				if err == nil && len(html) < 5000 {
					err = fmt.Errorf("%d bytes", len(html))
				}
				return err
			})
			name := "until its title"
			if virtual {
				plain[at], name = m, "5 s of its clock"
			}
			t.Logf("not intercepted, %d at a time, %-16s %s", at, name+":", m)
		}
	}
	for _, tabs := range []int{1, 2, 4} {
		m, _ := intercepted(t, chromium.Config{Tabs: tabs, Parked: -1}, newSite(t, shop()), *figures, true)
		t.Logf("rendered, %d tabs, none parked: %s; CPU × %.2f", tabs, m, m.cpu().Seconds()/plain[tabs].cpu().Seconds())
		m, _ = intercepted(t, chromium.Config{Tabs: tabs}, newSite(t, shop()), *figures, true)
		t.Logf("rendered, %d tabs, %d parked:    %s; CPU × %.2f", tabs, 2*tabs, m, m.cpu().Seconds()/plain[tabs].cpu().Seconds())
	}
	m, _ := intercepted(t, chromium.Config{Tabs: 1}, newSite(t, shop()), *figures, false)
	t.Logf("rendered, a store for each page: %s", m)
	for _, parked := range []int{-1, 4} {
		m, i := intercepted(t, chromium.Config{Tabs: 1, Parked: parked}, newSite(t, chain(10)), max(1, *figures/10), false)
		t.Logf("a chain of 10 imports, %d parked: %s; %.1f pages opened for each", max(0, parked), m, float64(i.Pages-1)/float64(m.pages))
	}
}

// TestMemoryIsFlat renders many pages, and prints the memory of this process and its browsers meanwhile:
//
//	unshare -n sh -c 'ip link set lo up && ./chromium.test -test.run ^TestMemoryIsFlat$ -test.v -test.timeout 3h -figures.flat 5000'
func TestMemoryIsFlat(t *testing.T) {
	if *flat == 0 {
		t.Skip("measures with -figures.flat N")
	}
	onlyLoopback(t)
	r := rendertest.Configured(t, chromium.Config{Tabs: 2})
	s, store := newSite(t, shop()), render.NewStore(0)
	var first uint64
	for done := 0; done < *flat; {
		n := min(max(1, *flat/10), *flat-done)
		m := measure(t, s, n, 2, r.Processes, func(path string) error {
			if res := s.with(r, fmt.Sprint(path, "-", done), render.Policy{}, store); res.Cut != "" {
				return fmt.Errorf("%s: %s", path, res.Cut)
			}
			return nil
		})
		done += n
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		if first == 0 {
			first = mem.HeapAlloc
		}
		t.Logf("%5d pages: browsers at most %3d MiB, this process %4.1f MiB, %.1f pages/s", done, m.peak>>20, float64(mem.HeapAlloc)/(1<<20), float64(n)/m.wall.Seconds())
		if mem.HeapAlloc > first+first/2+(16<<20) {
			t.Errorf("this process has %d MiB, at first it had %d", mem.HeapAlloc>>20, first>>20)
		}
		if m.peak > 2*int64(1<<30) {
			t.Errorf("the browsers have %d MiB", m.peak>>20)
		}
	}
}
