package crawler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

// moody is a handler that does its work and then, depending on URL and attempt, fails, panics, asks for a retry or
// succeeds. The handler records its successes.
type moody struct {
	seed uint64

	mu      sync.Mutex
	calls   map[string]int
	content map[string]string // URL of the page whose handler succeeded, by the URL that it added
}

func (m *moody) Handle(_ context.Context, v *crawler.Visit) error {
	m.mu.Lock()
	attempt := m.calls[v.URL.String()]
	m.calls[v.URL.String()]++
	m.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, v.URL, attempt)
	extra := fmt.Sprintf("/extra/%x", h.Sum64())
	deeper := v.Page != nil && !strings.HasPrefix(v.URL.Path(), "/extra/")
	if err := v.Emit(attempt); err != nil {
		return err
	}
	if deeper {
		if err := v.Enqueue(crawler.Request{URL: extra, Meta: []byte(v.URL.String())}); err != nil {
			return nil // the page has nofollow, or the URL is a trap
		}
	}
	switch h.Sum64() % 7 {
	case 0:
		return errors.New("no")
	case 1:
		panic("oops")
	case 2, 3, 4:
		return crawler.Retry(errors.New("not yet"))
	}
	if deeper {
		m.mu.Lock()
		defer m.mu.Unlock()
		u, err := v.URL.Resolve(extra)
		if err != nil {
			return err
		}
		m.content[u.String()] = v.URL.String()
	}
	return nil
}

// TestMoodyHandlers runs a randomly failing handler on random webs. Each URL must have one record. A URL whose handler
// failed has no result; every other URL has only the result of its last attempt. Only handlers that succeeded add URLs,
// each with its metadata.
func TestMoodyHandlers(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed+1), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				m := &moody{seed: seed, calls: map[string]int{}, content: map[string]string{}}
				web := w.Random(seed+1, crawltest.RandomConfig{Hosts: 3, Pages: 12, Links: 4, Agent: "testbot"})
				var out bytes.Buffer
				c := newCrawler(t, w, crawler.Config{
					Handler: m, Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited, Time: 1000 * time.Hour}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Retries: crawler.Retries{Max: 3},
					Sinks: []sink.Sink{sink.NewJSONL(&out)},
				})
				repeats(w)
				rep, err := c.Run(t.Context(), web.Seeds()...)
				if err != nil || rep.Finish != crawler.FinishDone {
					t.Fatal(rep, err)
				}
				m.check(t, out.String())
			})
		})
	}
}

func (m *moody) check(t *testing.T, jsonl string) {
	records := map[string]*sink.Record{}
	for l := range strings.Lines(jsonl) {
		r := new(sink.Record)
		if err := json.Unmarshal([]byte(l), r); err != nil {
			t.Fatal(err)
		}
		if records[r.URL] != nil {
			t.Errorf("twice: %s", r.URL)
		}
		records[r.URL] = r
	}
	for u, r := range records {
		want := fmt.Sprintf("[%d]", m.calls[u]-1)
		if r.Reason == crawler.ReasonHandler || r.Reason == crawler.ReasonPanic {
			want = "[]"
		}
		if got := fmt.Sprintf("%s", r.Data); got != want {
			t.Errorf("%s, %s %s: results %s, want %s", u, r.Outcome, r.Reason, got, want)
		}
		if strings.Contains(u, "/extra/") && m.content[u] == "" {
			t.Errorf("%s was added by a handler that failed", u)
		}
	}
	for u, page := range m.content {
		if records[u] == nil || records[u].Via != page {
			t.Errorf("%s, which the handler of %s added, has the record %+v", u, page, records[u])
		}
	}
}
