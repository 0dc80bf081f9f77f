package crawler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// booked is a Frontier that records the URLs that visits queue. A URL found again closer to a seed is queued again.
type booked struct {
	*frontier.Memory
	queued []frontier.Request
}

func (b *booked) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	b.queued = append(b.queued, s.Links...)
	return b.Memory.Settle(ctx, c, s)
}

// booking is a Sink that records how visits are counted, and may fail at one visit. In tooMany is whether
// the handler, when last called for a URL, found its body beyond the limit for duplicates.
type booking struct {
	sink.Sink
	visits, last int
	pages        map[string]int  // pages by host
	same         map[string]int  // by host: visits with a known body and a URL not in tooMany
	met          int             // visits with an already known body
	tooMany      map[string]bool // by URL, for the handler's last call
}

func (*booking) Needs() sink.Needs { return sink.Needs{} }
func (*booking) Name() string      { return "booking" }

func (b *booking) Append(_ context.Context, rec *sink.Record) error {
	if b.visits++; b.visits == b.last {
		return errors.New("no room")
	}
	u, err := weburl.Parse(rec.URL)
	if err != nil {
		return err
	}
	if rec.Status != 0 && rec.Status != http.StatusMovedPermanently {
		b.pages[u.Host()]++
	}
	if rec.SameAs != "" {
		b.met++
	}
	if rec.SameAs != "" && !b.tooMany[rec.URL] {
		b.same[u.Host()]++
	}
	return nil
}

// chance generates sites on which visits end in every possible way.
func chance(rng *rand.Rand) pages {
	return func(u weburl.URL) (status int, body string) {
		kind := rng.IntN(12)
		switch {
		case u.Path() == "/robots.txt":
			return http.StatusOK, "User-agent: *\nDisallow: /private\n"
		case u.Path() == "/":
		case kind == 0:
			return http.StatusMovedPermanently, ""
		case kind == 1:
			return http.StatusServiceUnavailable, "busy"
		case kind == 2:
			return 0, ""
		case kind < 6:
			return http.StatusOK, theSame
		}
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, "<a href='/%s/%d?%d'>x</a>", []string{"a", "b", "private"}[rng.IntN(3)], rng.IntN(100), i)
		}
		return http.StatusOK, b.String()
	}
}

const theSame = "the same"

// pages is a Fetcher that generates its responses.
type pages func(u weburl.URL) (status int, body string)

func (pages) CloseIdle(string) {}

func (pages) Resolve(context.Context, weburl.URL) (netip.Addr, error) {
	return netip.MustParseAddr("127.0.0.1"), nil
}

func (f pages) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	grant, err := p.Redeem()
	if err != nil {
		return nil, err
	}
	if err := grant.Begin(); err != nil {
		return nil, err
	}
	now := time.Now()
	status, body := f(p.URL())
	if status == 0 {
		return nil, &fetcher.Error{Reason: "reset", Written: now, Ended: now}
	}
	h := http.Header{}
	if status == 301 {
		h.Set("Location", "/target"+p.URL().PathQuery())
	}
	return &fetcher.Page{
		URL: p.URL(), Addr: grant.Addr(), Permit: p, Status: status, Header: h, ContentType: "text/html", Body: []byte(body),
		Started: now, Written: now, FirstByte: now, Ended: now,
	}, nil
}

// apart returns a Config for a crawl in one bubble of virtual time. It shares no hosts with crawls in other bubbles.
func apart() politeness.Config {
	return politeness.Config{Shared: politeness.NewHosts(politeness.HostsLimits{})}
}

