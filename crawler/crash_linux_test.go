package crawler_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sqlite"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

var (
	kills     = flag.Int("kills", long.N(8, 16), "how often TestKilledCrawls kills its crawlers")
	crashSeed = flag.Uint64("crash.seed", 1, "what TestKilledCrawls' random choices begin with")
)

// The steps of a crawl before and after which it can be killed. The last two are a kill from outside at a random time,
// and a stop followed by a kill.
var crashSteps = []string{
	"append warc", "appended warc", "append visits.jsonl", "appended visits.jsonl", "torn visits.jsonl",
	"sync warc", "synced warc", "sync visits.jsonl", "synced visits.jsonl",
	"release", "released", "commit", "committed", "settle", "settled", "add", "added", "ledger", "robots",
	"any time", "stopped",
}

const crashDelay = 3 * time.Millisecond

// TestKilledCrawls kills crawler processes at every step of a commit and at random times, until each crawl has
// ended nevertheless. The servers' log is the evidence:
//
//	go test ./crawler -run KilledCrawls -v -kills 250
//
// prints what was lost and what was done twice.
func TestKilledCrawls(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	web := newCrashWeb(t)
	var all crashSum
	rng := rand.New(rand.NewPCG(*crashSeed, 0))
	for round := 0; all.kills < *kills; round++ {
		c := &crashed{t: t, web: web, dir: t.TempDir(), rng: rng, from: round * 5}
		c.run(min(8, *kills-all.kills))
		all.add(c.sum)
	}
	t.Logf("%+v", all)
	if all.lost+all.twice+all.torn+all.impolite+all.excess > 0 {
		t.Errorf("%+v", all)
	}
}

// crashSum holds the totals of killed crawls.
type crashSum struct {
	crawls, kills, pages      int
	requests                  int // in the servers' log
	again                     int // requests that already had a response
	lost, twice, torn, excess int // excess: requests for pages with durable visits
	impolite                  int
}

func (s *crashSum) add(o crashSum) {
	s.crawls, s.kills, s.pages = s.crawls+o.crawls, s.kills+o.kills, s.pages+o.pages
	s.requests, s.again = s.requests+o.requests, s.again+o.again
	s.lost, s.twice, s.torn = s.lost+o.lost, s.twice+o.twice, s.torn+o.torn
	s.excess, s.impolite = s.excess+o.excess, s.impolite+o.impolite
}

// crashed is one crawl that is killed repeatedly.
type crashed struct {
	t    *testing.T
	web  *crashWeb
	dir  string
	rng  *rand.Rand
	from int
	sum  crashSum

	asked   map[string]int  // requests by URL before the last process began
	durable map[string]bool // URLs with durable visits at that time
}

// run kills the crawl at most n times and then lets it end.
func (c *crashed) run(n int) {
	c.web.forget()
	for i := 0; ; i++ {
		step := ""
		if i < n {
			step = crashSteps[(c.from+i*3)%len(crashSteps)]
		}
		killed := c.process(step)
		c.checkDurable()
		if !killed {
			break
		}
		c.sum.kills++
	}
	c.check()
}

// process runs the crawl until it ends or is killed at a step. It reports whether the process was killed.
func (c *crashed) process(step string) (killed bool) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingCrawl$", "-test.count=1")
	cmd.Env = append(os.Environ(), "AMBLE_CRASH_DIR="+c.dir, "AMBLE_CRASH_SEEDS="+strings.Join(c.web.seeds, " "),
		"AMBLE_CRASH_STEP="+step, "AMBLE_CRASH_AFTER="+strconv.Itoa(1+c.rng.IntN(12)))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	done := make(chan struct{})
	var outside sync.WaitGroup
	if step == "any time" || step == "stopped" {
		outside.Go(func() { c.shoot(cmd.Process, step == "stopped", done) })
	}
	err := cmd.Wait()
	close(done)
	outside.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	if err != nil {
		c.t.Fatalf("the crawl failed: %v\n%s", err, &out)
	}
	return false
}

