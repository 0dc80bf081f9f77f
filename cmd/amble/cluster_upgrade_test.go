package main

import (
	"archive/zip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/natsserver"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// TestClusterJobOfVersion020 continues a job that a server and two nodes of version 0.2.0 left halfway; one of the nodes was killed. A
// server and nodes of this version continue it, in both old directories and in a new one. Each page is requested once, by either version,
// and all pauses are kept. The collected job has each page once, and check and verify find no fault.
func TestClusterJobOfVersion020(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	t.Parallel()
	dir := t.TempDir()
	recorded, err := zip.OpenReader(filepath.Join("testdata", "cluster-0.2.0", "stopped.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	if err := os.CopyFS(dir, recorded); err != nil {
		t.Fatal(err)
	}
	engine, err := natsserver.Start(natsserver.Config{Name: "s1", Dir: filepath.Join(dir, "engine"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	web, began := serveUpgraded(t), time.Now()
	names := []string{"a", "b", "c"}
	web.crawl(dir, engine.URL(), names)

	at, out := []string{"--cluster", engine.URL(), "--job", "old"}, filepath.Join(dir, "out")
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, filepath.Join(dir, name))
	}
	for _, args := range [][]string{
		append(append([]string{"cluster", "job", "check"}, at...), dirs...),
		append(append([]string{"cluster", "job", "collect", "-o", out}, at...), dirs...),
		{"verify", out},
	} {
		a, says, errs := testApp(nil)
		if code := a.run(args); code != cli.ExitDone {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, says, errs)
		}
	}
	web.check(out, began)
}

// upgradedWeb is the site of the recorded job. Its servers may have other addresses than those in the job's URLs.
type upgradedWeb struct {
	t       *testing.T
	servers map[string]string // address of each server, by the address in its URLs

	mu    sync.Mutex
	count map[string]int // numbers of requests, by URL
	ends  map[string]time.Time
}

const (
	upgradedHosts = 6
	upgradedEach  = 12 // pages per host
	upgradedDelay = 300 * time.Millisecond
)

func serveUpgraded(t *testing.T) *upgradedWeb {
	t.Helper()
	w := &upgradedWeb{t: t, servers: map[string]string{}, count: map[string]int{}, ends: map[string]time.Time{}}
	for h := range upgradedHosts {
		s := httptest.NewServer(http.HandlerFunc(w.serve))
		t.Cleanup(s.Close)
		w.servers[upgradedHost(h)] = s.Listener.Addr().String()
	}
	return w
}

func upgradedHost(h int) string { return fmt.Sprintf("127.0.40.%d:8811", 1+h%upgradedHosts) }

func (w *upgradedWeb) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	if short := upgradedDelay - time.Since(w.ends[r.Host]); short > 0 {
		w.t.Errorf("%s is requested %v too early", r.Host, short)
	}
	if w.ends[r.Host].IsZero() && r.URL.Path != "/robots.txt" {
		w.t.Errorf("the first request of %s is for %s", r.Host, r.URL.Path)
	}
	w.count["http://"+r.Host+r.URL.Path]++
	w.mu.Unlock()
	var host, page int
	_, _ = fmt.Sscanf(r.Host, "127.0.40.%d", &host)
	_, err := fmt.Sscanf(r.URL.Path, "/%d", &page)
	var body string
	switch {
	case r.URL.Path == "/robots.txt":
		body = "User-agent: *\nDisallow: /no/\n"
	case err != nil || page >= upgradedEach:
		w.t.Errorf("%s%s is requested", r.Host, r.URL.Path)
	default:
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		body = fmt.Sprintf("<a href=/%d>x</a><a href=http://%s/%d>x</a><a href=/no/>x</a>", (page+1)%upgradedEach, upgradedHost(host), page)
	}
	w.mu.Lock()
	w.ends[r.Host] = time.Now()
	w.mu.Unlock()
	_, _ = fmt.Fprint(rw, body)
}

// crawl lets nodes with these names finish the job.
func (w *upgradedWeb) crawl(dir, engine string, names []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	var nodes sync.WaitGroup
	for _, name := range names {
		e, err := nats.Connect(ctx, nats.Config{URLs: engine, Job: "old", Shards: 6})
		if err != nil {
			w.t.Fatal(err)
		}
		defer e.Close()
		n := &work.Node{Engine: e, Name: name, Dir: filepath.Join(dir, name), JobName: "old", MaxShards: 2, Program: func(c *job.Config) {
			c.Crawl.Fetch.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, w.servers[addr])
			}
		}}
		nodes.Go(func() {
			if err := n.Run(ctx); err != nil || ctx.Err() != nil {
				w.t.Errorf("node %s: %v, %v", name, err, ctx.Err())
			}
		})
	}
	nodes.Wait()
}

// check compares the collected job with the requests received since the given time.
func (w *upgradedWeb) check(out string, since time.Time) {
	w.t.Helper()
	r, err := job.Read(out)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	seen, before := map[string]int{}, 0
	for v, err := range r.Visits() {
		if err != nil {
			w.t.Fatal(err)
		}
		if v.Outcome != string(crawler.Fetched) {
			continue
		}
		seen[v.URL]++
		want := 0
		if v.Started.After(since) {
			want = 1
		} else {
			before++
		}
		if n := w.count[v.URL]; n != want {
			w.t.Errorf("%s of %v is requested %d times by this version", v.URL, v.Started, n)
		}
	}
	for h := range upgradedHosts {
		for p := range upgradedEach {
			if u := fmt.Sprintf("http://%s/%d", upgradedHost(h), p); seen[u] != 1 {
				w.t.Errorf("%s is there %d times", u, seen[u])
			}
		}
	}
	if after := len(seen) - before; before < 20 || after < 20 {
		w.t.Errorf("%d pages of version 0.2.0, %d of this one", before, after)
	}
	for u, n := range w.count {
		if n > 1 && !strings.HasSuffix(u, "/robots.txt") {
			w.t.Errorf("%s is requested %d times", u, n)
		}
	}
}
