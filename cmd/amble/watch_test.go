package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// The command watch refuses bad budgets, times and jobs with advice.
func TestWatchRefuses(t *testing.T) {
	empty := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{empty, "--for", "1d"}, cli.ExitUsage, "--budget"},
		{[]string{empty, "--budget", "100/day"}, cli.ExitUsage, "--for"},
		{[]string{empty, "--budget", "100/week", "--for", "1d"}, cli.ExitUsage, "such as 2000/day"},
		{[]string{empty, "--budget", "many", "--for", "1d"}, cli.ExitUsage, "such as 2000/day"},
		{[]string{empty, "--budget", "3/day", "--for", "1d"}, cli.ExitUsage, "10 or more"},
		{[]string{empty, "--budget", "100/day", "--for", "0"}, cli.ExitUsage, "such as 30d"},
		{[]string{empty, "--budget", "100/day", "--for", "0d"}, cli.ExitUsage, "such as 30d"},
		{[]string{empty, "--budget", "100/day", "--for", "NaNd"}, cli.ExitUsage, "such as 30d"},
		{[]string{empty, "--budget", "100/day", "--for=-2d"}, cli.ExitUsage, "such as 30d"},
		{[]string{empty, "--budget", "100/day", "--for", "1d"}, cli.ExitUsage, "holds no crawl"},
		{[]string{filepath.Join(empty, "none"), "--budget", "100/day", "--for", "1d"}, cli.ExitUsage, "none"},
	} {
		a, out, errs := testApp(nil)
		if code := a.run(append([]string{"watch"}, tt.args...)); code != tt.code || !strings.Contains(errs.String(), tt.want) || out.Len() > 0 {
			t.Errorf("watch %q: exit code %d, %q, want %d and %q", tt.args, code, errs, tt.code, tt.want)
		}
	}
}

// A very short watch ends normally, and its job can be watched again and verified. No page is requested, because at least an hour must pass
// between two requests for a page.
func TestWatchCommand(t *testing.T) {
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "a page")
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	for i, args := range [][]string{
		{"crawl", "-o", dir, srv.URL + "/"},
		{"watch", dir, "--budget", "100/day", "--for", "100ms"},
		{"watch", dir, "--budget", "100", "--for", "0.000001d"},
		{"verify", dir},
	} {
		a, out, errs := testApp(nil)
		if code := a.run(args); code != cli.ExitDone {
			t.Fatalf("%q: exit code %d, %s", args, code, errs)
		}
		if i == 1 && (!strings.Contains(errs.String(), "changes: nothing") || !strings.Contains(errs.String(), "1 page, 0 gone; 2 requests in the last 24 hours") || out.Len() > 0) {
			t.Errorf("%s%s", out, errs)
		}
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
}
