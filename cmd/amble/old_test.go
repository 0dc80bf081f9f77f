package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// oldJob returns a copy of a recorded job directory, and a function that runs a command and checks its exit code and output.
func oldJob(t *testing.T, name string) (dir string, run func(code int, says []string, args ...string)) {
	return copiedJob(t, name), func(want int, says []string, args ...string) {
		t.Helper()
		a, out, errs := testApp(nil)
		code := a.run(args)
		text := out.String() + errs.String()
		for _, s := range says {
			if !strings.Contains(text, s) {
				t.Errorf("%v: does not say %q", args, s)
			}
		}
		if code != want || t.Failed() {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, text)
		}
	}
}

// readOld runs the commands that read a job without changing it.
func readOld(t *testing.T, run func(int, []string, ...string), dir, replayed, explained string) {
	t.Helper()
	to := t.TempDir()
	run(cli.ExitDone, []string{"no violation\n", "each with its request\n", "without a chain by an earlier version"}, "verify", dir)
	run(cli.ExitDone, []string{replayed}, "replay", dir)
	run(cli.ExitDone, []string{explained, "robots   allowed: no rule matches"}, "explain", dir, "http://127.0.0.1:8807/p3.html")
	for _, kind := range []string{"csv", "sqlite", "wacz", "crawl.log"} {
		run(cli.ExitDone, nil, "export", dir, "--to", kind, "-o", filepath.Join(to, kind))
	}
}

// TestFinishedJobOfVersion010 reads a finished job of version 0.1.0.
func TestFinishedJobOfVersion010(t *testing.T) {
	t.Parallel()
	dir, run := oldJob(t, "job-0.1.0/finished")
	readOld(t, run, dir, "19 visits, 0 differ\n", "verdict  fetched")
	run(cli.ExitDone, []string{"7 files of", "as they were committed"}, "verify", dir)
	run(cli.ExitDone, []string{"done 2026-11-22 21:18:20 UTC, nothing left", "fetched 17, redirected 1, refused 1"}, "status", dir)
	run(cli.ExitDone, []string{"ended at 2026-11-22T21:18:20Z with nothing left"}, "resume", dir)
	run(cli.ExitDone, []string{"17 pages in 2s: done"}, "report", dir)
	run(cli.ExitDone, []string{"files as in SHA256SUMS"}, "verify", dir)
}

// TestKilledJobOfVersion010 reads a killed job of version 0.1.0, and resumes it. The site keeps its old address, behind a proxy.
func TestKilledJobOfVersion010(t *testing.T) {
	t.Parallel()
	dir, run := oldJob(t, "job-0.1.0/killed")
	readOld(t, run, dir, "5 visits, 0 differ; 2 URLs left", "verdict  queued")
	run(cli.ExitDone, []string{"2 URLs left at 1 host"}, "status", dir)
	run(cli.ExitDone, []string{"3 pages", "2 URLs left", "nothing is written into the job"}, "report", dir)
	before := visitsOf(t, dir)
	run(cli.ExitDone, []string{"kept no hashes of its files", "in 2 runs", "done, nothing left"}, "resume", dir, "--proxy", oldSite(t))
	if after := visitsOf(t, dir); !strings.HasPrefix(after, before) || strings.Count(after, "\n") != strings.Count(before, "\n")+2 {
		t.Errorf("visits were\n%s\nand are\n%s", before, after)
	}
	// The new process requests two pages, and robots.txt, because the job's copy is older than a day.
	run(cli.ExitDone, []string{"no violation\n", "9 requests to 1 host, by 2 processes, 1 cut off", "as they were committed"}, "verify", dir)
	run(cli.ExitDone, []string{"5 pages", "done, nothing left"}, "report", dir)
	run(cli.ExitDone, []string{"7 visits, 0 differ"}, "replay", dir)
	run(cli.ExitDone, nil, "export", dir, "--to", "wacz", "-o", filepath.Join(t.TempDir(), "job.wacz"))
}

// TestKilledJobOfVersion020 resumes a killed job of version 0.2.0. TestOutsideOfRecordedJobs reads this job and the finished one.
func TestKilledJobOfVersion020(t *testing.T) {
	t.Parallel()
	dir, run := oldJob(t, "job-0.2.0/killed")
	before := visitsOf(t, dir)
	run(cli.ExitDone, []string{"in 2 runs", "done, nothing left"}, "resume", dir, "--proxy", oldSite(t))
	if after := visitsOf(t, dir); !strings.HasPrefix(after, before) || strings.Count(after, "\n") != strings.Count(before, "\n")+3 {
		t.Errorf("visits were\n%s\nand are\n%s", before, after)
	}
	run(cli.ExitDone, []string{"no violation\n", "by 2 processes, 1 cut off", "as they were committed"}, "verify", dir)
	run(cli.ExitDone, []string{"7 visits, 0 differ"}, "replay", dir)
	dir, run = oldJob(t, "job-0.2.0/finished")
	run(cli.ExitDone, []string{"ended at 2026-11-25T15:42:45Z with nothing left"}, "resume", dir)
}

func visitsOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// oldSite serves the site of the recorded jobs, and returns a proxy for it.
func oldSite(t *testing.T) string {
	t.Helper()
	return siteBehindProxy(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
			return
		}
		page(r.URL.Path)(w, r)
	})
}

// siteBehindProxy serves a site, and returns a proxy through which the site has the address http://127.0.0.1:8807.
func siteBehindProxy(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	site := httptest.NewServer(serve)
	t.Cleanup(site.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "127.0.0.1:8807" {
			http.Error(w, "want CONNECT 127.0.0.1:8807", http.StatusBadRequest)
			return
		}
		tunnel(t, w, site.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// tunnel answers a CONNECT request. It copies bytes between the client and addr until either side closes the connection.
func tunnel(t *testing.T, w http.ResponseWriter, addr string) {
	to, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = to.Close() }()
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = client.Close() }()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(to, client)
		_ = to.Close()
	}()
	_, _ = io.Copy(client, to)
}
