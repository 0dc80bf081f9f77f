//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// drillDelay is the delay between requests in drills.
const drillDelay = 120 * time.Millisecond

// drill represents servers on this machine, their request log, and a state directory that crawls share.
type drill struct {
	t     *testing.T
	dir   string
	hosts []string // URLs of the hosts

	mu     sync.Mutex
	log    map[string][]drilled // requests by host, in the order of their ends
	killed map[string]time.Time // times of the kills, by crawl
}

// drilled is a request as a server saw it.
type drilled struct {
	crawl      string // value of the header field X-Crawl
	start, end time.Time
}

// newDrill starts servers.
func newDrill(t *testing.T, hosts int) *drill {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes that wait for each other")
	}
	d := &drill{t: t, dir: t.TempDir(), log: map[string][]drilled{}, killed: map[string]time.Time{}}
	for range hosts {
		srv := httptest.NewServer(d)
		t.Cleanup(srv.Close)
		d.hosts = append(d.hosts, srv.URL+"/")
	}
	return d
}

// ServeHTTP implements http.Handler. It serves pages that link to others.
func (d *drill) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	w.Header().Set("Content-Type", "text/html")
	for i := range 40 {
		fmt.Fprintf(w, "<a href=/%d>x</a>", i)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log[r.Host] = append(d.log[r.Host], drilled{r.Header.Get("X-Crawl"), begun, time.Now()})
}

// start starts or resumes a crawl of all hosts in a job directory.
func (d *drill) start(dir, crawl string, pages int) *proc {
	d.t.Helper()
	args := []string{"crawl", "-q", "--state", filepath.Join(d.dir, "state"), "-w", drillDelay.String(), "--max-pages", fmt.Sprint(pages), "-H", "X-Crawl: " + crawl, "-o", filepath.Join(d.dir, dir)}
	return launch(d.t, append(args, d.hosts...)...)
}

// requests returns the number of requests of a crawl.
func (d *drill) requests(crawl string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, rs := range d.log {
		for _, r := range rs {
			if r.crawl == crawl {
				n++
			}
		}
	}
	return n
}

// kill kills the process of a crawl, and records the time.
func (d *drill) kill(p *proc, crawl string) {
	d.mu.Lock()
	d.killed[crawl] = time.Now()
	d.mu.Unlock()
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// judge checks in the servers' log that each host got one request at a time, with pauses between them. It leaves out requests that were in
// flight when their process was killed, because a server cannot know when they ended.
func (d *drill) judge() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for host, rs := range d.log {
		var last drilled
		for _, r := range rs {
			if at, ok := d.killed[r.crawl]; ok && !r.end.Before(at) {
				continue
			}
			if gap := r.start.Sub(last.end); !last.end.IsZero() && gap < drillDelay {
				d.t.Errorf("%s: %s began %v after the end of a request of %s", host, r.crawl, gap, last.crawl)
			}
			last = r
		}
	}
}

// verify checks the ledgers in these directories together, and then the ledgers of all jobs that the state directory knows.
func (d *drill) verify(dirs ...string) {
	d.t.Helper()
	args := []string{"verify"}
	for _, dir := range dirs {
		args = append(args, filepath.Join(d.dir, dir))
	}
	for _, args := range [][]string{args, {"verify", "--all", "--state", filepath.Join(d.dir, "state")}} {
		a, out, errs := testApp(nil)
		if code := a.run(args); code != 0 || !strings.Contains(out.String(), fmt.Sprintf(" of %d jobs", len(dirs))) || !strings.Contains(out.String(), "no violation between them") {
			d.t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
}

// Four processes crawl one host at the same time.
func TestDrillFourProcessesOnOneHost(t *testing.T) {
	t.Parallel()
	d := newDrill(t, 1)
	dirs := []string{"a", "b", "c", "d"}
	var crawls []*proc
	for _, dir := range dirs {
		crawls = append(crawls, d.start(dir, dir, 5))
	}
	for i, p := range crawls {
		p.ends(0)
		if n := d.requests(dirs[i]); n != 6 { // one for robots.txt and five for pages
			t.Errorf("%d requests of %s", n, dirs[i])
		}
	}
	d.judge()
	d.verify(dirs...)
}

// One of four processes is killed and started again, several times.
func TestDrillKilledProcess(t *testing.T) {
	t.Parallel()
	d := newDrill(t, 1)
	dirs := []string{"a", "b", "c", "d"}
	var crawls []*proc
	for _, dir := range dirs[1:] {
		crawls = append(crawls, d.start(dir, dir, 8))
	}
	for i := range 4 {
		crawl := fmt.Sprint("a", i)
		p := d.start("a", crawl, 30)
		until(t, "a request of "+crawl, func() bool { return d.requests(crawl) > 0 })
		d.kill(p, crawl)
	}
	d.start("a", "a", 30).ends(0)
	for _, p := range crawls {
		p.ends(0)
	}
	d.judge()
	d.verify(dirs...)
}

// Four processes crawl three hosts.
func TestDrillSeveralProcessesOnSeveralHosts(t *testing.T) {
	t.Parallel()
	d := newDrill(t, 3)
	dirs := []string{"a", "b", "c", "d"}
	var crawls []*proc
	for _, dir := range dirs {
		crawls = append(crawls, d.start(dir, dir, 15))
	}
	for _, p := range crawls {
		p.ends(0)
	}
	if len(d.log) != 3 {
		t.Errorf("%d hosts", len(d.log))
	}
	d.judge()
	d.verify(dirs...)
}
