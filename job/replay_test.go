package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

var fetchedAt = regexp.MustCompile(", fetched [0-9T:Z-]+")

// visited is a sink that records those parts of visits that do not depend on times or on the number of attempts.
type visited map[string]string

func (m visited) Append(_ context.Context, r *sink.Record) error {
	v := *r
	v.Queued, v.Started, v.Ended, v.Attempt, v.WARC, v.Via, v.Depth, v.Hops = time.Time{}, time.Time{}, time.Time{}, 0, nil, "", 0, nil
	v.URL, v.Final = normal(r.URL), ""          // the order of hosts decides which spelling of a page's URL is found first
	if v.Reason == crawler.ReasonRedirectLoop { // it also decides at which URL a redirect loop is entered
		v.Outcome, v.Reason = string(crawler.Redirected), ""
	}
	v.Detail = fetchedAt.ReplaceAllString(v.Detail, "")
	v.Error, v.SameAs = "", "" // these fields also depend on the order of hosts
	if v.Terms != nil {
		t := *v.Terms
		t.Files = slices.Clone(t.Files)
		for i := range t.Files {
			t.Files[i].Fetched = time.Time{}
		}
		v.Terms = &t
	}
	b, err := json.Marshal(v)
	m[v.URL] = string(b)
	return err
}

func (visited) AppendExchange(context.Context, *sink.Exchange) error { return nil }

func (visited) Needs() (n sink.Needs)                 { return n }
func (visited) Name() string                          { return "" }
func (visited) Sync(_ context.Context) (int64, error) { return 0, nil }
func (visited) Restore(context.Context, int64) error  { return nil }
func (visited) Close(_ context.Context) error         { return nil }

func (m visited) compare(t *testing.T, got visited) {
	t.Helper()
	for url, want := range m {
		if got[url] != want {
			t.Errorf("%s\nwas %s\nis  %s", url, want, got[url])
		}
	}
	for url := range got {
		if m[url] == "" {
			t.Errorf("%s is new: %s", url, got[url])
		}
	}
}

// TestReplayIsTheSameCrawl crawls random webs with faults, and then replays each crawl from its records. Every visit is the same; the
// replay makes no requests and does not wait.
func TestReplayIsTheSameCrawl(t *testing.T) {
	seeds := long.Seeds(12, 40)
	if testing.Short() {
		seeds = min(seeds, 5)
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				web := w.Random(seed, crawltest.RandomConfig{Agent: "testbot", HTTPS: true, Faults: crawltest.FaultLevel(seed % 3), MaxDelay: 20 * time.Second})
				dir := t.TempDir()
				archive, err := warc.Open(dir, warc.Options{Compression: []warc.Compression{warc.Gzip, warc.Zstd}[seed/3%2]})
				if err != nil {
					t.Fatal(err)
				}
				first := visited{}
				c := crawler.Config{Agent: "testbot/1", Contact: "https://crawl.university.edu/", Sinks: []sink.Sink{archive, first}}
				c.Scope.Kind, c.Limits.Pages, c.Limits.Depth = crawler.ScopeAny, 10_000, crawler.Unlimited
				c.Politeness.MaxFailures, c.Politeness.MaxSilence = crawler.Unlimited, crawler.Forever
				c.Fetch.DialContext, c.Fetch.Resolver, c.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
				run(t, c, web.Seeds())
				if err := archive.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				requests, start := len(w.Requests()), time.Now()
				rec, err := Replay(dir)
				if err != nil {
					t.Fatal(err)
				}
				rec.jobs = true // only an archive is left of the job
				for url, v := range first {
					var r sink.Record
					if err := json.Unmarshal([]byte(v), &r); err != nil {
						t.Fatal(err)
					}
					if r.Outcome == string(crawler.Failed) && r.Status == 0 {
						rec.fail(url, r.Reason)
					}
				}
				slices.SortFunc(rec.failed, failure.compare)
				second := visited{}
				c.Sinks = []sink.Sink{second}
				if err := rec.Apply(&c); err != nil {
					t.Fatal(err)
				}
				run(t, c, web.Seeds())
				first.compare(t, second)
				if n := len(w.Requests()); n != requests {
					t.Errorf("%d requests", n-requests)
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("it took %v", took)
				}
				if err := rec.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func run(t *testing.T, c crawler.Config, seeds []string) {
	t.Helper()
	crawl, err := crawler.New(c)
	if err == nil {
		_, err = crawl.Run(t.Context(), seeds...)
	}
	if err != nil {
		t.Error(err)
	}
}

// recorded makes a job with an archive, which is interrupted and resumed.
func recorded(t *testing.T) (dir, seed string, requests *atomic.Int32) {
	t.Helper()
	return recordedWith(t, Config{})
}

// recordedWith is like recorded, for a given configuration.
func recordedWith(t *testing.T, c Config) (dir, seed string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	var down atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\n")
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/9", http.StatusFound)
		case r.URL.Path == "/broken":
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/late" && down.CompareAndSwap(false, true):
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title><a href=/moved></a><a href=/private></a><a href=/broken></a><a href=/late></a>", r.URL.Path)
			for i := range 12 {
				fmt.Fprintf(w, "<a href=/%d>", i)
			}
		}
	}))
	t.Cleanup(srv.Close)
	dir = filepath.Join(t.TempDir(), "job")
	c.Archive = true
	c.Crawl.Politeness.Delay, c.Crawl.Retries.Pause = crawler.NoDelay, time.Millisecond
	c.Crawl.Limits.Pages = 4
	for _, pages := range []crawler.Limit{4, 1000} { // the second process resumes the job
		c.Crawl.Limits.Pages = pages
		j, err := Start(dir, c, srv.URL+"/")
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, srv.URL + "/", requests
}

