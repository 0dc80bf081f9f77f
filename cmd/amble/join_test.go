//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCrawlsTakeTurnsByAnEngine runs two crawls that share an engine and nothing else, like crawls on two machines.
func TestCrawlsTakeTurnsByAnEngine(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	var mu sync.Mutex
	var ended time.Time
	under, asked := 0, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if gap := time.Since(ended); under > 0 || asked > 0 && gap < delay {
			t.Errorf("request %d: %d under way, %v after the last one", asked, under, gap)
		}
		under, asked = under+1, asked+1
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		for i := range 20 {
			fmt.Fprintf(w, "<a href=/%d>x</a>", i)
		}
		mu.Lock()
		under, ended = under-1, time.Now()
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	engine := launch(t, "cluster", "serve", "--insecure", "--dir", filepath.Join(dir, "engine"), "--listen", "127.0.0.1:0")
	url := listens(t, engine)
	var crawls []*proc
	dirs := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, to := range dirs {
		crawls = append(crawls, launch(t, "crawl", "-q", "--cluster", url, "--state", to+"-state", "-w", delay.String(), "--max-pages", "6", "-o", to, srv.URL+"/"))
	}
	for _, p := range crawls {
		p.ends(0)
	}
	a, out, errs := testApp(nil)
	if code := a.run(append([]string{"verify"}, dirs...)); code != 0 || !strings.Contains(out.String(), "no violation between them") {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	if asked != 14 {
		t.Errorf("%d requests", asked)
	}
	a, _, errs = testApp(nil)
	if code := a.run([]string{"crawl", "--cluster", "nats://127.0.0.1:1", srv.URL + "/"}); code != 9 || !strings.Contains(errs.String(), "no connection to nats://127.0.0.1:1") {
		t.Errorf("without an engine: exit code %d, %s", code, errs)
	}
}
