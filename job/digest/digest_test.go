package digest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// book adds the requests of a crawl to a Digest, in the form that a crawl would write them.
type book struct {
	*Digest
	id  uint64
	run string
}

func newBook(c Config) *book { return &book{Digest: New(c), run: "r"} }

func (b *book) request(host, purpose string, at, took time.Duration, status int, clauses ...ledger.Clause) {
	b.id++
	url := "http://" + host + "/p"
	if purpose == "robots" {
		url = "http://" + host + "/robots.txt"
	}
	start := base.Add(at)
	b.Add(&ledger.Entry{
		Event: ledger.Start, Run: b.run, ID: b.id, URL: url, Host: host, Addr: host, Purpose: purpose,
		Allowed: start, Written: start, Clauses: clauses,
	})
	b.Add(&ledger.Entry{Event: ledger.End, Run: b.run, ID: b.id, Ended: start.Add(took), Status: status, Bytes: 100})
}

func delay(at time.Duration) ledger.Clause {
	return ledger.Clause{Name: ledger.ClauseDelay, Until: base.Add(at)}
}

const ms = time.Millisecond

func TestPausesAreSplitByCause(t *testing.T) {
	b := newBook(Config{Audit: audit.Config{Delay: 1}})
	b.request("a.test:80", "robots", 0, 100*ms, 200)
	b.request("a.test:80", "page", 1100*ms, 100*ms, 200, delay(1100*ms))
	b.request("a.test:80", "page", 3200*ms, 100*ms, 503, delay(2200*ms))
	retry := ledger.Clause{Name: ledger.ClauseRetryAfter, Until: base.Add(9300 * ms)}
	b.request("a.test:80", "page", 9300*ms, 100*ms, 200, retry, delay(4300*ms))
	f := b.Snapshot(0)
	if len(f.Hosts) != 1 || f.Total.Early != 0 {
		t.Fatalf("%d hosts, early: %v", len(f.Hosts), f.Early)
	}
	for _, h := range []*Host{&f.Hosts[0], &f.Total} {
		p := h.Pauses
		if p.Count != 3 || p.Owed != 3 || p.Least != time.Second || p.Due != time.Second || p.Ratio != 1 {
			t.Errorf("%+v", p)
		}
		if p.Time.Clause("delay") != 2*time.Second || p.Time.Clause("retry_after") != 6*time.Second || p.Time[Free] != time.Second {
			t.Errorf("time by cause: %v", p.Time)
		}
		if p.Ratios != (Ratios{0, 2, 0, 0, 0, 1, 0, 0}) {
			t.Errorf("ratios: %v", p.Ratios)
		}
		if h.Requests != 4 || h.Robots != 1 || h.Classes != [6]int{0, 0, 3, 0, 0, 1} || h.Bytes != 400 || h.Server != 400*ms || h.Cut != 0 {
			t.Errorf("%+v", h)
		}
	}
	if held := f.Lanes[0]; held.Bins[500-held.First]&Held == 0 || held.Bins[0]&Robots == 0 {
		t.Errorf("the lane: %v", held)
	}
}

func TestAnEarlyRequestIsNamed(t *testing.T) {
	b := newBook(Config{Audit: audit.Config{Delay: 1}})
	b.request("a.test:80", "page", 0, 100*ms, 200)
	b.request("a.test:80", "page", 600*ms, 100*ms, 200)
	f := b.Snapshot(0)
	if f.Total.Early != 1 || f.Hosts[0].Early != 1 || f.Total.Pauses.Ratios[0] != 1 || f.Total.Pauses.Ratio >= 1 {
		t.Errorf("%+v", f.Total)
	}
	if len(f.Early) != 1 || f.Early[0].Lines[0] != 3 || f.Early[0].Host != "a.test:80" {
		t.Errorf("%v", f.Early)
	}
	if f.Opening[1].Kind&Early == 0 {
		t.Error("its mark does not say so")
	}
}

