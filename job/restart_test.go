package job

import (
	"context"
	flags "flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/quicktmp"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

var (
	restartVisits = flags.Int("restart.visits", 2000, "how many visits the job of BenchmarkRestart has")
	restartHosts  = flags.Int("restart.hosts", 200, "and of how many hosts")
	restartDir    = flags.String("restart.dir", "", "where it is, or is made; otherwise it is made anew and removed")
)

// restartRole is the name of the environment variable that tells a process of BenchmarkRestart what to do.
const restartRole = "AMBLE_TEST_RESTART"

func TestMain(m *testing.M) {
	quicktmp.Use()
	if role := os.Getenv(restartRole); role != "" {
		if err := restartProcess(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	quicktmp.Waiting()
	os.Exit(m.Run())
}

// restartProcess runs a crawl without a network that kills its own process: with the arguments "make DIR VISITS HOSTS" after this many
// visits, with "resume DIR VISITS HOSTS" before the first request.
func restartProcess(role string, args []string) error {
	dir := args[0]
	visits, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	hosts, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f := &offline{hosts: hosts, pages: visits/hosts*3/2 + 1}
	c := Config{Crawl: crawler.Config{Contact: "https://lab.university.edu/crawl", Fetcher: f, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}}}
	c.Crawl.Limits = crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited, Time: 240 * time.Hour}
	c.Crawl.Politeness.Delay, c.Crawl.Politeness.DelayFactor = crawler.NoDelay, crawler.NoFactor
	if role == "make" {
		f.left.Store(int64(visits))
	}
	j, err := Start(dir, c, "http://h0.test/")
	if err != nil {
		return err
	}
	_, err = j.Run(context.Background())
	return fmt.Errorf("the crawl has ended: %w", err)
}

// offline is a Fetcher without a network. The pages of each host form a tree, and each host has a robots.txt.
type offline struct {
	hosts, pages int
	left         atomic.Int64 // pages to fetch before the process kills itself
}

func (*offline) CloseIdle(string) {}

func (f *offline) Resolve(_ context.Context, u weburl.URL) (netip.Addr, error) {
	h := hostNumber(u)
	return netip.AddrFrom4([4]byte{127, byte(1 + h>>16), byte(h >> 8), byte(h)}), nil
}

func hostNumber(u weburl.URL) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(u.Hostname(), "h"), ".test"))
	return n
}

func (f *offline) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() != politeness.Robots && f.left.Add(-1) < 0 {
		kill()
	}
	started := time.Now()
	grant, err := p.Redeem()
	if err == nil {
		err = grant.Begin()
	}
	if err != nil {
		return nil, &fetcher.Error{Phase: fetcher.PhaseRequest, Reason: fetcher.ReasonPermit, Err: err, Ended: time.Now()}
	}
	now := time.Now()
	page := &fetcher.Page{
		URL: p.URL(), Addr: grant.Addr(), Permit: p, Status: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/html"}},
		ContentType: "text/html", Charset: "utf-8", Body: f.body(p), Started: started, Written: now, FirstByte: now,
	}
	page.WireBytes, page.Ended = int64(len(page.Body)), time.Now()
	return page, nil
}

// kill kills the own process, and therefore never returns.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// body returns a page with links to four other pages of its host and to two other hosts, or a robots.txt with 40 rules.
func (f *offline) body(p politeness.Permit) []byte {
	h := hostNumber(p.URL())
	if p.Purpose() == politeness.Robots {
		b := fmt.Appendf(nil, "# %d\nUser-agent: *\n", h)
		for i := range 40 {
			b = fmt.Appendf(b, "Disallow: /private/%d\n", i)
		}
		return b
	}
	path := p.URL().Path()
	i, _ := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:])
	b := fmt.Appendf(nil, "<p>%d %d", h, i)
	for k := 4*i + 1; k <= 4*i+4 && k < f.pages; k++ {
		b = fmt.Appendf(b, "<a href=/section-%d/page/%d>page</a>", k%10, k)
	}
	for k := 2*h + 1; k <= 2*h+2; k++ {
		b = fmt.Appendf(b, "<a href=http://h%d.test/>host</a>", k%f.hosts)
	}
	return b
}

// restart runs a process with a role until it has killed itself, and returns its CPU time.
func restart(tb testing.TB, role, dir string, visits, hosts int) time.Duration {
	tb.Helper()
	cmd := exec.Command(os.Args[0], dir, strconv.Itoa(visits), strconv.Itoa(hosts))
	cmd.Env = append(os.Environ(), restartRole+"="+role)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run() // returns an error, because the process kills itself
	if cmd.ProcessState == nil || cmd.ProcessState.Exited() {
		tb.Fatalf("%s: %v\n%s", role, cmd.ProcessState, stderr.String())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkRestart resumes a killed job until its first request. The time includes the pause of 100 ms at the start of a resumed crawl.
//
//	go test ./job -run '^$' -bench Restart -benchtime 3x -restart.visits 1000000 -restart.hosts 100000 -timeout 1h
func BenchmarkRestart(b *testing.B) {
	dir := *restartDir
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "job")
	}
	if !Holds(dir) {
		restart(b, "make", dir, *restartVisits, *restartHosts)
	}
	cpu := time.Duration(0)
	for b.Loop() {
		cpu += restart(b, "resume", dir, *restartVisits, *restartHosts)
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
	if info, err := os.Stat(filepath.Join(dir, LedgerName)); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "ledger-MiB")
	}
}
