package crawler_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
	"github.com/amble-crawler/amble/sink"
)

var (
	renderSeed  = flag.Uint64("rendersim.seed", 0, "run TestRenderSim with this seed alone")
	renderSeeds = flag.Uint64("rendersim.n", uint64(long.Seeds(3, 6)), "number of seeds TestRenderSim goes through")
	renderKills = flag.Int("rendersim.kills", 6, "how often it kills each crawl; 0: once at each step")
)

// TestRenderSim crawls random sites with script-generated pages, with a scripted renderer in virtual time: once
// normally, once with parked pages, and then killed at random steps or at each step and resumed. In all cases,
// each page must end with the same document, links and requests; the archive must have each response once; the
// auditor must see robots.txt first and every pause kept; and no committed response may be requested again. To
// repeat a failing seed:
//
//	go test ./crawler -run ^TestRenderSim$ -rendersim.seed N -rendersim.kills 0
func TestRenderSim(t *testing.T) {
	if *renderSeed != 0 {
		simulateRendering(t, *renderSeed)
		return
	}
	for seed := range *renderSeeds {
		t.Run(fmt.Sprint("seed=", seed+1), func(t *testing.T) { simulateRendering(t, seed+1) })
	}
}

func simulateRendering(t *testing.T, seed uint64) {
	whole, steps := renderedCrawl(t, seed, 0, nil)
	parked, _ := renderedCrawl(t, seed, 4, nil)
	sameCrawl(t, "with parked pages", parked, whole)
	rng := rand.New(rand.NewPCG(seed, 2))
	if *renderKills == 0 {
		for at := range steps {
			got, _ := renderedCrawl(t, seed, 4*(at%2), []int{at + 1})
			sameCrawl(t, fmt.Sprint("killed at step ", at+1), got, whole)
		}
		return
	}
	for left := *renderKills; left > 0 && !t.Failed(); {
		kills := make([]int, min(left, 1+rng.IntN(3)))
		for i := range kills {
			kills[i] = 1 + rng.IntN(steps/len(kills))
		}
		left -= len(kills)
		got, _ := renderedCrawl(t, seed, rng.IntN(5), kills)
		sameCrawl(t, fmt.Sprint("killed at steps ", kills), got, whole)
	}
}

func sameCrawl(t *testing.T, how string, got, want map[string]string) {
	t.Helper()
	for _, u := range slices.Sorted(maps.Keys(want)) {
		if got[u] != want[u] {
			t.Errorf("%s, %s is\n%s\nwant\n%s", how, u, got[u], want[u])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s there are %d pages, want %d", how, len(got), len(want))
	}
}

// renderSim is a crawl by several processes in turn.
type renderSim struct {
	t       *testing.T
	w       *crawltest.Web
	seed    uint64
	parked  int
	dir     string
	seeds   []string
	once    map[string]bool // resources that only one page loads, or that all pages load once
	archive exchanges
	ledger  bytes.Buffer
	kills   []time.Time

	mu     sync.Mutex
	robots map[string][]byte
}

// renderedCrawl crawls the site of a seed. It kills one process at each of the steps in kills, and lets the last one
// finish. It returns each page's record, and the number of steps of the last process.
func renderedCrawl(t *testing.T, seed uint64, parked int, kills []int) (pages map[string]string, steps int) {
	t.Helper()
	dir := t.TempDir()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := &renderSim{t: t, w: w, seed: seed, parked: parked, dir: dir, robots: map[string][]byte{}}
		s.site(rand.New(rand.NewPCG(seed, 1)))
		for done := false; !done; {
			m := &mortal{}
			if len(kills) > 0 {
				m.end, kills = kills[0], kills[1:]
			}
			done = s.process(m)
			steps = m.step
		}
		pages = s.pages()
		s.check()
	})
	return pages, steps
}