// TestProcessesThatShareACrawl mixes ledger lines of several processes. Each request is still matched with its end.
func TestProcessesThatShareACrawl(t *testing.T) {
	b := newBook(Config{Audit: audit.Config{Delay: 1, Processes: []audit.Process{{Run: "x", Name: "node a"}, {Run: "y", Name: "node b"}, {Run: "z"}}}})
	line := func(event, run, host string, at time.Duration) {
		e := ledger.Entry{Event: event, Run: run, ID: 1 + uint64(at/(10*time.Second)), Addr: host, Status: 200}
		if at := base.Add(at); event == ledger.Start {
			e.Host, e.URL, e.Purpose, e.Allowed, e.Written = host, "http://"+host+"/p", "page", at, at
		} else {
			e.Ended = at
		}
		b.Add(&e)
	}
	for i := range 10 {
		at := time.Duration(i) * 10 * time.Second
		line(ledger.Start, "x", "a.test:80", at)
		line(ledger.Start, "y", "b.test:80", at+time.Second)
		line(ledger.End, "x", "a.test:80", at+2*time.Second)
		line(ledger.End, "y", "b.test:80", at+3*time.Second)
	}
	f := b.Snapshot(0)
	if f.Runs != 2 || f.Total.Requests != 20 || f.Total.Cut != 0 || f.Total.Early != 0 || f.Total.Pauses.Count != 18 || b.opened != 0 {
		t.Errorf("%d runs, %d open, %+v", f.Runs, b.opened, f.Total)
	}
	if len(f.Owners) != 3 || f.Owners[0].Name != "node a" || f.Owners[1].Requests != 10 || f.Owners[1].First != base.Add(time.Second) ||
		f.Owners[1].Last != base.Add(93*time.Second) || f.Owners[2].Requests != 0 {
		t.Errorf("%+v", f.Owners)
	}
}

// TestADigestIsBounded adds more hosts, problems and requests than a Digest keeps. All of them are still counted.
func TestADigestIsBounded(t *testing.T) {
	const hosts = 500
	b := newBook(Config{MaxHosts: hosts})
	for i := range 3 * hosts {
		host := fmt.Sprintf("h%d.test:80", i)
		b.request(host, "page", time.Duration(i)*time.Minute, time.Second, 200)
		b.AddVisit(&sink.Record{URL: "http://h" + fmt.Sprint(i) + ".test/", Outcome: "failed", Reason: fmt.Sprint("r", i), Rule: "x", Ended: base})
	}
	for range 2 * maxOpen {
		b.id++
		b.Add(&ledger.Entry{Event: ledger.Start, Run: b.run, ID: b.id, Host: "h0.test:80", Written: base})
	}
	f := b.Snapshot(100)
	if len(f.Hosts) != 100 || f.MoreHosts != 3*hosts-100 || f.Total.Requests != 3*hosts+2*maxOpen || f.Total.Visits != 3*hosts {
		t.Errorf("%d hosts, %d more, %d requests", len(f.Hosts), f.MoreHosts, f.Total.Requests)
	}
	if b.opened > maxOpen || len(b.hosts) > hosts || len(f.Problems) > maxGroups+1 || len(f.Total.Reasons) > maxNames+1 {
		t.Errorf("%d open, %d problems", b.opened, len(f.Problems))
	}
	n := 0
	for _, g := range f.Problems {
		n += g.Count
	}
	if n != 3*hosts {
		t.Errorf("problems sum up to %d", n)
	}
}

func TestLanesFoldAsTimePasses(t *testing.T) {
	b := newBook(Config{})
	last := 0
	for i := range 4000 {
		b.request("a.test:80", "page", time.Duration(i)*time.Second, 0, 200)
		last = i
	}
	f := b.Snapshot(0)
	lane := f.Lanes[0]
	if lane.First+len(lane.Bins) > Bins || time.Duration(last)*time.Second >= Bins*f.Bin {
		t.Errorf("%d bins of %v", len(lane.Bins), f.Bin)
	}
	for i, k := range lane.Bins { // with one request a second, each bin of 2.56 s has at least one
		if k&Page == 0 {
			t.Fatalf("nothing in bin %d of %d", i, len(lane.Bins))
		}
	}
	if b.request("a.test:80", "page", 0, 0, 200); b.Snapshot(0).Lanes[0].First != 0 {
		t.Error("a time before the beginning")
	}
}

