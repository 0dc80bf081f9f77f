//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/job"
)

// statedSite is a site that uses every way to state what its pages may be used for. One request for the path in hang is never answered: the
// process that makes this request is killed while it waits.
type statedSite struct {
	*httptest.Server

	mu       sync.Mutex
	hang     string        // path whose next request gets no response; "": none
	hanging  chan struct{} // closed when hang is requested
	answered map[string]int
}

// next makes the site leave the next request for a path unanswered. The returned channel is closed when that request arrives.
func (s *statedSite) next(path string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang, s.hanging = path, make(chan struct{})
	return s.hanging
}

func (s *statedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.hang == r.URL.Path {
		s.hang = ""
		close(s.hanging)
		s.mu.Unlock()
		<-r.Context().Done() // until the client was killed
		return
	}
	s.answered[r.URL.Path]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	switch r.URL.Path {
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, "User-agent: *\nAllow: /\nContent-Usage: /2 train-ai=n\nLicense: /l.xml\n")
	case "/l.xml":
		_, _ = fmt.Fprint(w, `<rsl xmlns="https://rslstandard.org/rsl" max-age="7"><content url="/3"><license><payment type="crawl"><amount currency="USD">0.01</amount></payment></license></content></rsl>`)
	case consent.TDMPath:
		_, _ = fmt.Fprint(w, `[{"location":"/4","tdm-reservation":1}]`)
	case "/5":
		w.Header().Set("Content-Signal", "ai-train=no")
	case "/6":
		_, _ = fmt.Fprint(w, `<meta name="robots" content="noai">`)
	case "/7":
		w.WriteHeader(http.StatusPaymentRequired)
	case "/8":
		w.Header().Set("Link", `</page.xml>; rel="license"; type="application/rsl+xml"`)
	case "/page.xml":
		_, _ = fmt.Fprint(w, `<rsl xmlns="https://rslstandard.org/rsl"><content url="/8"><license><permits type="usage">search</permits></license></content></rsl>`)
	case "/":
		for i := 1; i < 10; i++ {
			_, _ = fmt.Fprintf(w, "<a href=/%d>x</a>", i)
		}
	}
}

// TestKilledCommandsReadDocumentsOnce kills a crawl while it waits for a robots.txt, a licence, a tdmrep.json or a page, and resumes it
// each time. The verdicts equal those of an uninterrupted crawl. Each document that was received is requested only once, however many
// processes need it.
func TestKilledCommandsReadDocumentsOnce(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	s := &statedSite{answered: map[string]int{}}
	s.Server = httptest.NewServer(s)
	defer s.Close()
	args := func(dir string) []string {
		return []string{"crawl", "-q", "-o", dir, "-w", "0s", "--format", "jsonl,warc", "--purpose", "train-ai", s.URL + "/"}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if out, err := exec.Command("amble", args(whole)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(t.TempDir(), "killed")
	s.answered = map[string]int{}
	for _, path := range []string{"/robots.txt", consent.TDMPath, "/l.xml", "/", "/5", "/8", "/page.xml", "/9"} {
		hangs := s.next(path)
		p := exec.Command("amble", args(dir)...)
		killWhen(t, p, hangs, path)
	}
	if out, err := exec.Command("amble", "resume", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("amble", "verify", dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "verdicts about uses computed again") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	want, got := verdictsOf(t, whole), verdictsOf(t, dir)
	if len(want) != 10 || !maps.Equal(want, got) {
		for _, u := range slices.Sorted(maps.Keys(want)) {
			if want[u] != got[u] {
				t.Errorf("%s: %s, and without kills %s", u, got[u], want[u])
			}
		}
		t.Errorf("%d visits, and without kills %d", len(got), len(want))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range []string{"/l.xml", consent.TDMPath, "/page.xml"} {
		if n := s.answered[path]; n != 1 {
			t.Errorf("%s was answered %d times", path, n)
		}
	}
}

// verdictsOf returns what a crawl recorded about the uses of each page, without times.
func verdictsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	r := must(job.Read(dir))
	defer r.Close()
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		if v.Terms != nil {
			for i := range v.Terms.Files {
				v.Terms.Files[i].Fetched = time.Time{}
			}
		}
		b, err := json.Marshal(v.Terms)
		if err != nil {
			t.Fatal(err)
		}
		if all[v.URL] != "" {
			t.Errorf("%s has two visits", v.URL)
		}
		all[v.URL] = v.Outcome + " " + v.Reason + " " + string(b)
	}
	return all
}

// killWhen starts a crawl, and kills it when the site has left its request for the path unanswered.
func killWhen[T any](t *testing.T, p *exec.Cmd, hangs <-chan T, path string) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() { ended <- p.Wait() })
	select {
	case <-hangs:
		_ = p.Process.Signal(syscall.SIGKILL)
	case err := <-ended:
		t.Fatalf("%s: the crawl has ended: %v", path, err)
	}
	waiting.Wait()
}
