//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
)

// An operator pauses a job, leaves one host out, slows another host down, resumes the job and ends it, with host names as people type them.
// The test checks the requests that the sites receive.
func TestClusterOrders(t *testing.T) {
	dir := t.TempDir()
	web := &clusterWeb{requests: map[string][]time.Time{}, first: map[string]string{}}
	var added atomic.Int64
	var out, slow string // two hosts: each page links to the next page of both
	serve := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		web.note(r)
		if r.URL.Path == "/added" {
			added.Add(1)
			return
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err == nil {
			fmt.Fprintf(rw, "<a href=http://%s/%d>a</a> <a href=http://%s/%d>b</a>", out, n+1, slow, n+1)
			return
		}
		http.NotFound(rw, r)
	}))
	defer serve.Close()
	slow = strings.TrimPrefix(serve.URL, "http://")
	out = strings.Replace(slow, "127.0.0.1", "localhost", 1)
	engine := listens(t, launch(t, "cluster", "serve", "--insecure", "--dir", filepath.Join(dir, "engine"), "--listen", "127.0.0.1:0"))
	run := func(code int, args ...string) string {
		t.Helper()
		a, out, errs := testApp(nil)
		if got := a.run(append(args, "--cluster", engine)); got != code {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, got, code, out, errs)
		}
		return out.String() + errs.String()
	}
	order := func(code int, args ...string) string {
		t.Helper()
		return run(code, append([]string{"cluster", args[0], "--job", "shops"}, args[1:]...)...)
	}
	run(0, "crawl", "--job", "shops", "--shards", "4", "--replicas", "1", "--lease", "6s", "-w", "100ms", "--max-pages", "none", "--depth", "none", "--rate", "50", "http://"+out+"/0", "http://"+slow+"/0")
	node := launch(t, "cluster", "work", "--cluster", engine, "--job", "shops", "--name", "n1", "-o", filepath.Join(dir, "n1"))
	until(t, "both sites are crawled", func() bool { return web.of(out) > 5 && web.of(slow) > 5 })
	obeyed := func() {
		t.Helper()
		until(t, "the node obeys", func() bool { return !strings.Contains(order(0, "status"), "not obeyed") })
	}
	order(0, "pause")
	obeyed()
	until(t, "nothing is under way", func() bool { // a request may have left the node but not yet arrived at the site
		before := web.count()
		for range 5 {
			order(0, "status")
		}
		return web.count() == before
	})
	paused := web.count()
	list := filepath.Join(dir, "out")
	if err := os.WriteFile(list, []byte("# asked us by mail\n"+"other.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	order(0, "leave-out", out)
	order(0, "slower", slow, "700ms")
	order(0, "opt-out", list)
	order(0, "set", "rate=20")
	more, bad := filepath.Join(dir, "more"), filepath.Join(dir, "bad")
	for path, text := range map[string]string{more: "http://" + slow + "/added\nhttp://" + slow + "/0\n", bad: "\nsite.to.crawl\nhttp://" + slow + "/added\nhttp://127.0.0.1:1/\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	order(0, "add", more)
	if said := order(0, "add", more); !strings.Contains(said, "2 of them before") {
		t.Errorf("the same seeds again: %s", said)
	}
	if said := order(cli.ExitUsage, "add", bad); !strings.Contains(said, bad+":2: site.to.crawl: not a URL") || !strings.Contains(said, bad+":4: ") || !strings.Contains(said, "--scope any") {
		t.Errorf("lines that are no seeds: %s", said)
	}
	obeyed()
	if n := web.count(); n != paused {
		t.Errorf("%d requests while the job is paused", n-paused)
	}
	for _, c := range []struct{ says, args string }{
		{"faster than it was created", "set rate=51"}, {"can only be lengthened", "slower " + slow + " 1ms"}, {"is not a host", "leave-out http://x/"},
		{"takes 2 arguments", "slower " + slow}, {"max-pages is none, and can only be raised", "set max-pages=5"}, {"no such file", "opt-out nowhere"}, {"takes 0 arguments", "pause now"},
		{"no such file", "add nowhere"},
	} {
		if said := order(cli.ExitUsage, strings.Fields(c.args)...); !strings.Contains(said, c.says) {
			t.Errorf("%s: %s", c.args, said)
		}
	}
	if said := order(0, "status"); !strings.Contains(said, "paused") || !strings.Contains(said, "order 2 at ") || !strings.Contains(said, "leave-out "+out) {
		t.Errorf("status: %s", said)
	}
	if said := run(0, "cluster", "list"); !strings.Contains(said, "shops") || !strings.Contains(said, "running") {
		t.Errorf("list: %s", said)
	}
	if said := order(cli.ExitUsage, "delete"); !strings.Contains(said, "is not over") {
		t.Errorf("a job that runs is deleted: %s", said)
	}
	gone := web.of(out)
	order(0, "resume")
	until(t, "the job goes on", func() bool { return web.of(slow) > paused-gone+3 && added.Load() > 0 })
	order(0, "drain")
	node.ends(0)
	if n := web.of(out); n != gone {
		t.Errorf("%d requests of the host that is left out", n-gone)
	}
	all := web.requests[slow][paused-gone:]
	for i := range all[1:] {
		if gap := all[i+1].Sub(all[i]); gap < 700*time.Millisecond {
			t.Errorf("the slow host was requested after %v", gap)
		}
	}
	if n := added.Load(); n != 1 {
		t.Errorf("%d requests of the seed that was added", n)
	}
	if said := order(cli.ExitUsage, "add", more); !strings.Contains(said, "amble cluster job resume") {
		t.Errorf("seeds for a job that is over: %s", said)
	}
	if said := order(cli.ExitUsage, "pause"); !strings.Contains(said, "amble cluster job resume") {
		t.Errorf("an order to a job that is over: %s", said)
	}
	if said := order(cli.ExitUsage, "delete"); !strings.Contains(said, "is not collected") {
		t.Errorf("a job is deleted that was not collected: %s", said)
	}
	order(0, "collect", "-o", filepath.Join(dir, "shops"), filepath.Join(dir, "n1"))
	order(0, "delete")
	if said := run(0, "cluster", "list"); !strings.Contains(said, "no jobs on") {
		t.Errorf("list without a job: %s", said)
	}
}

// of returns the number of requests to a host.
func (w *clusterWeb) of(host string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests[host])
}

// Errors that the user of the command can fix have exit code 2; errors of the engine and of this program do not.
func TestClusterExitCodes(t *testing.T) {
	for code, all := range map[int][]error{
		cli.ExitUsage:       {cluster.ErrValue, cluster.ErrOver, nats.ErrNoJob, nats.ErrCredentials, work.ErrOrder, work.ErrHeld, work.ErrTooManySeeds, politeness.ErrShorter},
		cli.ExitInternal:    {nats.ErrServer, nats.ErrFull, cluster.ErrJournal, cluster.ErrConflict, errors.New("nats: stream AMBLE_x_CTL: no space")},
		cli.ExitOutput:      {work.ErrMissing, work.ErrFull},
		cli.ExitUnavailable: {context.DeadlineExceeded},
	} {
		for _, x := range all {
			if err := clusterError(fmt.Errorf("the job: %w", x)); cli.ExitCode(err) != code || !errors.Is(err, x) {
				t.Errorf("%v: exit code %d, want %d", err, cli.ExitCode(err), code)
			}
		}
	}
	if err := clusterError(work.ErrTooManySeeds); !strings.Contains(err.Error(), "amble cluster job add") {
		t.Error(err)
	}
}