// checkDurable checks that the process that just ended requested no page whose visit was durable before it began.
// TestCommitInterval checks how much may not be durable yet; here that depends on the duration of commits.
func (c *crashed) checkDurable() {
	asked := c.web.byURL()
	for u := range c.durable {
		if n := asked[u] - c.asked[u]; n > 0 {
			c.t.Errorf("%s was requested %d times more although its visit was durable", u, n)
			c.sum.excess += n
		}
	}
	committed, err := os.ReadFile(filepath.Join(c.dir, "committed"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	c.asked, c.durable = asked, map[string]bool{}
	for line := range strings.Lines(string(committed)) {
		if u, whole := strings.CutSuffix(line, "\n"); whole { // otherwise the process was killed during the write
			c.durable[u] = true
		}
	}
}

// shoot kills a process from outside after the servers have seen some of its requests.
func (c *crashed) shoot(p *os.Process, stop bool, done <-chan struct{}) {
	for want := c.web.count() + 1 + c.rng.IntN(40); c.web.count() < want; {
		select {
		case <-done:
			return
		case <-c.web.asked:
		}
	}
	if stop {
		_ = p.Signal(syscall.SIGSTOP)
	}
	_ = p.Kill()
}

func (c *crashed) check() {
	t, s := c.t, &c.sum
	s.crawls = 1
	asked := c.web.byURL()
	once := map[string]int{}
	var visits []string
	lines, err := os.ReadFile(filepath.Join(c.dir, "visits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(lines) {
		var r sink.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("torn: %q", line)
			s.torn++
		}
		if once[r.URL]++; once[r.URL] > 1 {
			t.Errorf("twice: %s", r.URL)
			s.twice++
		}
		c.checkData(&r)
		visits = append(visits, r.URL)
	}
	c.checkItems(visits)
	for _, u := range c.web.pages {
		s.pages++
		if once[u] == 0 || asked[u] == 0 {
			t.Errorf("lost: %s: %d lines, %d requests", u, once[u], asked[u])
			s.lost++
		}
	}
	for u, n := range asked {
		s.requests += n
		if strings.Contains(u, "/no/") {
			t.Errorf("forbidden: %s", u)
			s.impolite++
		}
		if n > 1 && !strings.HasSuffix(u, "/robots.txt") {
			s.again += n - 1
		}
	}
	c.checkArchive()
	c.checkLedger()
}

// crashItem is a result emitted by crashHandle.
type crashItem struct {
	URL  string `json:"url"`
	Meta string `json:"meta"`
}

// crashHandle emits one result for every visit, and adds one page per host that is not linked anywhere.
func crashHandle(_ context.Context, v *crawler.Visit) error {
	if v.URL.Path() == "/" {
		if err := v.Enqueue(crawler.Request{URL: crashPath(crashExtra), Meta: []byte("extra")}); err != nil {
			return err
		}
	}
	return v.Emit(crashItem{v.URL.String(), string(v.Meta)})
}

// checkData checks that a record has exactly the one result that crashHandle emitted.
func (c *crashed) checkData(r *sink.Record) {
	want := fmt.Sprintf(`{"url":%q,"meta":""}`, r.URL)
	if strings.HasSuffix(r.URL, crashPath(crashExtra)) && !strings.Contains(r.URL, "/no/") {
		want = fmt.Sprintf(`{"url":%q,"meta":"extra"}`, r.URL)
	}
	if len(r.Data) != 1 || string(r.Data[0]) != want {
		c.t.Errorf("%s has the results %s, want %s", r.URL, r.Data, want)
		c.sum.twice++
	}
}

// checkItems checks that each output of results has one result per visit, in the same order.
func (c *crashed) checkItems(visits []string) {
	for name, read := range map[string]func(string) ([]string, error){"items.jsonl": linesOfItems, "items.csv": rowsOfItems, "items.db": tableOfItems} {
		got, err := read(filepath.Join(c.dir, name))
		if err != nil {
			c.t.Errorf("%s: %v", name, err)
			c.sum.torn++
		}
		if !slices.Equal(got, visits) {
			c.t.Errorf("%s has %d results, of %d visits: %q", name, len(got), len(visits), got)
			c.sum.twice += max(0, len(got)-len(visits))
			c.sum.lost += max(1, len(visits)-len(got))
		}
	}
}

func linesOfItems(path string) (urls []string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var item crashItem
		if err := json.Unmarshal(line, &item); err != nil {
			return urls, err
		}
		urls = append(urls, item.URL)
	}
	return urls, nil
}

func rowsOfItems(path string) (urls []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], []string{"url", "meta"}) {
		return nil, fmt.Errorf("columns %q, %w", rows, err)
	}
	for _, row := range rows[1:] {
		urls = append(urls, row[0])
	}
	return urls, nil
}