// site creates some hosts with script-generated pages and their resources.
func (s *renderSim) site(rng *rand.Rand) {
	s.once = map[string]bool{}
	var hosts []*crawltest.Site
	for i := range 2 + rng.IntN(3) {
		h := s.w.Site(fmt.Sprintf("http://h%d.example", i)).Latency(time.Duration(rng.IntN(200)) * time.Millisecond)
		h.Robots("User-agent: *\nDisallow: /forbidden/").Header("Cache-Control", "max-age=86400")
		h.Page("/data", "<p>for all</p>").Header("Cache-Control", fmt.Sprint("max-age=", rng.IntN(8)))
		h.Page("/unwell", "").Status(503)
		h.Redirect("/moved", "/data")
		hosts = append(hosts, h)
	}
	one := func() *crawltest.Site { return hosts[rng.IntN(len(hosts))] }
	var scripts []string
	for i := range 1 + rng.IntN(4) {
		h, path := one(), fmt.Sprintf("/s%d.js", i)
		text := fmt.Sprint("text script ", i)
		if len(scripts) > 0 {
			text = "import " + scripts[rng.IntN(len(scripts))] + "\n" + text
		}
		h.Page(path, text).Type("text/javascript")
		scripts, s.once[h.URL(path)] = append(scripts, h.URL(path)), true
	}
	n := 1 + rng.IntN(6)
	for i := range n {
		h, path := hosts[i%len(hosts)], fmt.Sprintf("/p%d", i)
		var lines []string
		for j := range rng.IntN(4) {
			from, own := one(), fmt.Sprintf("/own%d-%d", i, j)
			from.Page(own, fmt.Sprintf("<p>own %d %d</p>", i, j)).Header("Cache-Control", "no-store")
			s.once[from.URL(own)] = true
			lines = append(lines, "fetch "+from.URL(own), "fetch "+one().URL([]string{"/data", "/forbidden/x", "/missing", "/moved", "/unwell"}[rng.IntN(5)]))
		}
		to := rng.IntN(n)
		lines = append(lines, fmt.Sprintf("link %s", hosts[to%len(hosts)].URL(fmt.Sprintf("/p%d", to))), "push /gone"+fmt.Sprint(i))
		h.Page(path, fmt.Sprintf(`<!doctype html><title>%d</title><body><div id=root></div><script src=%s></script><script>%s</script></body>`,
			i, scripts[rng.IntN(len(scripts))], strings.Join(lines, "\n")))
		s.seeds, s.once[h.URL(path)] = append(s.seeds, h.URL(path)), true
	}
}

// process runs the crawl until it is done or the process is killed, and reports whether it is done.
func (s *renderSim) process(m *mortal) (done bool) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	m.kill = func() { s.kills = append(s.kills, time.Now()); cancel() }
	store, err := disk.Open(filepath.Join(s.dir, "frontier"), disk.Config{ReopenDelay: time.Second, CacheSize: 8 << 20, MemTableSize: 1 << 20})
	if err != nil {
		s.t.Fatal(err)
	}
	visits, err := sink.OpenJSONL(filepath.Join(s.dir, "visits.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	fake := &rendertest.Fake{Parked: s.parked}
	c := rendering(mortalRenderer{fake, m})
	c.Fetch.Record, c.Concurrency = true, 1+int(s.seed%5)
	c.Limits.Pages, c.Scope.Kind, c.RenderDir = 1000, crawler.ScopeAny, filepath.Join(s.dir, "resources")
	c.Render.MaxWait = 1000 * time.Hour // kills make waits longer
	c.Politeness.MaxFailures, c.Politeness.MaxSilence = politeness.Unlimited, politeness.Forever
	c.Frontier, c.Sinks = &mortalFrontier{store, m}, []sink.Sink{&mortalSink{visits, m}, &mortalArchive{exchanges: &s.archive, m: m}}
	c.KeepRobots = func(p *fetcher.Page) error { return s.keepRobots(m, p) }
	s.ledger.Truncate(bytes.LastIndexByte(s.ledger.Bytes(), '\n') + 1)
	c.Politeness.Ledger, c.Politeness.LedgerSize = mortalWriter{&s.ledger, m}, int64(s.ledger.Len())
	c = config(s.w, c)
	s.w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
	x, err := crawler.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := x.Gate().Replay(bytes.NewReader(s.ledger.Bytes()), func(sum string) ([]byte, error) { return s.robots[sum], nil }); err != nil {
		s.t.Fatal(err)
	}
	rep, err := x.Run(ctx, s.seeds...)
	if !m.dead {
		s.nothingLeft(store)
	}
	if closing := errors.Join(visits.Close(ctx), store.Close()); closing != nil {
		s.t.Fatal(closing)
	}
	if !m.dead && (err != nil || rep.Finish != crawler.FinishDone) {
		s.t.Fatal(rep, err)
	}
	if f := fake.Faults(); len(f) > 0 {
		s.t.Error(f)
	}
	return !m.dead
}

// nothingLeft checks that no renderings of finished pages are kept.
func (s *renderSim) nothingLeft(store *disk.Store) {
	s.t.Helper()
	err := store.Values(s.t.Context(), "", render.PrefixPage, func(_ string, value []byte) error {
		s.t.Errorf("still kept: %s", value)
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
}

func (s *renderSim) keepRobots(m *mortal, p *fetcher.Page) error {
	if err := m.at(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.robots[fmt.Sprintf("%x", sha256.Sum256(p.Body))] = bytes.Clone(p.Body)
	return nil
}

// pages returns those parts of each page's record that must not depend on kills.
func (s *renderSim) pages() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for u, r := range (job{s.t, s.dir}).records() {
		text := []string{r.Outcome, r.Reason, r.Title}
		if r.Links != nil {
			text = append(text, fmt.Sprint(*r.Links))
		}
		if x := r.Rendered; x != nil {
			b, err := json.Marshal([]any{x.Why, x.Cut, x.SHA256, x.Routes, x.Requests})
			if err != nil {
				s.t.Fatal(err)
			}
			text = append(text, string(b))
		}
		all[u] = strings.Join(text, " ")
	}
	return all
}

// check verifies that only kills caused repeated requests or archived responses.
func (s *renderSim) check() {
	s.t.Helper()
	answered := map[string]time.Time{}
	for _, r := range s.w.Requests() {
		if end, twice := answered[r.URL]; twice && s.once[r.URL] && !s.lost(end) {
			s.t.Errorf("%s, answered at %v, was requested again at %v; kills at %v", r.URL, end, r.Start, s.kills)
		}
		if r.Complete {
			answered[r.URL] = r.End
		}
	}
	count := map[string]int{}
	for _, line := range s.archive.lines {
		count[line]++
	}
	for u := range s.once {
		_, requested := answered[u]
		if n := count[u]; n != 1 && requested || n > 1 {
			s.t.Errorf("the archive has %d answers for %s", n, u)
		}
	}
}

// lost reports whether a process was killed so soon after an instant that a response received then was not committed.
func (s *renderSim) lost(at time.Time) bool {
	return slices.ContainsFunc(s.kills, func(k time.Time) bool {
		return !k.Before(at) && k.Sub(at) <= crawler.DefaultCommitInterval
	})
}

// mortal is a process that is killed at a step. After that, its writes have no effect.
type mortal struct {
	mu        sync.Mutex
	step, end int // number of steps so far, and the step of the kill; 0: no kill
	dead      bool
	kill      func()
}

func (m *mortal) at() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.step++; m.step == m.end {
		m.dead = true
		m.kill()
	}
	if m.dead {
		return errKilled
	}
	return nil
}

type mortalRenderer struct {
	crawler.Renderer
	m *mortal
}

func (r mortalRenderer) Round(ctx context.Context, t render.Task) (*render.Result, error) {
	if err := r.m.at(); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(t.Seed%400) * time.Millisecond)
	res, err := r.Renderer.Round(ctx, t)
	return res, errors.Join(err, r.m.at())
}

type mortalFrontier struct {
	*disk.Store
	m *mortal
}

func (f *mortalFrontier) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	if err := f.m.at(); err != nil {
		return 0, err
	}
	return f.Store.Add(ctx, rs...)
}