// TestNothingLeaks: however visits end, the final counts match exactly the queued and visited URLs. Early returns
// release everything they reserved.
func TestNothingLeaks(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			store := &booked{Memory: frontier.NewMemory(frontier.MemoryConfig{})}
			out := &booking{pages: map[string]int{}, same: map[string]int{}, tooMany: map[string]bool{}}
			if seed%4 == 3 {
				out.last = 20
			}
			c, err := New(Config{
				Limits: Limits{Depth: Unlimited, Pages: 60, PagesPerHost: 25}, Frontier: store, Sinks: []sink.Sink{out}, Concurrency: 1,
				Fetcher: chance(rng), Politeness: apart(), Handler: leaky(rng, out), Duplicates: Duplicates{Same: 12, Soft: 3},
			})
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.start([]string{"http://127.0.0.1/", "http://127.0.0.2/", "http://127.0.0.3/"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.end(r)
			if _, err := r.crawl(t.Context()); (err != nil) != (out.last > 0 && out.visits >= out.last) {
				t.Fatal(err)
			}
			checkCounts(t, r, store, out)
		})
	}
}

// leaky returns a Handler that enqueues and then returns a random kind of result.
func leaky(rng *rand.Rand, out *booking) Handler {
	return HandlerFunc(func(_ context.Context, v *Visit) error {
		out.tooMany[v.URL.String()] = v.Outcome == Duplicate
		if rng.IntN(3) == 0 {
			_ = v.Enqueue(Request{URL: fmt.Sprintf("/extra/%d?x", rng.IntN(1000))}) // fails on a nofollow page
		}
		switch rng.IntN(10) {
		case 0:
			return errors.New("no")
		case 1, 2:
			return Retry(nil)
		case 3:
			return SkipLinks
		case 4:
			panic("oops")
		}
		return nil
	})
}

func checkCounts(t *testing.T, r *run, store *booked, out *booking) {
	t.Helper()
	spent := 0
	for _, n := range out.pages {
		spent += n
	}
	if r.budget.out != 0 || r.budget.left != 60-spent {
		t.Errorf("%d tickets out, %d left after %d pages", r.budget.out, r.budget.left, spent)
	}
	if !maps.Equal(r.tally.hosts, out.pages) {
		t.Errorf("pages of hosts: %v, want %v", r.tally.hosts, out.pages)
	}
	sum := sha256.Sum256([]byte(theSame))
	if f := r.duplicates.contents.first[[16]byte(sum[:16])]; f != nil && f.count != 1+out.met {
		t.Errorf("repeated bodies are counted %d times, but %d visits had one", f.count, out.met)
	}
	want := newTrapCounts(r.cfg.Traps, nil)
	want.seed = r.judge.trapCounts.seed
	for _, q := range store.queued {
		if q.Kind != frontier.KindRedirect {
			want.enter(q.URL)
		}
	}
	for host, n := range out.same {
		want.counts[want.key("=", host, string(sum[:16]))] = uint32(n)
	}
	got := maps.Clone(r.judge.trapCounts.counts)
	maps.DeleteFunc(got, func(_ uint64, n uint32) bool { return n == 0 })
	for k, n := range got {
		if n != want.counts[k] {
			t.Errorf("group %x has %d, want %d", k, n, want.counts[k])
		}
	}
	if len(got) != len(want.counts) {
		t.Errorf("%d trap counts, want %d", len(got), len(want.counts))
	}
}

// lossy is a durable Frontier whose claims are lost to another worker before their visits end.
type lossy struct{ *disk.Store }

func (lossy) Release(context.Context, frontier.Claim, time.Time) error { return frontier.ErrLost }

func TestALostClaimCountsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		c, err := New(Config{Limits: Limits{Pages: 60}, Frontier: lossy{store}, Fetcher: chance(rand.New(rand.NewPCG(0, 0))), Politeness: apart()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.start([]string{"http://127.0.0.1/"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.end(r)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if rep, err := r.crawl(ctx); !errors.Is(err, context.DeadlineExceeded) || rep.Requests < 2 || rep.Pages != 0 {
			t.Fatalf("%+v, %v", rep, err)
		}
		for _, n := range r.judge.trapCounts.counts {
			if n != 0 {
				t.Error("the links of a lost visit are counted")
			}
		}
		if r.budget.left != 60 || r.budget.out != 0 || len(r.tally.hosts) != 0 {
			t.Errorf("%d tickets left, pages of hosts %v", r.budget.left, r.tally.hosts)
		}
	})
}
