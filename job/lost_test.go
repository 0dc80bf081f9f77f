package job_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// failingSink is a sink that writes nothing. If fails is set, it returns an error for its fourth record.
type failingSink struct {
	sink.Base
	fails   bool
	records int
}

func (s *failingSink) Append(context.Context, *sink.Record) error {
	if s.records++; s.fails && s.records == 4 {
		return errors.New("no room")
	}
	return nil
}

func (s *failingSink) Sync(context.Context) (int64, error)  { return 0, nil }
func (s *failingSink) Restore(context.Context, int64) error { return nil }
func (s *failingSink) Close(context.Context) error          { return nil }

// TestRequestsThatAnErrorLostAreCounted resumes a crawl that a sink's error ended. The report counts all requests that the server saw.
func TestRequestsThatAnErrorLostAreCounted(t *testing.T) {
	var seen atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		n := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n) // 0 for "/"
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="/%d">next</a>`, min(n+1, 7))
	}))
	t.Cleanup(site.Close)
	dir := filepath.Join(t.TempDir(), "job")
	crawl := func(fails bool) (*crawler.Report, error) {
		c := job.Config{Crawl: crawler.Config{Sinks: []sink.Sink{&failingSink{fails: fails}}}}
		c.Crawl.Politeness.Delay, c.Crawl.Limits.Depth, c.Crawl.Commits.Interval = crawler.NoDelay, crawler.Unlimited, time.Hour
		j, err := job.Start(dir, c, site.URL+"/")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := j.Run(t.Context())
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		return rep, err
	}
	if _, err := crawl(true); err == nil {
		t.Fatal("the sink has not ended the crawl")
	}
	rep, err := crawl(false)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Pages != 8 || rep.Lost == 0 || int64(rep.Requests) != seen.Load() {
		t.Errorf("%d pages, %d requests of which %d lost; the server has seen %d", rep.Pages, rep.Requests, rep.Lost, seen.Load())
	}
}
