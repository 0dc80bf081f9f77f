package job_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/job"
)

// A job that draws a sample draws the pages that its lists and seed determine, even if its processes are killed, and verify agrees.
func TestSampleOfKilledJobs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	srv := newCounted(t, serveLists)
	dir := filepath.Join(t.TempDir(), "job")
	rng, kills := rand.New(rand.NewPCG(1, 1)), 0
	for range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSampleToBeKilled$", "-test.count=1")
		cmd.Env = append(os.Environ(), "SAMPLE_DIR="+dir, "SAMPLE_SEED="+srv.URL+"/")
		after := 1 + rng.Int64N(5)
		if signaled(t, cmd, func(ended <-chan struct{}) { srv.killAfter(after, cmd, ended) }) {
			kills++
		}
	}
	if kills < 6 {
		t.Errorf("only %d processes were killed", kills)
	}
	rep, err := runSampled(t.Context(), dir, srv.URL+"/")
	if err != nil || rep.Finish != crawler.FinishDone || rep.Draws[0].Listed != listedPages || rep.Draws[0].Sitemaps != listFiles {
		t.Fatal(rep, err)
	}
	all := &draw.Bottom{N: sampledPages, Seed: "s"}
	for i := range listedPages {
		u := fmt.Sprint(srv.URL, "/p", i)
		all.Add(u, u, "")
	}
	var want, got []string
	for _, it := range all.Drawn() {
		want = append(want, it.URL)
	}
	for _, u := range visited(t, dir) {
		if strings.Contains(u, "/p") {
			got = append(got, u)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("after %d kills %v, want %v", kills, got, want)
	}
	if v := verified(t, dir); v.Damaged() != 0 || len(v.Violations) > 0 || v.Matching.Fault() != "" {
		t.Errorf("%+v", v)
	}
}

// visited returns the URLs of the visits of a job.
func visited(t *testing.T, dir string) (urls []string) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, v.URL)
	}
	return urls
}

const listedPages, listFiles, sampledPages = 200, 8, 25

// serveLists serves a site whose sitemaps list each page once.
func serveLists(rw http.ResponseWriter, r *http.Request) {
	var file int
	switch n, _ := fmt.Sscanf(r.URL.Path, "/m%d.xml", &file); {
	case n == 1:
		rw.Header().Set("Content-Type", "application/xml")
		fmt.Fprint(rw, "<urlset>")
		for i := file; i < listedPages; i += listFiles {
			fmt.Fprintf(rw, "<url><loc>/p%d</loc></url>", i)
		}
		fmt.Fprint(rw, "</urlset>")
	case r.URL.Path == "/robots.txt":
		for i := range listFiles {
			fmt.Fprintf(rw, "Sitemap: /m%d.xml\n", i)
		}
	default:
		fmt.Fprint(rw, "<a href=/p1>x</a>")
	}
}

// TestSampleToBeKilled runs only in the processes that TestSampleOfKilledJobs starts and kills.
func TestSampleToBeKilled(t *testing.T) {
	dir := os.Getenv("SAMPLE_DIR")
	if dir == "" {
		t.Skip("is run by TestSampleOfKilledJobs")
	}
	if _, err := runSampled(t.Context(), dir, os.Getenv("SAMPLE_SEED")); err != nil {
		t.Fatal(err)
	}
}

func runSampled(ctx context.Context, dir, seed string) (*crawler.Report, error) {
	var c job.Config
	c.Crawl.Sample = crawler.Sample{N: sampledPages, Seed: "s"}
	c.Crawl.Politeness.Delay, c.Crawl.Commits.Interval = 5*time.Millisecond, 20*time.Millisecond
	j, err := job.Start(dir, c, seed)
	if err != nil {
		return nil, err
	}
	rep, err := j.Run(ctx)
	return rep, errors.Join(err, j.Close())
}