func replaying(t *testing.T, rec *Recording) (crawler.Config, visited) {
	t.Helper()
	m := visited{}
	c := crawler.Config{Sinks: []sink.Sink{m}}
	if err := rec.Apply(&c); err != nil {
		t.Fatal(err)
	}
	return c, m
}

func TestReplayOfAResumedJob(t *testing.T) {
	t.Parallel()
	dir, seed, requests := recorded(t)
	t.Run("the same visits", func(t *testing.T) { sameVisits(t, dir, seed, requests) })
	t.Run("nothing is sent", func(t *testing.T) { nothingSent(t, dir, seed, requests) })
	t.Run("damage", func(t *testing.T) { namesDamage(t, dir, seed) })
}

func sameVisits(t *testing.T, dir, seed string, requests *atomic.Int32) {
	want := visited{}
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range r.Visits() {
		if err = errors.Join(err, want.Append(t.Context(), v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	had := requests.Load()
	c, got := replaying(t, rec)
	run(t, c, []string{seed})
	want.compare(t, got)
	if n := requests.Load() - had; n != 0 {
		t.Errorf("%d requests", n)
	}
	if !strings.Contains(got[seed+"broken"], "no_answer") {
		t.Errorf("%s", got[seed+"broken"])
	}

	c, got = replaying(t, rec)
	run(t, c, []string{seed + "nobody"})
	if v := got[seed+"nobody"]; !strings.Contains(v, fetcher.ReasonNotRecorded) {
		t.Errorf("a URL that was not recorded: %s", v)
	}
}

// nothingSent checks that a configuration made for a replay sends no requests even if its Fetcher is removed, and that its Fetcher cannot
// be used with another configuration.
func nothingSent(t *testing.T, dir, seed string, requests *atomic.Int32) {
	rec, err := Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	had := requests.Load()
	c, _ := replaying(t, rec)
	replayer := c.Fetcher
	c.Fetcher = nil
	if _, err := crawler.New(c); err == nil {
		t.Error("no Fetcher, and no error")
	}
	sender, err := fetcher.New(fetcher.Config{AllowHosts: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	c.Fetcher = sender
	crawl, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crawl.Run(t.Context(), seed); !errors.Is(err, politeness.ErrOffline) {
		t.Errorf("a real Fetcher: %v", err)
	}
	crawl, err = crawler.New(crawler.Config{Fetcher: replayer})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crawl.Run(t.Context(), seed); !errors.Is(err, politeness.ErrOnline) {
		t.Errorf("a real Gate: %v", err)
	}
	if n := requests.Load() - had; n != 0 {
		t.Errorf("%d requests", n)
	}
	var job Config
	job.Crawl = c
	if _, err := Create(filepath.Join(t.TempDir(), "job"), job, seed); err == nil {
		t.Error("a job of a replay")
	}
}

// namesDamage damages the archive in several ways, and checks that the replay names each damage.
func namesDamage(t *testing.T, dir, seed string) {
	at := placeIn(t, dir, seed+"7")
	damaged, middle := filepath.Join(dir, "warc", at.File), at.Offset+at.Length/2
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(damaged, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed := slices.Clone(b)
	changed[middle] ^= 1
	write(changed)
	rec, err := Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, got := replaying(t, rec)
	run(t, c, []string{seed})
	if !strings.Contains(got[seed+"7"], "recording_damaged") || strings.Count(fmt.Sprint(got), "recording_damaged") != 1 {
		t.Errorf("a page whose record is damaged: %s", got[seed+"7"])
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(strings.TrimSuffix(damaged, ".warc.gz") + ".cdxj"); err != nil {
		t.Fatal(err)
	}
	var damage *warc.ArchiveError
	if _, err := Replay(dir); !errors.As(err, &damage) || damage.File != damaged || damage.Offset != at.Offset {
		t.Errorf("one byte changed at %d of %s: %v", middle, damaged, err)
	}
	write(b[:len(b)-1])
	var told *Error
	if _, err := Replay(dir); !errors.As(err, &told) || told.Kind != Storage || !strings.Contains(err.Error(), "is damaged: it ends at byte") {
		t.Errorf("cut: %v", err)
	}
	write(nil)
	if _, err := Replay(dir); !errors.As(err, &told) || told.Kind != Storage || !strings.Contains(err.Error(), "it ends at byte 0") {
		t.Errorf("emptied: %v", err)
	}
	if _, err := Replay(filepath.Join(dir, "robots")); !errors.Is(err, ErrNoJob) {
		t.Errorf("no archive: %v", err)
	}
}

// placeIn returns the location of the response for a URL in the archive.
func placeIn(t *testing.T, dir, url string) *sink.Location {
	t.Helper()
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		if v.URL == url {
			return v.WARC
		}
	}
	t.Fatalf("%s was not visited", url)
	return nil
}

// TestReplayOfACrawlWithHeaderFields checks that header fields for single hosts, which a replay does not send, do not make its
// configuration invalid.
func TestReplayOfACrawlWithHeaderFields(t *testing.T) {
	c := crawler.Config{Contact: "https://crawl.university.edu/", Hosts: []crawler.HostSettings{{Match: "a.test", Header: http.Header{"X-Key": {"secret"}}, Pages: 3}}}
	given := c.Hosts
	if err := new(Recording).Apply(&c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || c.Hosts[0].Pages != 3 || given[0].Header.Get("X-Key") != "secret" {
		t.Errorf("%v, %+v, given %+v", err, c.Hosts, given)
	}
}
