//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

var (
	kills     = flag.Int("kills", long.N(5, 10), "how often TestKilledCommands kills the command")
	crashSeed = flag.Uint64("crash.seed", 1, "what TestKilledCommands' random choices begin with")
)

const (
	crashDelay = 3 * time.Millisecond
	crashHosts = 4
	crashPages = 40
)

// TestKilledCommands kills the command, as a user would run it, at random times, and resumes the job with the same command or with resume
// until the crawl has ended. Every fourth process is stopped for a while before the kill. The test compares the outputs with the requests
// in the log of the servers:
//
//	go test ./cmd/amble -run KilledCommands -v -kills 200
//
// The command prints what was lost and what was done twice.
func TestKilledCommands(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	web := newCrashWeb(t)
	rng := rand.New(rand.NewPCG(*crashSeed, 0))
	var sum crashSum
	for sum.kills < *kills {
		j := &killedJob{t: t, web: web, rng: rng, dir: filepath.Join(t.TempDir(), "job"), from: web.size(), segments: []string{"none", "2KiB", "8KiB", "64KiB"}[rng.IntN(4)]}
		j.run(min(10, *kills-sum.kills))
		j.check()
		sum.add(&j.crashSum)
	}
	t.Logf("\n%s", sum.table())
	if sum.lost+sum.twice+sum.torn+sum.forbidden+sum.impolite > 0 || sum.again > sum.allowed {
		t.Errorf("\n%s", sum.table())
	}
}

// crashSum counts the outcomes of jobs whose processes were killed.
type crashSum struct {
	jobs, kills, stops, early int
	pages, requests           int
	again, allowed            int // number of repeated requests, and upper limit for it
	lost, twice, torn         int
	forbidden, impolite       int
}

func (s *crashSum) add(o *crashSum) {
	s.jobs, s.kills, s.stops, s.early = s.jobs+1, s.kills+o.kills, s.stops+o.stops, s.early+o.early
	s.pages, s.requests = s.pages+o.pages, s.requests+o.requests
	s.again, s.allowed = s.again+o.again, s.allowed+o.allowed
	s.lost, s.twice, s.torn = s.lost+o.lost, s.twice+o.twice, s.torn+o.torn
	s.forbidden, s.impolite = s.forbidden+o.forbidden, s.impolite+o.impolite
}

func (s *crashSum) table() string {
	var b strings.Builder
	for _, row := range []struct {
		name string
		n    int
	}{
		{"jobs", s.jobs}, {"kills (SIGKILL)", s.kills}, {"  after SIGSTOP and SIGCONT", s.stops}, {"  before the first request", s.early},
		{"pages", s.pages}, {"requests", s.requests}, {"pages lost", s.lost}, {"visits written twice", s.twice},
		{"torn lines", s.torn}, {"forbidden requests", s.forbidden}, {"violations, by verify and by the servers", s.impolite},
		{"requests repeated", s.again}, {"  at most (in flight + last commit interval)", s.allowed},
	} {
		fmt.Fprintf(&b, "%-46s %6d\n", row.name, row.n)
	}
	return b.String()
}

// killedJob is a job whose processes are killed.
type killedJob struct {
	crashSum
	t    *testing.T
	web  *crashWeb
	rng  *rand.Rand
	dir  string
	from int // number of requests in the servers' log before the job

	segments string // value of --segment-size
}

// run kills up to n processes of the job, and then lets one process finish.
func (j *killedJob) run(n int) {
	for j.kills < n {
		if !j.process(true) {
			return
		}
		j.kills++
	}
	j.process(false)
}

// process runs one process of the job. It returns whether the process was killed.
func (j *killedJob) process(kill bool) bool {
	args := append([]string{"crawl", "-q", "-o", j.dir, "-d", "none", "-w", crashDelay.String(), "--archive", "--segment-size", j.segments}, j.web.seeds...)
	if job.Holds(j.dir) && j.rng.IntN(2) == 0 {
		args = []string{"resume", "-q", j.dir}
	}
	before := j.web.size()
	cmd := exec.Command("amble", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	done := make(chan struct{})
	var killing sync.WaitGroup
	if kill {
		killing.Go(func() { j.kill(cmd.Process, done) })
	}
	err := cmd.Wait()
	close(done)
	killing.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		if j.web.size() == before {
			j.early++
		}
		return true
	}
	if err != nil {
		j.t.Fatalf("amble %q: %v\n%s", args, err, &stderr)
	}
	return false
}