func tableOfItems(path string) (urls []string, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SELECT url FROM items WHERE url = _page ORDER BY _id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			return urls, err
		}
		urls = append(urls, u)
	}
	return urls, rows.Err()
}

func (c *crashed) checkArchive() {
	records, err := warctest.Read(filepath.Join(c.dir, "warc"))
	if err != nil {
		c.t.Errorf("torn: %v", err)
		c.sum.torn++
	}
	stored := map[string]int{}
	for _, r := range records {
		if u := r.Get("WARC-Target-URI"); r.IsAnswer() && !strings.HasSuffix(u, "/robots.txt") {
			if stored[u]++; stored[u] > 1 {
				c.t.Errorf("twice in the archive: %s", u)
				c.sum.twice++
			}
		}
	}
	for _, u := range c.web.pages {
		if stored[u] == 0 {
			c.t.Errorf("lost from the archive: %s", u)
			c.sum.lost++
		}
	}
}

func (c *crashed) checkLedger() {
	f, err := os.Open(filepath.Join(c.dir, "ledger.jsonl"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	rep, err := audit.Check(f, audit.Config{Product: "amble", UserAgent: "amble/" + crawler.Version, Delay: crashDelay.Seconds()},
		func(sum string) ([]byte, error) { return os.ReadFile(filepath.Join(c.dir, "robots", sum)) })
	if err != nil {
		c.t.Fatal(err)
	}
	for _, v := range rep.Violations {
		c.t.Error(v)
	}
	c.sum.impolite += len(rep.Violations)
	if n := c.web.tooSoon(crashDelay); n > 0 {
		c.t.Errorf("the servers saw %d requests too early", n)
		c.sum.impolite += n
	}
}

// crashWeb is a set of servers on separate loopback addresses, with pages that link to each other, and their log.
type crashWeb struct {
	seeds, pages []string
	asked        chan struct{} // signals a request; capacity 1

	mu  sync.Mutex
	log []crashRequest
}

type crashRequest struct {
	url        string
	start, end time.Time
}

// crashExtra is the number of the page that is not linked: one more than the last linked one.
const crashExtra = 40

func newCrashWeb(t *testing.T) *crashWeb {
	const hosts, pages = 4, crashExtra + 1
	w := &crashWeb{asked: make(chan struct{}, 1)}
	var listeners []net.Listener
	for h := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.78.0.%d:0", h+1))
		if err != nil {
			t.Skipf("no loopback address besides 127.0.0.1: %v", err)
		}
		origin := "http://" + l.Addr().String()
		w.seeds = append(w.seeds, origin+"/")
		for p := range pages {
			w.pages = append(w.pages, origin+crashPath(p))
		}
		listeners = append(listeners, l)
	}
	for _, l := range listeners { // started only when everything the handler reads exists
		srv := &http.Server{Handler: http.HandlerFunc(w.serve), ReadHeaderTimeout: time.Minute}
		go func() { _ = srv.Serve(l) }()
		t.Cleanup(func() { _ = srv.Close() })
	}
	return w
}

func crashPath(p int) string {
	if p == 0 {
		return "/"
	}
	return fmt.Sprintf("/%d", p)
}

func (w *crashWeb) serve(rw http.ResponseWriter, r *http.Request) {
	q := crashRequest{url: "http://" + r.Host + r.URL.Path, start: time.Now()}
	if r.URL.Path == "/robots.txt" {
		_, _ = io.WriteString(rw, "User-agent: *\nDisallow: /no/\n")
	} else {
		p, _ := strconv.Atoi(r.URL.Path[1:])
		rw.Header().Set("Content-Type", "text/html")
		for i := range 3 { // a tree, so that every page of the host can be reached
			fmt.Fprintf(rw, "<a href=%s>x</a> <a href=/no/%d>x</a>", crashPath(min(crashExtra-1, p*3+i+1)), p)
		}
		fmt.Fprintf(rw, "<a href=%s>x</a>", w.seeds[p%len(w.seeds)])
	}
	q.end = time.Now()
	w.mu.Lock()
	w.log = append(w.log, q)
	w.mu.Unlock()
	select {
	case w.asked <- struct{}{}:
	default:
	}
}

func (w *crashWeb) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = nil
}

