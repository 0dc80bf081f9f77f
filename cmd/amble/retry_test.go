package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// The URLs of a host that was given up after failures only are tried again if the user asks for a retry, and only then.
func TestRetryOfHostThatWasGivenUp(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/1>x</a><a href=/2>x</a><a href=/3>x</a>")
		case r.URL.Path != "/robots.txt" && down.Load():
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	run := func(want int, args ...string) string {
		t.Helper()
		a, _, errs := testApp(nil)
		if got := a.run(args); got != want {
			t.Errorf("%q: exit %d, want %d\n%s", args, got, want, errs)
		}
		return errs.String()
	}
	run(0, "crawl", "-o", dir, "-w", "0s", "--retries", "none", "--max-failures", "1", srv.URL+"/")
	if got := outcomes(t, dir); strings.Join(got, " ") != "/ fetched /1 failed /2 failed /3 deferred" {
		t.Fatal(got)
	}
	down.Store(false)
	if said := run(0, "resume", dir); !strings.Contains(said, "with nothing left") {
		t.Error(said)
	}
	run(2, "resume", dir, "--retry", "fetched")
	run(0, "resume", dir, "--retry", "deferred,failed", "--max-failures", "1")
	want := "/ fetched /1 failed /1 fetched /2 failed /2 fetched /3 deferred /3 fetched"
	if got := outcomes(t, dir); strings.Join(got, " ") != want {
		t.Error(got)
	}
	run(0, "verify", dir)
	run(0, "resume", dir, "--retry", "deferred,failed", "--max-failures", "1") // all URLs have been fetched
	if got := outcomes(t, dir); strings.Join(got, " ") != want {
		t.Error(got)
	}
}

// A host that was given up after five challenges of a bot wall is requested again if the operator orders that. Verify then finds no
// violation in the ledger.
func TestRetryOfHostBehindABotWall(t *testing.T) {
	t.Parallel()
	var walled atomic.Bool
	walled.Store(true)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, "<a href=/1>x</a><a href=/2>x</a><a href=/3>x</a><a href=/4>x</a><a href=/5>x</a><a href=/6>x</a>")
		case r.URL.Path != "/robots.txt" && walled.Load():
			w.Header().Set("Cf-Mitigated", "challenge")
		}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	run := func(args ...string) {
		t.Helper()
		a, _, errs := testApp(nil)
		if got := a.run(args); got != 0 {
			t.Errorf("%q: exit %d\n%s", args, got, errs)
		}
	}
	run("crawl", "-o", dir, "-w", "0s", "--max-backoff", "1ms", srv.URL+"/")
	walled.Store(false)
	run("resume", dir, "--retry", "deferred")
	if got := outcomes(t, dir); len(got) != 8 || got[len(got)-1] != "/6 fetched" {
		t.Error(got)
	}
	run("verify", dir)
}

// outcomes returns the paths and outcomes of a job's visits, sorted by path. Several visits of one URL stay in the order of the
// file.
func outcomes(t *testing.T, dir string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r sink.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r.URL[strings.LastIndexByte(r.URL, '/'):]+" "+r.Outcome)
	}
	path := func(s string) string { p, _, _ := strings.Cut(s, " "); return p }
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(path(a), path(b)) })
	return all
}

// With --retry, a page whose connection broke counts as failed. A page truncated by a limit does not.
func TestRetryOfPagesCutShort(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	body := "<a href=/1>x</a><a href=/2>x</a>" + strings.Repeat("x", 5000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/robots.txt":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/1" && down.Load():
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			fmt.Fprint(w, body[:1000])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/1":
			fmt.Fprint(w, "<p>whole")
		default:
			fmt.Fprint(w, body)
		}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	run := func(args ...string) {
		t.Helper()
		a, _, errs := testApp(nil)
		if got := a.run(args); got != 0 {
			t.Errorf("%q: exit %d\n%s", args, got, errs)
		}
	}
	run("crawl", "-o", dir, "-w", "0s", "--retries", "none", "--max-body", "4kB", srv.URL+"/")
	run("resume", dir, "--retry", "deferred")
	if got := strings.Join(outcomes(t, dir), " "); got != "/ fetched /1 fetched /2 fetched" {
		t.Fatal(got)
	}
	down.Store(false)
	run("resume", dir, "--retry", "failed")
	run("resume", dir, "--retry", "failed")
	if got := strings.Join(outcomes(t, dir), " "); got != "/ fetched /1 fetched /1 fetched /2 fetched" {
		t.Error(got)
	}
	run("verify", dir)
}