// kill ends the process abruptly: some time after its start, or after the servers have seen some requests.
func (j *killedJob) kill(p *os.Process, done <-chan struct{}) {
	if j.rng.IntN(3) == 0 {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(j.rng.IntN(150)) * time.Millisecond):
		}
	} else if !j.web.await(j.web.size()+1+j.rng.IntN(30), done) {
		return
	}
	if j.rng.IntN(4) == 0 {
		j.stops++
		_ = p.Signal(syscall.SIGSTOP) // the process may have ended already
		time.Sleep(time.Duration(j.rng.IntN(30)) * time.Millisecond)
		_ = p.Signal(syscall.SIGCONT)
		time.Sleep(time.Duration(j.rng.IntN(20)) * time.Millisecond)
	}
	_ = p.Kill()
}

// check compares the job's files with the servers' log.
func (j *killedJob) check() {
	log := j.web.since(j.from)
	asked := map[string]int{}
	for _, q := range log {
		asked[q.url]++
		j.requests++
		if strings.Contains(q.url, "/no/") {
			j.forbidden++
		}
	}
	for u, n := range asked {
		if !strings.HasSuffix(u, "/robots.txt") {
			j.again += n - 1
		}
	}
	// Each kill may interrupt one request per host, and lose other requests of the last 50 ms, the interval between commits.
	j.allowed = j.kills * crashHosts * (1 + int(50*time.Millisecond/crashDelay))
	j.impolite += tooSoon(log)
	j.checkVisits(asked)
	j.checkReport()
	if out, err := exec.Command("amble", "verify", j.dir).CombinedOutput(); err != nil {
		j.t.Errorf("verify: %v\n%s", err, out)
		j.impolite++
	}
}

func (j *killedJob) checkVisits(asked map[string]int) {
	r, err := job.Read(j.dir)
	if err != nil {
		j.t.Fatal(err)
	}
	defer r.Close()
	visits, err := r.Open(job.VisitsName)
	if err != nil {
		j.t.Fatal(err)
	}
	defer visits.Close()
	lines, err := io.ReadAll(visits)
	if err != nil {
		j.t.Fatal(err)
	}
	written := map[string]int{}
	for line := range bytes.Lines(lines) {
		var r sink.Record
		if err := json.Unmarshal(line, &r); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			j.t.Errorf("torn: %q", line)
			j.torn++
			continue
		}
		if written[r.URL]++; written[r.URL] > 1 {
			j.t.Errorf("twice: %s", r.URL)
			j.twice++
		}
	}
	for _, u := range j.web.pages {
		j.pages++
		if written[u] == 0 || asked[u] == 0 {
			j.t.Errorf("lost: %s, with %d visits and %d requests", u, written[u], asked[u])
			j.lost++
		}
	}
}

// checkReport checks that the report and the manifest cover the whole job.
func (j *killedJob) checkReport() {
	r := must(job.Read(j.dir))
	defer r.Close()
	rep := must(r.Report())
	if rep.Pages != len(j.web.pages) || rep.Left != 0 {
		j.t.Errorf("the report has %d pages and %d left, the web %d pages", rep.Pages, rep.Left, len(j.web.pages))
	}
	m, err := r.Manifest()
	if err != nil || !m.Finished() || len(m.Runs) > j.kills+1 || m.Outputs[job.VisitsName].Bytes == 0 {
		j.t.Errorf("the manifest, after %d kills: %+v, %v", j.kills, m, err)
	}
}