func (f *mortalFrontier) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	if err := f.m.at(); err != nil {
		return err
	}
	return f.Store.Settle(ctx, c, s)
}

func (f *mortalFrontier) Release(ctx context.Context, c frontier.Claim, ready time.Time) error {
	if err := f.m.at(); err != nil {
		return err
	}
	return f.Store.Release(ctx, c, ready)
}

func (f *mortalFrontier) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	if err := f.m.at(); err != nil {
		return err
	}
	return f.Store.Commit(ctx, ends, c)
}

type mortalSink struct {
	*sink.JSONL
	m *mortal
}

func (s *mortalSink) Append(ctx context.Context, r *sink.Record) error {
	if err := s.m.at(); err != nil {
		return err
	}
	return s.JSONL.Append(ctx, r)
}

func (s *mortalSink) Sync(ctx context.Context) (int64, error) {
	if err := s.m.at(); err != nil {
		return 0, err
	}
	return s.JSONL.Sync(ctx)
}

// exchanges is an archive that survives processes. It holds the URLs of pages and of their resources.
type exchanges struct{ lines []string }

type mortalArchive struct {
	sink.Base
	*exchanges
	m *mortal
}

func (*mortalArchive) Name() string      { return "archive" }
func (*mortalArchive) Needs() sink.Needs { return sink.Needs{Exchanges: true} }

func (s *mortalArchive) Append(_ context.Context, r *sink.Record) error {
	if err := s.m.at(); err != nil {
		return err
	}
	if r.Exchange != nil {
		s.lines = append(s.lines, r.URL)
	}
	return nil
}

func (s *mortalArchive) AppendExchange(_ context.Context, x *sink.Exchange) error {
	if err := s.m.at(); err != nil {
		return err
	}
	if x.Purpose == "resource" {
		s.lines = append(s.lines, x.URL)
	}
	return nil
}

func (s *mortalArchive) Sync(_ context.Context) (int64, error) { return int64(len(s.lines)), s.m.at() }

func (s *mortalArchive) Restore(_ context.Context, offset int64) error {
	s.lines = s.lines[:offset]
	return nil
}

func (*mortalArchive) Close(_ context.Context) error { return nil }

type mortalWriter struct {
	io.Writer
	m *mortal
}

func (w mortalWriter) Write(p []byte) (int, error) {
	if err := w.m.at(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