func (w *crashWeb) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

func (w *crashWeb) byURL() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, q := range w.log {
		n[q.url]++
	}
	return n
}

// tooSoon returns the number of requests that arrived sooner after the previous one at their host than the delay
// allows. Both times are measured at the server, where a pause can only be longer than the crawler's, by the travel
// time of the response.
func (w *crashWeb) tooSoon(delay time.Duration) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := map[string]time.Time{}
	for _, q := range w.log {
		host := strings.Split(q.url, "/")[2]
		if l, ok := last[host]; ok && q.start.Sub(l) < delay {
			n++
		}
		last[host] = q.end
	}
	return n
}

// TestCrashingCrawl is the crawl that TestKilledCrawls kills, in its own process.
func TestCrashingCrawl(t *testing.T) {
	dir := os.Getenv("AMBLE_CRASH_DIR")
	if dir == "" {
		t.Skip("is run by TestKilledCrawls")
	}
	after, _ := strconv.Atoi(os.Getenv("AMBLE_CRASH_AFTER"))
	b := &bomb{step: os.Getenv("AMBLE_CRASH_STEP"), dir: dir}
	b.left.Store(int64(after))
	rep, err := b.crawl(strings.Fields(os.Getenv("AMBLE_CRASH_SEEDS")))
	if err != nil || rep.Finish != crawler.FinishDone {
		t.Fatal(rep, err)
	}
}

// bomb kills its own process at a step, some time after that step is first reached.
type bomb struct {
	step, dir string
	left      atomic.Int64
}

func (b *bomb) at(step string) {
	if step == b.step && b.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (b *bomb) crawl(seeds []string) (*crawler.Report, error) {
	if err := os.MkdirAll(filepath.Join(b.dir, "robots"), 0o755); err != nil {
		return nil, err
	}
	store, err := disk.Open(filepath.Join(b.dir, "frontier"), disk.Config{ReopenDelay: crashDelay, CacheSize: 8 << 20, MemTableSize: 1 << 20})
	if err != nil {
		return nil, err
	}
	archive, err := warc.Open(filepath.Join(b.dir, "warc"), warc.Options{})
	if err != nil {
		return nil, err
	}
	visits, err := sink.OpenJSONL(filepath.Join(b.dir, "visits.jsonl"))
	if err != nil {
		return nil, err
	}
	items, err := sink.OpenItems(filepath.Join(b.dir, "items.jsonl"))
	if err != nil {
		return nil, err
	}
	rows, err := sink.OpenCSV(filepath.Join(b.dir, "items.csv"), "url", "meta")
	if err != nil {
		return nil, err
	}
	table, err := sqlite.Open(filepath.Join(b.dir, "items.db"), "items")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "ledger.jsonl")
	ledger, size, err := ledger.Open(file)
	if err != nil {
		return nil, err
	}
	before, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer before.Close()
	c, err := crawler.New(crawler.Config{
		Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 1_000_000, Depth: crawler.Unlimited}, Handler: crawler.HandlerFunc(crashHandle),
		Frontier: &bombFrontier{store, b}, Sinks: []sink.Sink{&bombArchive{archive, b}, items, &bombSink{visits, b}, rows, table},
		Politeness: politeness.Config{Delay: crashDelay, Ledger: &bombWriter{ledger, b}, LedgerSize: size},
		KeepRobots: func(p *fetcher.Page) error {
			b.at("robots")
			return os.WriteFile(filepath.Join(b.dir, "robots", fmt.Sprintf("%x", sha256.Sum256(p.Body))), p.Body, 0o644)
		},
	})
	if err != nil {
		return nil, err
	}
	if err := c.Gate().Replay(before, b.robots); err != nil {
		return nil, err
	}
	rep, err := c.Run(context.Background(), seeds...)
	return rep, errors.Join(err, visits.Close(context.Background()), items.Close(context.Background()), rows.Close(context.Background()), table.Close(context.Background()), archive.Close(context.Background()), store.Close(), ledger.Close())
}