// TestKilledCommandKeepsRetryAfter kills a crawl right after the response of a host that asks for a pause much longer than the crawl's
// delay. The next process reads the pause from the ledger, waits, and need not request robots.txt again.
func TestKilledCommandKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const pause = 700 * time.Millisecond
	var mu sync.Mutex
	var log []crashRequest
	seen := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		if r.URL.Path == "/robots.txt" {
			fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\n", pause.Seconds())
		} else {
			page("Page", "/1", "/2")(w, r)
		}
		mu.Lock()
		defer mu.Unlock()
		log = append(log, crashRequest{url: r.URL.Path, start: start, end: time.Now()})
		seen <- struct{}{}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-w", "0", "-o", dir, srv.URL)
	for range 2 {
		<-seen
	}
	p.signal(t, syscall.SIGKILL)
	p.end(t)
	if out, err := exec.Command("amble", "resume", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("amble", "verify", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for i, q := range log {
		if i > 0 && (q.start.Sub(log[i-1].end) < pause-5*time.Millisecond || q.url == "/robots.txt") {
			t.Errorf("request %d, for %s, came %v after the one before", i, q.url, q.start.Sub(log[i-1].end))
		}
	}
}

// crashWeb represents a few servers on separate loopback addresses, whose pages link to each other, and their common log.
type crashWeb struct {
	seeds, pages []string

	mu   sync.Mutex
	log  []crashRequest
	more *sync.Cond // signals that the log has grown
}

type crashRequest struct {
	host, url  string
	start, end time.Time
}

func newCrashWeb(t *testing.T) *crashWeb {
	w := &crashWeb{}
	w.more = sync.NewCond(&w.mu)
	var servers []*httptest.Server
	for h := range crashHosts {
		l, err := demo.Listen(h)
		if err != nil {
			t.Skipf("no loopback address of its own for each server: %v", err)
		}
		servers = append(servers, &httptest.Server{Listener: l, Config: &http.Server{Handler: w}})
		origin := "http://" + l.Addr().String()
		w.seeds = append(w.seeds, origin+"/")
		for p := range crashPages {
			w.pages = append(w.pages, origin+crashPath(p))
		}
	}
	for _, srv := range servers { // start the servers after w.seeds and w.pages are complete, which they read
		srv.Start()
		t.Cleanup(srv.Close)
	}
	return w
}

func crashPath(p int) string {
	if p == 0 {
		return "/"
	}
	return fmt.Sprintf("/%d", p)
}

// ServeHTTP serves pages that form a tree, so that every page can be reached from the first one. Pages also link to forbidden pages and to
// another host.
func (w *crashWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := crashRequest{host: r.Host, url: "http://" + r.Host + r.URL.Path, start: time.Now()}
	if r.URL.Path == "/robots.txt" {
		fmt.Fprint(rw, "User-agent: *\nDisallow: /no/\n")
	} else {
		p, _ := strconv.Atoi(r.URL.Path[1:])
		rw.Header().Set("Content-Type", "text/html")
		for i := range 3 {
			fmt.Fprintf(rw, "<a href=%s>x</a> <a href=/no/%d>x</a>", crashPath(min(crashPages-1, p*3+i+1)), p)
		}
		fmt.Fprintf(rw, "<a href=%s>x</a>", w.seeds[p%len(w.seeds)])
	}
	q.end = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, q)
	w.more.Broadcast()
}

func (w *crashWeb) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.log)
}

func (w *crashWeb) since(n int) []crashRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log[n:])
}

// await waits until the log has n requests. It returns false if done is closed first.
func (w *crashWeb) await(n int, done <-chan struct{}) bool {
	stop := make(chan struct{})
	defer close(stop)
	ended := false
	go func() {
		select {
		case <-done:
			w.mu.Lock()
			defer w.mu.Unlock()
			ended = true
			w.more.Broadcast()
		case <-stop:
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.log) < n && !ended {
		w.more.Wait()
	}
	return !ended
}

// tooSoon counts requests that came too soon after the previous one of the same host. The servers' times lie between the crawl's.
func tooSoon(log []crashRequest) (n int) {
	last := map[string]time.Time{}
	slices.SortFunc(log, func(a, b crashRequest) int { return a.start.Compare(b.start) })
	for _, q := range log {
		if end, ok := last[q.host]; ok && q.start.Sub(end) < crashDelay-time.Millisecond {
			n++
		}
		last[q.host] = q.end
	}
	return n
}

// skipUnderRace skips tests that start the command many times, because processes with the race detector start slowly.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if long.Race {
		t.Skip("starts many processes")
	}
}

// must returns v. It panics on an error, because the test cannot continue without v.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
