package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Each page of a link flood has this many links of this many bytes. Together they are just below the limit of a body.
const (
	floodLinks = 5200
	floodURL   = 1900
)

// newFlood serves a site on which every page links to thousands of others by long, unrelated URLs.
func newFlood(t *testing.T) string {
	t.Helper()
	var pages atomic.Uint64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		page := pages.Add(1)
		random := rand.NewChaCha8([32]byte{byte(page)})
		noise := make([]byte, floodURL*3/4)
		body := make([]byte, 0, floodLinks*(floodURL+20))
		for i := range floodLinks {
			_, _ = random.Read(noise)
			body = append(body, "<a href="...)
			url := fmt.Appendf(body, "http://%s/d%d-%d/", r.Host, page, i)
			url = base64.RawURLEncoding.AppendEncode(url, noise)
			body = append(url[:len(body)+floodURL], ">x</a>"...)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// flooded runs a crawl that is limited to this many pages of a flood, and returns its summary and its peak memory in MiB.
func flooded(t *testing.T, pages int, args ...string) (summary string, mib int) {
	t.Helper()
	if testing.Short() {
		t.Skip("receives hundreds of megabytes")
	}
	skipUnderRace(t)
	args = append([]string{"crawl", "-w", "1ms", "--delay-factor", "none", "-d", "none", "--max-pages", fmt.Sprint(pages), newFlood(t)}, args...)
	cmd := exec.Command("amble", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		mib = max(mib, peak(cmd.Process.Pid))
		select {
		case <-tick.C:
		case err := <-ended:
			tick.Stop()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			return stderr.String(), mib
		}
	}
}

// peak returns the peak memory of a process up to now, in MiB. For a process that has ended, the figure of the system is never less than
// the memory that the parent had when it started the process.
func peak(pid int) (mib int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty if the process has ended
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &mib)
	}
	return mib >> 10
}

// TestFloodFitsInMemory checks that a crawl with a job directory keeps the URLs of a flood on disk: together, they are larger than the
// memory that the crawl may use.
func TestFloodFitsInMemory(t *testing.T) {
	t.Parallel()
	pages := 26 // 245 MiB of URLs
	summary, mib := flooded(t, pages, "-o", filepath.Join(t.TempDir(), "job"))
	t.Logf("peak resident size: %d MiB\n%s", mib, summary)
	if mib > 300 {
		t.Errorf("peak %d MiB, more than 300", mib)
	}
	if left := fmt.Sprintf("%d URLs left", pages*floodLinks+1-pages); !strings.Contains(summary, left) {
		t.Errorf("not %s", left)
	}
}

// TestFloodInMemoryIsReported checks that a crawl without a job directory keeps only as many URLs of a flood as fit into its queue, and
// reports the outcome of the other URLs.
func TestFloodInMemoryIsReported(t *testing.T) {
	t.Parallel()
	pages := 28 // 264 MiB of URLs
	summary, mib := flooded(t, pages, "--no-keep")
	t.Logf("peak resident size: %d MiB\n%s", mib, summary)
	if mib > 640 {
		t.Errorf("peak %d MiB, with a queue of 256", mib)
	}
	for _, want := range []string{"no room in the queue ", "queue      full: no room for ", "without --no-keep it is on disk"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
}
