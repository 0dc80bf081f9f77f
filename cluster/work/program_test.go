package work

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// A job with a Handler is crawled by nodes that set this Handler. It sees each page of the shards that its node owns.
func TestProgramHandlesPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var mu sync.Mutex
		seen := map[string]bool{}
		handler := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			mu.Lock()
			defer mu.Unlock()
			seen[v.URL.String()] = true
			return nil
		})
		l := newLabBy(t, w, mem.New(), 4, []string{"http://h0.test/0"}, func(c *job.Config) { c.Crawl.Handler = handler })
		for _, name := range []string{"n1", "n2"} {
			l.begin(name)
		}
		l.wait()
		for url := range l.pages {
			if !seen[url] {
				t.Errorf("no Handler has seen %s; seen: %d", url, len(seen))
			}
		}
		if got, collected := l.collect(); len(got.Missing) > 0 || len(collected) != len(seen) {
			t.Errorf("collected: %+v, %d URLs; the Handler has seen %d", got, len(collected), len(seen))
		}
	})
}

// A node without the job's program refuses the job before it owns a shard, and the node's status says why.
func TestNodeNeedsTheProgram(t *testing.T) {
	handler := crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return nil })
	items := []job.Items{job.ItemsLines()}
	for name, c := range map[string]struct {
		program func(*job.Config)
		want    string // text of the refusal; "" if the node works on the job
	}{
		"none":         {nil, "sets Handler, which no setting can say"},
		"another":      {func(c *job.Config) { c.Crawl.Trace = &crawler.Trace{} }, "sets Handler"},
		"faster":       {func(c *job.Config) { c.Crawl.Handler, c.Crawl.Politeness.Delay = handler, time.Millisecond }, "changes settings"},
		"other scope":  {func(c *job.Config) { c.Crawl.Handler, c.Crawl.Scope.Kind = handler, crawler.ScopeAny }, "changes settings"},
		"with results": {func(c *job.Config) { c.Crawl.Handler, c.Items = handler, items }, "files of results"},
		"the job's":    {func(c *job.Config) { c.Crawl.Handler = handler }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := mem.New().Connect()
			cfg, err := job.Settings{{Name: "contact", Values: []string{contact}}}.Config()
			if err != nil {
				t.Fatal(err)
			}
			seed, err := weburl.Parse("http://a.test/")
			if err != nil {
				t.Fatal(err)
			}
			cfg.Crawl.Handler = handler
			if err := Create(t.Context(), e, &Spec{Config: cfg, Seeds: []weburl.URL{seed}, Shards: 2}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if c.want == "" {
				cancel() // ends the node before it takes a shard
			}
			defer cancel()
			n := &Node{Engine: e, Name: "n1", JobName: "shop", Dir: filepath.Join(t.TempDir(), "n1"), Program: c.program}
			err = n.Run(ctx)
			if c.want == "" {
				if errors.Is(err, job.ErrProgram) {
					t.Error(err)
				}
				return
			}
			if errors.Is(err, job.ErrProgram) == (c.want == "files of results") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant: %s", err, c.want)
			}
			s, err := cluster.ReadStatus(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if got := Summarize(&s, time.Now()).Text("shop"); !strings.Contains(got, "node n1 refuses the job: ") || !strings.Contains(got, c.want) {
				t.Errorf("the status: %s", got)
			}
		})
	}
}

// A job that writes its results to files of a single process is refused when it is created.
func TestItemsAreRefused(t *testing.T) {
	var cfg job.Config
	cfg.Crawl.Contact, cfg.Items = contact, []job.Items{job.ItemsLines()}
	if _, err := (&Spec{Config: cfg}).Check(); err == nil || !strings.HasPrefix(err.Error(), "files of results") {
		t.Error(err)
	}
}
