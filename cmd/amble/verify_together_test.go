package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/machine"
)

// TestVerifyFindsConcurrentCrawlsOfOneHost runs two crawls of one host at once. Each crawl is polite by itself. Verify finds the violation
// if it is given both jobs.
func TestVerifyFindsConcurrentCrawlsOfOneHost(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup // lets each crawl's request for robots.txt wait for that of the other crawl
	both.Add(2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			both.Done()
			both.Wait()
			time.Sleep(20 * time.Millisecond) // a slow response: both requests are in flight for 20 ms
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/1>x</a>")
	}))
	defer srv.Close()
	top := t.TempDir()
	dirs := []string{filepath.Join(top, "a"), filepath.Join(top, "b")}
	var crawls sync.WaitGroup
	for _, dir := range dirs {
		crawls.Go(func() {
			// Crawls in separate processes do not take turns here; those in one process would.
			if out, err := exec.Command("amble", "crawl", "-o", dir, "-w", "100ms", srv.URL+"/").CombinedOutput(); err != nil {
				t.Errorf("crawl: %v\n%s", err, out)
			}
		})
	}
	crawls.Wait()
	verify := func(want int, args ...string) string {
		t.Helper()
		a, out, errs := testApp(nil)
		if got := a.run(append([]string{"verify"}, args...)); got != want {
			t.Errorf("verify %v: exit %d, want %d\n%s%s", args, got, want, out, errs)
		}
		return out.String() + errs.String()
	}
	for _, dir := range dirs {
		verify(0, dir)
	}
	said := verify(7, dirs...)
	for _, want := range []string{dirs[0] + ":\n", dirs[1] + ":\n", "together: 6 requests of 2 jobs", "violation: P3 " + srv.Listener.Addr().String(), " before a request to the host had ended ("} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	a, out, _ := testApp(nil)
	_ = a.run(append([]string{"verify", "--json"}, dirs...))
	var v struct {
		Jobs     []struct{ Dir string }
		Together audit.Joint
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || len(v.Jobs) != 2 || v.Jobs[1].Dir != dirs[1] || len(v.Together.Violations) == 0 {
		t.Errorf("%v\n%s", err, out)
	}
	verify(2, dirs[0], dirs[0]+"/.")
	old := filepath.Join("testdata", "job-0.2.0", "finished")
	if said := verify(0, dirs[0], old); !strings.Contains(said, "no violation between them") {
		t.Error(said)
	}
}

// TestVerifyAllLeavesOutJobsThatCannotBeRead checks that if the state directory lists jobs that cannot be read, verify --all names them and
// checks the other jobs.
func TestVerifyAllLeavesOutJobsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := machine.Open(filepath.Join(dir, "state"), politeness.NewHosts(politeness.HostsLimits{}))
	for _, name := range []string{"finished", "killed", "damaged", "gone"} {
		job := filepath.Join(dir, name)
		if name != "gone" {
			if err := os.CopyFS(job, os.DirFS(filepath.Join("testdata", "job-0.2.0", map[bool]string{true: "killed", false: "finished"}[name == "killed"]))); err != nil {
				t.Fatal(err)
			}
		}
		if name == "damaged" {
			if err := os.WriteFile(filepath.Join(job, "politeness.json"), []byte("no JSON"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := state.AddJob(job); err != nil {
			t.Fatal(err)
		}
	}
	a, out, errs := testApp(nil)
	_ = a.run([]string{"verify", "--all", "--state", filepath.Join(dir, "state")})
	for _, want := range []string{"not there any more: " + filepath.Join(dir, "gone"), "left out: " + filepath.Join(dir, "damaged") + ": ", " of 2 jobs;"} {
		if !strings.Contains(errs.String()+out.String(), want) {
			t.Errorf("no %q in\n%s%s", want, errs, out)
		}
	}
	a, _, errs = testApp(nil)
	if code := a.run([]string{"verify", filepath.Join(dir, "finished"), filepath.Join(dir, "damaged")}); code != 6 {
		t.Errorf("a damaged job that is named: exit code %d\n%s", code, errs)
	}
}
