package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
)

func of(t *testing.T, dir string) *Status {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := Of(r, time.Now())
	if err != nil {
		t.Error(err)
		return new(Status)
	}
	return s
}

func (s *Status) host(name string) Host {
	for _, h := range s.Waiting {
		if strings.HasSuffix("http://"+h.Host, name) {
			return h
		}
	}
	return Host{}
}

// serve serves h at the nth loopback address.
func serve(t *testing.T, n int, h http.HandlerFunc) string {
	t.Helper()
	l, err := demo.Listen(n)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestStatusOfAJob reads the status of a job from another process while the job runs. One host has a request in flight, one has asked for a
// pause, and the robots.txt of one cannot be fetched. After the job has stopped, the test reads the status again.
func TestStatusOfAJob(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is one loopback address only")
	}
	dir := filepath.Join(t.TempDir(), "job")
	var slow, busy, down string
	var seen *Status
	look := func(ctx context.Context) {
		for ctx.Err() == nil && seen == nil {
			s := of(t, dir)
			waits := s.host(slow).Waits == InFlight && s.host(busy).Waits == ledger.ClauseRetryAfter && s.host(down).Waits == ledger.ClauseRobots
			if waits && s.host(busy).Trouble != "" && s.host(down).Trouble != "" { // the visits must be written as well
				seen = s
			}
		}
	}
	slow = serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			look(r.Context())
		}
		fmt.Fprint(w, "<a href=/1>1</a><a href=/2>2</a>")
	})
	busy = serve(t, 1, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			w.Header().Set("Retry-After", "200")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	down = serve(t, 2, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	var c job.Config
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Pages = crawler.NoDelay, 2
	j, err := job.Start(dir, c, slow+"/", busy+"/", down+"/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	if seen == nil {
		t.Fatalf("never seen; in the end:\n%s", of(t, dir).Text(0))
	}
	if h := seen.host(busy); h.Until.Sub(seen.Now) > 210*time.Second || h.Until.Sub(seen.Now) < 100*time.Second || h.Trouble != "status 429" {
		t.Errorf("%+v", h)
	}
	if seen.State != Running || seen.Left != 3 || seen.Hosts != 3 || seen.Least < 100 || !strings.Contains(seen.By, strings.TrimPrefix(busy, "http://")) {
		t.Errorf("%+v", seen)
	}
	for _, want := range []string{"running since", "retry after until", "an answer", "robots retry until", "status 502"} {
		if text := seen.Text(0); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s := of(t, dir)
	if h := s.host(busy); s.State != Stopped || h.Waits != ledger.ClauseRetryAfter || !strings.Contains(s.Text(1), "amble resume") || !strings.Contains(s.Text(1), "more host") {
		t.Errorf("%+v\n%s", h, s.Text(1))
	}
}

func TestStatusOfAFinishedJob(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	var c job.Config
	c.Crawl.Politeness.Delay = crawler.NoDelay
	j, err := job.Start(dir, c, srv.URL)
	if err == nil {
		_, err = j.Run(t.Context())
		err = errors.Join(err, j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := of(t, dir); s.State != Done || s.Left != 0 || s.Pages != 1 || s.Requests != 2 || len(s.Waiting) != 0 {
		t.Errorf("%+v", s)
	}
}
