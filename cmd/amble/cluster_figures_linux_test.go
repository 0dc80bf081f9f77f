package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job"
)

var clusterKnown = flag.Int("cluster.known", 0, "measure the memory of a node that knows that many URLs, and of one with 64 idle shards: 1000000 takes some minutes")

var clusterFigures = flag.Int("cluster.figures", 0, "measure what a cluster costs with that many pages of each of 50 hosts: 100 takes some minutes of a machine that does nothing else")

// TestClusterFigures measures real commands and prints the cost of a cluster: the CPU time per page of a node whose journal is on one
// server or on three, divided by the CPU time per page of a crawl on one machine. It fails only if a crawl does not end.
func TestClusterFigures(t *testing.T) {
	if *clusterFigures == 0 {
		t.Skip("measures: -cluster.figures 100")
	}
	f := newFigures(t, *clusterFigures, 80)
	pages := float64(f.hosts * f.each)
	single := f.crawl(t)
	t.Logf("one machine: %.3f CPU-ms a page, %d MiB", single.cpu.Seconds()*1000/pages, single.peak>>20)
	for _, n := range []int{1, 3} {
		c := f.cluster(t, n, "8", "none")
		t.Logf("R%d: %.3f CPU-ms a page, %.2f of one machine; %.3f with its servers; %d MiB",
			n, c.cpu.Seconds()*1000/pages, c.cpu.Seconds()/single.cpu.Seconds(), (c.cpu+c.servers).Seconds()*1000/pages, c.peak>>20)
	}
}

// The memory limits of two nodes: one has 64 shards, nearly all of them idle; the other knows 1,000,000 URLs.
const (
	idleMemory  = 600 << 20
	knownMemory = 1 << 30
)

// TestClusterMemory checks that a node stays within its memory limits.
func TestClusterMemory(t *testing.T) {
	if *clusterKnown == 0 {
		t.Skip("takes minutes: -cluster.known 1000000")
	}
	idle := newFigures(t, 1, 0)
	idle.hosts = 1
	c := idle.cluster(t, 1, "64", "none")
	t.Logf("64 shards, nearly all idle: %d MiB", c.peak>>20)
	if c.peak > idleMemory {
		t.Errorf("more than %d MiB", idleMemory>>20)
	}
	pages := *clusterKnown / 1000
	many := newFigures(t, pages, 1000)
	c = many.cluster(t, 1, "64", strconv.Itoa(pages))
	t.Logf("%d pages, with %d URLs left, 64 shards: %d MiB", pages, c.left, c.peak>>20)
	if c.peak > knownMemory || c.left < *clusterKnown*9/10 {
		t.Errorf("more than %d MiB, or fewer URLs than %d", knownMemory>>20, *clusterKnown)
	}
}

// figures represents a site for measuring crawls: 50 hosts on loopback, crawled without pauses.
type figures struct {
	hosts, each int
	seeds       []string
	own         string // path of the file that lists the own hosts
}

// figuresCost holds the cost of a process and of the servers that it used.
type figuresCost struct {
	cpu, servers time.Duration
	peak         int64 // peak memory in bytes
	left         int   // number of URLs left in the queue
}

func newFigures(t *testing.T, each, links int) *figures {
	t.Helper()
	f := &figures{hosts: 50, each: each, own: filepath.Join(t.TempDir(), "own")}
	filler := bytes.Repeat([]byte("Words that a page is made of. "), 1000)
	var own strings.Builder
	for range f.hosts {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
			if err != nil || p >= each && links < 1000 {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			var b bytes.Buffer
			fmt.Fprintf(&b, "<!doctype html><title>%d</title>", p)
			for i := range links {
				at := (2*p + 1 + i) % each
				if links >= 1000 { // all links are new
					at = 1000*(p+1) + i
				}
				fmt.Fprintf(&b, "<a href=\"/%d\">x</a>", at)
			}
			_, _ = w.Write(append(b.Bytes(), filler[:max(0, len(filler)-b.Len())]...))
		}))
		t.Cleanup(srv.Close)
		f.seeds = append(f.seeds, srv.URL+"/0")
		fmt.Fprintln(&own, strings.TrimPrefix(srv.URL, "http://"))
	}
	if err := os.WriteFile(f.own, []byte(own.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *figures) flags(pages string) []string {
	return append([]string{"--own-hosts", f.own, "--delay", "0", "--depth", "100000", "--max-per-dir", "none", "--max-pages", pages}, f.seeds[:f.hosts]...)
}

// crawl measures a crawl on one machine.
func (f *figures) crawl(t *testing.T) figuresCost {
	t.Helper()
	p := launch(t, append([]string{"crawl", "--quiet", "-o", filepath.Join(t.TempDir(), "job")}, f.flags("none")...)...)
	return measured(p)
}

// cluster measures one node that owns all shards of a job.
func (f *figures) cluster(t *testing.T, servers int, shards, pages string) figuresCost {
	t.Helper()
	dir, addrs := t.TempDir(), freeAddrs(t, 6)
	var urls []string
	var all []*proc
	for i := range servers {
		args := []string{"cluster", "serve", "--insecure", "--name", fmt.Sprint("s", i), "--dir", filepath.Join(dir, fmt.Sprint("s", i)), "--listen", addrs[i]}
		if servers > 1 {
			args = append(args, "--routes-listen", addrs[3+i], "--routes", strings.Join(addrs[3:], ","))
		}
		urls, all = append(urls, "nats://"+addrs[i]), append(all, launch(t, args...))
	}
	at := []string{"--cluster", strings.Join(urls, ","), "--job", "figures"}
	create := append(append([]string{"cluster", "create"}, at...), "--shards", shards, "--replicas", strconv.Itoa(servers))
	until(t, "the job is created", func() bool {
		p := launch(t, append(create, f.flags(pages)...)...)
		<-p.done
		return p.cmd.ProcessState.Success()
	})
	c := measured(launch(t, append(append([]string{"cluster", "work"}, at...), "--name", "n", "-o", filepath.Join(dir, "n"))...))
	out := filepath.Join(dir, "out")
	launch(t, append(append([]string{"cluster", "collect"}, at...), "-o", out, filepath.Join(dir, "n"))...).ends(0)
	r, err := job.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := r.Report()
	if err != nil {
		t.Fatal(err)
	}
	c.left = rep.Left
	for _, p := range all {
		_ = p.cmd.Process.Signal(os.Interrupt)
		<-p.done
		c.servers += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return c
}

// measured waits until a process has ended, and returns its cost.
func measured(p *proc) (c figuresCost) {
	p.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for ended := false; !ended; {
		select {
		case <-again.C:
			c.peak = max(c.peak, residentPeak(p.cmd.Process.Pid))
		case <-p.done:
			ended = true
		}
	}
	p.ends(0)
	c.cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	return c
}

// residentPeak returns the peak memory of a process, in bytes.
func residentPeak(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}