func TestQuantilesAreClose(t *testing.T) {
	var h Histogram
	for i := range int64(100_000) {
		h.Add(i)
	}
	for _, q := range []float64{0.01, 0.5, 0.95, 1} {
		want := q * 100_000
		if got := float64(h.Quantile(q)); got < want*15/16-1 || got > want*17/16+1 {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
	n := 0
	for _, c := range h.Doublings() {
		n += c
	}
	if n != h.Count {
		t.Errorf("%d in doublings, %d in all", n, h.Count)
	}
}

func TestProblemsAndRulesAreGrouped(t *testing.T) {
	d := New(Config{})
	for i := range 9 {
		host := []string{"a", "a", "a", "a", "b", "b", "c", "c", "d"}[i]
		d.AddVisit(&sink.Record{URL: fmt.Sprintf("http://%s.test/%d", host, i), Via: "http://a.test/", Outcome: "fetched", Status: 404})
	}
	d.AddVisit(&sink.Record{
		URL: "http://a.test/x", Outcome: "refused", Reason: "robots_disallow", Rule: "Disallow: /x",
		Detail: `refused: line 2 "Disallow: /x" of http://a.test/robots.txt (200, fetched 2026-01-02T03:04:05Z), group "*" line 1`,
	})
	f := d.Snapshot(0)
	if len(f.Problems) != 2 || f.Problems[0].Count != 9 || f.Problems[0].Hosts != 4 || len(f.Problems[0].Examples) != 3 {
		t.Fatalf("%+v", f.Problems)
	}
	if len(f.Rules) != 1 || f.Rules[0].Where != "line 2 of http://a.test/robots.txt" {
		t.Errorf("%+v", f.Rules)
	}
}

// TestBriefDigestEqualsFullDigest checks that all figures of a brief Digest equal those of a full one.
func TestBriefDigestEqualsFullDigest(t *testing.T) {
	digest := func(brief bool) *Digest {
		b := newBook(Config{Audit: audit.Config{Delay: 1}, MaxHosts: 4, Brief: brief})
		for i := range 30 {
			host, at := fmt.Sprintf("h%d.test:80", i%6), time.Duration(i)*300*ms
			b.request(host, "robots", at, 10*ms, 200)
			b.request(host, "page", at+100*ms, 10*ms, 200+i, delay(at+200*ms))
			b.AddVisit(&sink.Record{URL: "http://" + host + "/p", Via: "http://h0.test/", Depth: 1, Outcome: "fetched", Status: 200, Bytes: i, Ended: base.Add(at)})
			b.AddVisit(&sink.Record{URL: "http://" + host + "/q", Outcome: "refused", Reason: "robots_disallow", Rule: "Disallow: /q", Ended: base.Add(at)})
		}
		return b.Digest
	}
	whole, brief := digest(false), digest(true)
	if !reflect.DeepEqual(whole.Totals(), brief.Totals()) {
		t.Errorf("totals: %+v, %+v", whole.Totals(), brief.Totals())
	}
	want, got := whole.Snapshot(0), brief.Snapshot(0)
	if len(want.Early) == 0 || len(want.Problems) == 0 || len(want.Series.Steps) == 0 {
		t.Fatalf("the crawl shows nothing: %+v", want)
	}
	want.Problems, want.Rules, want.Depths, want.Sizes, want.Crossed = []Group{}, []Group{}, [maxDepth + 1]int{}, Histogram{}, 0
	want.Series, want.Lanes, want.Opening = Series{}, nil, nil
	want.Bin, got.Bin = 0, 0
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSnapshotSharesNoMemory(t *testing.T) {
	b := newBook(Config{})
	crawl := func() {
		b.request("a.test:80", "robots", time.Duration(b.id)*time.Second, ms, 200)
		b.Add(&ledger.Entry{Event: ledger.Start, Run: b.run, ID: 1000 + b.id, URL: "http://a.test/", Host: "a.test:80", Purpose: "page", Written: base})
		b.Add(&ledger.Entry{Event: ledger.End, Run: b.run, ID: 1000 + b.id, Ended: base.Add(ms), Status: 403, Wall: "w"})
		b.AddVisit(&sink.Record{URL: "http://a.test/", Outcome: "fetched", Status: 403, Reason: "challenge", Usage: []sink.Usage{{Use: "u", Signal: "s"}}})
	}
	crawl()
	before := b.Snapshot(0)
	crawl()
	if h := before.Hosts[0]; h.Walls["w"] != 1 || h.Answers.buckets[place(int64(ms))] != 2 {
		t.Errorf("the first snapshot has become %+v", h)
	}
}

func TestHostOfAURLIsThatOfTheLedger(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.test/x:y": "a.test:80", "https://a.test": "a.test:443", "http://[::1]/": "[::1]:80", "http://[::1]:8080/": "[::1]:8080",
		"https://a.test:8443?x": "a.test:8443", "mailto:x@y": "",
	} {
		if got := New(Config{}).hostOf(url); got != want {
			t.Errorf("%s: %q", url, got)
		}
	}
}

// TestClausesAreAll checks that each clause of the ledger has a number in a Digest, and that no clause has the number Free.
func TestClausesAreAll(t *testing.T) {
	for id, name := range Clauses() {
		if id > 0 && (name == "" || int(ledger.ClauseIDOf(name)) != id) {
			t.Errorf("clause %d is %q", id, name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the ledger has a clause in the place of Free")
		}
	}()
	_ = ledger.ClauseID(Free).String()
}

// TestTimeLostToOtherCrawlsExcludesOwnPauses checks that time counts as lost to other crawls only after the crawl's own pause has ended and
// the URL was queued.
func TestTimeLostToOtherCrawlsExcludesOwnPauses(t *testing.T) {
	shared := func(at time.Duration) ledger.Clause {
		return ledger.Clause{Name: ledger.ClauseShared, Until: base.Add(at), By: "news"}
	}
	b := newBook(Config{Audit: audit.Config{Delay: 1}})
	b.request("a.test:80", "robots", 0, 100*ms, 200)
	b.request("a.test:80", "page", 4*time.Second, 100*ms, 200, shared(3100*ms), delay(1100*ms)) // 2 s lost: from 1.1 s to 3.1 s
	b.request("a.test:80", "page", 9*time.Second, 100*ms, 200, shared(5*time.Second), delay(6*time.Second))
	b.request("b.test:80", "robots", 12*time.Second, 100*ms, 200, shared(500*ms)) // 0.5 s lost: from the start of the crawl
	b.request("c.test:80", "robots", 13*time.Second, 100*ms, 200)
	b.request("c.test:80", "page", 74*time.Second, 100*ms, 200, shared(74*time.Second), ledger.Clause{Name: ledger.ClauseEngine, Until: base.Add(74 * time.Second)})
	f := b.Snapshot(0)
	a := f.Hosts[0]
	if away := f.Total.Pauses.Time.Clause(ledger.ClauseEngine); away != 60*time.Second+900*ms {
		t.Errorf("%v without an engine", away)
	}
	if a.LostToOthers != 2*time.Second || f.Total.LostToOthers != 2500*ms || a.Row().Lost != 2 {
		t.Errorf("lost: %v, in all %v", a.LostToOthers, f.Total.LostToOthers)
	}
	if p := a.Pauses.Time; p.Clause("shared") != 2*time.Second || p.Clause("delay") != 1*time.Second+1900*ms {
		t.Errorf("time by cause: %v", p)
	}
}
