package jobs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// killedRequests returns requests for the jobs of the process that is killed.
func killedRequests(seed string) (all []Request) {
	for i := range 6 {
		all = append(all, Request{Key: fmt.Sprint(i), Seeds: []string{seed}, Program: "mark", Args: json.RawMessage(fmt.Sprint(i)), Settings: map[string]any{"delay": "1ms", "depth": "none"}})
	}
	return all
}

// mark is a program that adds its arguments to the results of each visit.
func mark(args json.RawMessage, c *job.Config) error {
	c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		return v.Emit(map[string]json.RawMessage{"mark": args})
	})
	return nil
}

// runJobs runs in the process that is killed. It runs jobs, and prints each result as "job number URL".
func runJobs(dir, seed string) {
	m, err := Open(dir, Config{Running: 3, State: filepath.Join(dir, "state"), Programs: map[string]Program{"mark": mark}})
	if err != nil {
		panic(err)
	}
	out := make(chan string)
	for _, q := range killedRequests(seed) {
		info, err := m.Start(q)
		if err != nil {
			panic(err)
		}
		go func() {
			for r, err := range m.Results(context.Background(), info.ID, 0) {
				if err != nil {
					panic(err)
				}
				out <- fmt.Sprintf("%s %d %s\n", q.Key, r.N, urlOf(r))
			}
		}()
	}
	for line := range out { // ends when the process is killed
		_, _ = os.Stdout.WriteString(line)
	}
}

func urlOf(r Result) string {
	var v struct{ URL string }
	if err := json.Unmarshal(r.Visit, &v); err != nil {
		panic(err)
	}
	return v.URL
}

// If the process of several jobs is killed several times, at any moment, the jobs are resumed with their programs. Each page has one
// result, which keeps its number.
func TestKilledJobsResumeAndResultsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	const pages, kills = 30, 8
	s := newSite(t, pages)
	dir := t.TempDir()
	seen := map[string]string{} // URL of each result, by job and number
	note := func(key string, n int64, url string) {
		at := fmt.Sprint(key, " ", n)
		if was := seen[at]; was != "" && was != url {
			t.Errorf("result %s was %s and is %s", at, was, url)
		}
		seen[at] = url
	}
	for range kills {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), helperDir+"="+dir, helperSeed+"="+s.URL+"/0")
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		left := 1 + rand.IntN(pages)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var key, url string
			var n int64
			if _, err := fmt.Sscan(lines.Text(), &key, &n, &url); err == nil {
				note(key, n, url)
			}
			if left--; left == 0 {
				_ = c.Process.Kill()
			}
		}
		if err := c.Wait(); c.ProcessState.ExitCode() >= 0 {
			t.Fatalf("the process ended by itself: %v", err)
		}
	}

	m := open(t, dir, Config{Running: 3, Programs: map[string]Program{"mark": mark}})
	for _, q := range killedRequests(s.URL + "/0") {
		info := start(t, m, q)
		if info = wait(t, m, info.ID, Done); info.Pages != pages {
			t.Errorf("%+v", info)
		}
		once := map[string]bool{}
		for r, err := range m.Results(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			note(q.Key, r.N, urlOf(r))
			if !strings.Contains(string(r.Visit), fmt.Sprintf(`{"mark":%s}`, q.Key)) {
				t.Errorf("job %s: the program has not seen result %d: %s", q.Key, r.N, r.Visit)
			}
			once[urlOf(r)] = true
		}
		if len(once) != pages {
			t.Errorf("job %s: %d pages, want %d", q.Key, len(once), pages)
		}
	}
	if want := pages * len(killedRequests("")); len(seen) != want {
		t.Errorf("%d results, want %d", len(seen), want)
	}
	if all := m.All(); len(all) != len(killedRequests("")) {
		t.Errorf("%d jobs", len(all))
	}
	if s.most != 1 {
		t.Errorf("%d requests in flight", s.most)
	}
}