func (b *bomb) robots(sum string) ([]byte, error) {
	return os.ReadFile(filepath.Join(b.dir, "robots", sum))
}

// bombFrontier, bombArchive, bombSink and bombWriter wrap the real implementations with a bomb before and after each
// step.
type bombFrontier struct {
	*disk.Store
	b *bomb
}

func (f *bombFrontier) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	f.b.at("add")
	n, err := f.Store.Add(ctx, rs...)
	f.b.at("added")
	return n, err
}

func (f *bombFrontier) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	f.b.at("settle")
	err := f.Store.Settle(ctx, c, s)
	f.b.at("settled")
	return err
}

func (f *bombFrontier) Release(ctx context.Context, c frontier.Claim, ready time.Time) error {
	f.b.at("release")
	err := f.Store.Release(ctx, c, ready)
	f.b.at("released")
	return err
}

func (f *bombFrontier) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	f.b.at("commit")
	err := f.Store.Commit(ctx, ends, c)
	f.b.at("committed")
	if err == nil {
		err = f.b.committed(ends)
	}
	return err
}

// committed records the URLs with durable visits.
func (b *bomb) committed(ends []frontier.End) error {
	var urls strings.Builder
	for i := range ends {
		if e := &ends[i]; e.Settlement.Again == nil {
			urls.WriteString(e.Claim.URL.String() + "\n")
		}
	}
	f, err := os.OpenFile(filepath.Join(b.dir, "committed"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(urls.String())
	return errors.Join(err, f.Close())
}

type bombSink struct {
	*sink.JSONL
	b *bomb
}

func (s *bombSink) Append(ctx context.Context, r *sink.Record) error {
	s.b.at("append visits.jsonl")
	if s.b.step == "torn visits.jsonl" && s.b.left.Load() == 1 {
		if f, err := os.OpenFile(filepath.Join(s.b.dir, "visits.jsonl"), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString(`{"schema":"amble.vis`)
		}
	}
	s.b.at("torn visits.jsonl")
	err := s.JSONL.Append(ctx, r)
	s.b.at("appended visits.jsonl")
	return err
}

func (s *bombSink) Sync(ctx context.Context) (int64, error) {
	s.b.at("sync visits.jsonl")
	offset, err := s.JSONL.Sync(ctx)
	s.b.at("synced visits.jsonl")
	return offset, err
}

type bombArchive struct {
	*warc.Writer
	b *bomb
}

func (s *bombArchive) Append(ctx context.Context, r *sink.Record) error {
	s.b.at("append warc")
	err := s.Writer.Append(ctx, r)
	s.b.at("appended warc")
	return err
}

func (s *bombArchive) Sync(ctx context.Context) (int64, error) {
	s.b.at("sync warc")
	offset, err := s.Writer.Sync(ctx)
	s.b.at("synced warc")
	return offset, err
}

type bombWriter struct {
	io.Writer
	b *bomb
}

func (w *bombWriter) Write(p []byte) (int, error) {
	w.b.at("ledger")
	return w.Writer.Write(p)
}
