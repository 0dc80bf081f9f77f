//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/stores/storestest"
)

// names lists the files below a directory with lengths and times. It leaves out the names in but, which a running crawl may be writing.
func names(t *testing.T, dir string, but ...string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		for _, name := range but {
			if err == nil && e.Name() == name {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		list = append(list, path+" "+strconv.FormatInt(info.Size(), 10)+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReportAndPageOfACrawlThatRunsAndOfOneThatWasKilled reads the directory of a crawl from other processes, while the crawl runs and
// after it was killed. The commands report and serve state which is the case, change nothing, and do not disturb the crawl.
func TestReportAndPageOfACrawlThatRunsAndOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	dir := filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-w", "0", "-o", dir, "--first-byte-timeout", "1h", "--fetch-timeout", "1h", site.URL+"/")
	<-site.asked // the home page is fetched, and its visit will be committed; /slow is in flight
	pid := strconv.Itoa(p.Process.Pid)

	status, text := servedPage(t, dir, http.MethodGet)
	if status != 200 || !strings.Contains(text, "running, process "+pid) || !strings.Contains(text, "Only its process knows") || !strings.Contains(text, "none too early") {
		t.Errorf("serve: %d %s", status, text)
	}
	if status, _ := servedPage(t, dir, http.MethodPost); status != http.StatusForbidden {
		t.Errorf("an order to a crawl in another process: %d", status)
	}
	before := names(t, dir, "frontier", job.VisitsName, "frontier.last")
	out := reported(t, dir)
	for _, want := range []string{": running, process " + pid + " on ", "  requests   3", "  covers     This crawl has not finished: what its process had written by "} {
		if !strings.Contains(out, want) {
			t.Errorf("report of the running crawl: no %q in\n%s", want, out)
		}
	}
	checkPage(t, dir, "This crawl has not finished: ", "running, process "+pid+" on ")
	if after := names(t, dir, "frontier", job.VisitsName, "frontier.last"); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("the directory of the running crawl was changed:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if p.Process.Signal(syscall.Signal(0)) != nil {
		t.Fatal("the crawl has ended")
	}

	p.signal(t, syscall.SIGKILL)
	if _, err := io.ReadAll(p.stderr); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // returns an error, because the process was killed
	before = names(t, dir)
	if status, text = servedPage(t, dir, http.MethodGet); status != 200 || !strings.Contains(text, ">killed<") {
		t.Errorf("serve: %d %s", status, text)
	}
	out = reported(t, dir)
	for _, want := range []string{": killed, ", " left\n", "  covers     This crawl was killed: what its last process had written by ", "amble resume " + dir} {
		if !strings.Contains(out, want) {
			t.Errorf("report of the killed crawl: no %q in\n%s", want, out)
		}
	}
	checkPage(t, dir, "This crawl was killed: ", "killed, or under way")
	b, err := exec.Command("amble", "report", "--json", dir).Output()
	var rep struct {
		State    string
		Requests int
	}
	if err != nil || json.Unmarshal(b, &rep) != nil || rep.State != "killed" || rep.Requests != 3 {
		t.Errorf("%v %s", err, b)
	}
	if after := names(t, dir); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("the directory of the killed crawl was changed:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	site.release()
	text2, err := exec.Command("sh", "-c", "amble resume "+dir+" && amble verify "+dir+" && amble report "+dir).CombinedOutput()
	if err != nil || !strings.Contains(string(text2), "done, nothing left") || strings.Contains(string(text2), "covers") {
		t.Errorf("resumed: %v\n%s", err, text2)
	}
}

// TestRequestsThatAKillCutOffAreCounted kills a crawl during a request. The summary, report and verify count as many requests as the
// server, and the summary names those whose outcome is unknown.
func TestRequestsThatAKillCutOffAreCounted(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	dir := filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-w", "0", "-o", dir, "--first-byte-timeout", "1h", "--fetch-timeout", "1h", site.URL+"/")
	<-site.asked
	p.signal(t, syscall.SIGKILL)
	if _, err := io.ReadAll(p.stderr); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // returns an error, because the process was killed
	site.release()
	summary, err := exec.Command("amble", "resume", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, summary)
	}
	counted := func(args ...string) int64 {
		t.Helper()
		b, err := exec.Command("amble", args...).Output()
		var v struct{ Requests int64 }
		if err != nil || json.Unmarshal(b, &v) != nil {
			t.Errorf("%v: %v %s", args, err, b)
		}
		return v.Requests
	}
	want := site.seen.Load()
	if !strings.Contains(string(summary), fmt.Sprintf("  requests   %d, ", want)) || !strings.Contains(string(summary), " lost to a kill or an error\n") {
		t.Errorf("the server has seen %d requests:\n%s", want, summary)
	}
	if report, verify := counted("report", "--json", dir), counted("verify", "--json", dir); report != want || verify != want {
		t.Errorf("the server has seen %d requests, report.json has %d, verify %d", want, report, verify)
	}
}

// servedPage serves the page of a job, makes one request for it, and ends the server.
func servedPage(t *testing.T, dir, method string) (status int, text string) {
	t.Helper()
	p := start(t, "serve", dir)
	base, token := p.page(t)
	path := map[string]string{http.MethodGet: "/", http.MethodPost: "/drain"}[method]
	status, text = request(t, method, base+path, token)
	p.signal(t, syscall.SIGTERM)
	_, _ = p.end(t)
	return status, text
}

// reported returns the output of amble report for a job that has not ended.
func reported(t *testing.T, dir string) string {
	t.Helper()
	b, err := exec.Command("amble", "report", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(b), dir+"-report/"+job.PageName) {
		t.Errorf("%v\n%s", err, b)
	}
	return string(b)
}

// checkPage checks the report page of a job that has not ended.
func checkPage(t *testing.T, dir string, wants ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir+"-report", job.PageName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, name := range []string{job.HostsName, job.ProblemsName} {
		if _, err := os.Stat(filepath.Join(dir+"-report", name)); err != nil {
			t.Error(err)
		}
	}
}

// If a crawl waits at its end for an unreachable store, it says so even with -q. Otherwise it would seem to hang.
func TestQuietCrawlSaysThatItWaitsForItsStore(t *testing.T) {
	site := httptest.NewServer(page("Home"))
	t.Cleanup(site.Close)
	storestest.UseS3(t, "http://127.0.0.1:1")
	p := start(t, "crawl", "-q", "-w", "0", "-o", filepath.Join(t.TempDir(), "job"), "--store", "s3://crawls/x", site.URL+"/")
	p.line(t, "waiting for the store")
	p.signal(t, syscall.SIGINT)
	if code, stderr := p.end(t); code != 130 || !strings.Contains(stderr, "not everything is stored") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
