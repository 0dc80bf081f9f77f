//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/job"
)

// TestKilledCrawlWritesEachTextOnce kills a crawl with --text several times, each time while it waits for another page, and resumes it. In
// the end, text.jsonl equals the file of an uninterrupted crawl, and agrees with the export from the archive.
func TestKilledCrawlWritesEachTextOnce(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const pages = 40
	var hang atomic.Pointer[string] // path whose next request gets no response
	hangs := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := hang.Load(); path != nil && *path == r.URL.Path && hang.CompareAndSwap(path, nil) {
			hangs <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/":
			for i := range pages {
				fmt.Fprintf(w, "<a href=/%d>x</a>", i)
			}
		default:
			fmt.Fprintf(w, "<title>Page %[1]s</title><article><h1>Page %[1]s</h1><p>This is the text of the page %[1]s, and it has some more words, <b>so that</b> it counts as one.</p></article>", r.URL.Path)
		}
	}))
	defer s.Close()
	crawl := func(dir string, more ...string) *exec.Cmd {
		return exec.Command("amble", append([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--text", s.URL + "/"}, more...)...)
	}
	output := func(p *exec.Cmd) string {
		t.Helper()
		out, err := p.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", p.Args, err, out)
		}
		return string(out)
	}
	whole, killed, bare := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "killed"), filepath.Join(t.TempDir(), "bare")
	output(crawl(whole, "--archive"))
	output(crawl(bare))
	for _, path := range []string{"/", "/3", "/11", "/12", "/30", "/39"} {
		hang.Store(&path)
		p := crawl(killed, "--archive")
		killWhen(t, p, hangs, path)
	}
	output(exec.Command("amble", "resume", "-q", killed))
	output(exec.Command("amble", "verify", killed))
	want, got := textLines(t, filepath.Join(whole, job.TextName), false), textLines(t, filepath.Join(killed, job.TextName), false)
	if len(want) != pages+1 || !slices.Equal(got, want) {
		t.Errorf("%d lines, and without kills %d\n%q\n%q", len(got), len(want), got, want)
	}
	for _, line := range textLines(t, filepath.Join(bare, job.TextName), true) {
		if !strings.Contains(line, `"offset":0`) || !strings.Contains(line, `"warc":""`) {
			t.Fatalf("without an archive: %s", line)
		}
	}
	exported := filepath.Join(t.TempDir(), "exported")
	output(exec.Command("amble", "export", killed, "--to", "text", "-o", exported))
	if got, want := textLines(t, filepath.Join(killed, job.TextName), true), textLines(t, exported, true); !slices.Equal(got, want) {
		t.Errorf("%q\nthe export has\n%q", got, want)
	}
}

// textLines returns the sorted lines of a file of texts, without the fields in which an export may differ, and without the place in the
// archive unless located is true.
func textLines(t *testing.T, path string, located bool) (lines []string) {
	t.Helper()
	for line := range bytes.Lines(must(os.ReadFile(path))) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !located {
			delete(row, "warc")
			delete(row, "offset")
		}
		delete(row, "markdown")
		delete(row, "duplicate_of")
		lines = append(lines, string(must(json.Marshal(row))))
	}
	slices.Sort(lines)
	return lines
}
