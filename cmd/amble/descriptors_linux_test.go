package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// manyHosts serves n hosts, each with its own address and three pages, and returns a seed for each host.
func manyHosts(t *testing.T, n int) (seeds []string) {
	t.Helper()
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/1>x</a><a href=/2>x</a>")
	})
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.%d.%d:0", 1+i/250, 1+i%250))
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(pages)
		s.Listener = l
		s.Start()
		t.Cleanup(s.Close)
		seeds = append(seeds, s.URL+"/")
	}
	return seeds
}

// TestFewDescriptors crawls more hosts than the process may open files. The crawl then uses fewer hosts at once, and no request fails.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const hosts = 150
	seeds := manyHosts(t, hosts)
	for _, limit := range []int{48, 64, 100} {
		for _, format := range []string{"jsonl", "jsonl,warc"} {
			t.Run(fmt.Sprintf("%d/%s", limit, format), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "job")
				args := append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec amble "$@"`, limit), "sh",
					"crawl", "-o", dir, "--format", format, "-w", "1ms", "--delay-factor", "none"}, seeds...)
				said, err := exec.Command("sh", args...).CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
				if n := strings.Count(string(said), "open files"); n != 1 {
					t.Errorf("the limit is told of %d times:\n%s", n, said)
				}
				checkAttempts(t, filepath.Join(dir, job.VisitsName), 3*hosts)
			})
		}
	}
}

// TestTooFewDescriptors checks that a crawl does not start if the process has fewer descriptors than the outputs need.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "job")
	said, err := exec.Command("sh", "-c", `ulimit -n 47 && exec amble "$@"`, "sh", "crawl", "-o", dir, "http://127.0.0.1:1/").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitUsage || !strings.Contains(string(said), "47 open files (ulimit -n): a crawl needs 48") {
		t.Errorf("%v\n%s", err, said)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", dir, err)
	}
}

// checkAttempts checks that the given number of pages were fetched, each of them at the first attempt.
func checkAttempts(t *testing.T, visits string, pages int) {
	t.Helper()
	f, err := os.Open(visits)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := 0
	for lines := bufio.NewScanner(f); lines.Scan(); got++ {
		var r sink.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Outcome != "fetched" || r.Attempt != 0 {
			t.Errorf("%s: %s, attempt %d: %s", r.URL, r.Outcome, r.Attempt, r.Reason)
		}
	}
	if got != pages {
		t.Errorf("%d visits, want %d", got, pages)
	}
}
