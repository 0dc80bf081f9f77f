package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var clusterReal = flag.Int("cluster.real", 0, "crawl that many pages of each host with three servers and three nodes, all of them processes, while they fail: 250 takes ten minutes")

// Settings of the job of these tests. Servers measure pauses by their own clock, from just before they write a response.
const (
	realDelay = 200 * time.Millisecond
	realLease = 6 * time.Second
	realHosts = 12 // each address has two hosts
)

// realWeb is a site whose servers check the requests that they receive.
type realWeb struct {
	*clusterWeb
	t     *testing.T
	each  int
	names []string // host names as in the requests

	ends   map[string]time.Time // time of the last response of each host and address
	busy   map[string]int
	ask    map[string]bool      // hosts that ask for a pause with their next page
	until  map[string]time.Time // end of the pause that each host asked for
	pauses int
}

// realPause is the pause that hosts request with Retry-After. It is longer than a takeover.
const realPause = 20 * time.Second

func newRealWeb(t *testing.T, each int) *realWeb {
	t.Helper()
	w := &realWeb{
		clusterWeb: &clusterWeb{requests: map[string][]time.Time{}, pages: map[string]bool{}, first: map[string]string{}},
		t:          t, each: each, ends: map[string]time.Time{}, busy: map[string]int{}, ask: map[string]bool{}, until: map[string]time.Time{},
	}
	for h := range realHosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.18.%d:0", 1+h/2))
		if err != nil {
			t.Fatal(err)
		}
		srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(w.serve)}}
		srv.Start()
		t.Cleanup(srv.Close)
		w.bases, w.names = append(w.bases, srv.URL), append(w.names, l.Addr().String())
		for p := range each {
			w.pages[srv.URL+fmt.Sprintf("/%d", p)] = true
		}
	}
	return w
}

func (w *realWeb) serve(rw http.ResponseWriter, r *http.Request) {
	pause := w.begin(r)
	time.Sleep(5 * time.Millisecond)
	status, body := http.StatusOK, w.text(r)
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case pause:
		rw.Header().Set("Retry-After", strconv.Itoa(int(realPause/time.Second)))
		status, body = http.StatusTooManyRequests, ""
	case r.URL.Path == "/robots.txt":
		rw.Header().Set("Content-Type", "text/plain")
	case body == "":
		status = http.StatusNotFound
	}
	w.end(r, pause)
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, body)
}

// text returns a page with links to two more pages of its host, to one page of the next host, and to a forbidden page.
func (w *realWeb) text(r *http.Request) string {
	h := slices.Index(w.names, r.Host)
	p, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	switch {
	case r.URL.Path == "/robots.txt":
		return "User-agent: *\nDisallow: /no/\n"
	case err != nil || h < 0 || p >= w.each:
		return ""
	}
	text := fmt.Sprintf("<!doctype html><title>%d</title><a href=\"%s/%d\">x</a><a href=\"/no/%d\">x</a>", p, w.bases[(h+1)%len(w.bases)], p, p)
	for _, next := range []int{2*p + 1, 2*p + 2} {
		if next < w.each {
			text += fmt.Sprintf("<a href=\"/%d\">x</a>", next)
		}
	}
	return text
}

// begin checks a request, and reports whether its response should ask for a pause.
func (w *realWeb) begin(r *http.Request) (pause bool) {
	w.note(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	address, _, _ := net.SplitHostPort(r.Host)
	for _, key := range []string{r.Host, address} {
		if short := realDelay - now.Sub(w.ends[key]); short > 0 {
			w.t.Errorf("%s is requested %v too early", key, short)
		}
		if w.busy[key] > 0 {
			w.t.Errorf("%s is requested while another request is under way", key)
		}
		w.busy[key]++
	}
	if early := w.until[r.Host].Sub(now); early > 0 {
		w.t.Errorf("%s is requested %v before the end of the pause that it has requested", r.Host, early)
	}
	if strings.HasPrefix(r.URL.Path, "/no/") {
		w.t.Errorf("%s%s is requested, which robots.txt forbids", r.Host, r.URL.Path)
	}
	if pause = w.ask[r.Host] && r.URL.Path != "/robots.txt"; pause {
		delete(w.ask, r.Host)
		w.pauses++
	}
	return pause
}

// end records the end of a request before it is answered, so no later than its client knows.
func (w *realWeb) end(r *http.Request, pause bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	address, _, _ := net.SplitHostPort(r.Host)
	for _, key := range []string{r.Host, address} {
		w.busy[key]--
		w.ends[key] = time.Now()
	}
	if pause {
		w.until[r.Host] = time.Now().Add(realPause)
	}
}

// wantPauses lets every third host ask for a pause, and waits until all of these have done so or the job is over.
func (w *realWeb) wantPauses(c *realCluster) {
	w.mu.Lock()
	want := w.pauses
	for i, name := range w.names {
		if i%3 == 0 {
			w.ask[name] = true
			want++
		}
	}
	w.mu.Unlock()
	until(w.t, "hosts request a pause", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.pauses >= want || c.ended()
	})
}

// longestPause returns the longest time, between the two given times, in which some host got no request.
func (w *realWeb) longestPause(from, to time.Time) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.requests {
		for i := 1; i < len(all); i++ {
			if all[i].After(from) && all[i-1].Before(to) {
				longest = max(longest, all[i].Sub(all[i-1]))
			}
		}
	}
	return longest
}

// thisVersion is the command name of the program under test; see TestMain.
const thisVersion = "amble"

// realCluster is a cluster of three servers and three nodes.
type realCluster struct {
	t       *testing.T
	dir     string
	program string // program for the servers and nodes that are started
	servers []*proc
	ports   []string // nine addresses of the servers: three for nodes, three for routes, three for monitors
	urls    []string
	nodes   map[string]*proc
	cuts    []*cutter // connections between node a and the servers
}

// newRealCluster starts servers and nodes of a program.
func newRealCluster(t *testing.T, web *realWeb, limit, program string) *realCluster {
	t.Helper()
	c := &realCluster{t: t, dir: t.TempDir(), program: program, nodes: map[string]*proc{}, ports: freeAddrs(t, 9)}
	for i := range 3 {
		c.urls = append(c.urls, "nats://"+c.ports[i])
		c.servers = append(c.servers, c.serve(i))
		c.cuts = append(c.cuts, newCutter(t, c.ports[i]))
	}
	create := []string{
		"--shards", "12", "--lease", realLease.String(), "--delay", realDelay.String(), "--depth", "1000", "--scope", "any", "--format", "jsonl,warc",
		"--max-pages", limit, "--max-time", "1h",
	}
	for _, base := range web.bases {
		create = append(create, base+"/0")
	}
	until(t, "the servers have found each other", func() bool {
		p := c.do("create", create...)
		<-p.done
		return p.cmd.ProcessState.Success()
	})
	for _, name := range []string{"a", "b", "c"} {
		c.node(name)
	}
	return c
}

// do runs a subcommand of the program for the job.
func (c *realCluster) do(command string, args ...string) *proc {
	return c.start(append([]string{"cluster", command, "--cluster", strings.Join(c.urls, ","), "--job", "real"}, args...)...)
}

func (c *realCluster) start(args ...string) *proc {
	return launchAs(c.t, exec.Command(c.program, args...))
}

// serve starts server i. Version 0.2.0 does not know the last two flags.
func (c *realCluster) serve(i int) *proc {
	args := []string{
		"cluster", "serve", "--name", fmt.Sprint("s", i), "--dir", filepath.Join(c.dir, fmt.Sprint("s", i)),
		"--listen", c.ports[i], "--routes-listen", c.ports[3+i], "--routes", strings.Join(c.ports[3:6], ","),
	}
	if c.program == thisVersion {
		args = append(args, "--insecure", "--monitor", c.ports[6+i])
	}
	return c.start(args...)
}

// node starts a node. Node a is connected to the servers through cutters, whose connections can be cut.
func (c *realCluster) node(name string) {
	c.t.Helper()
	urls := slices.Clone(c.urls)
	if name == "a" {
		for i, x := range c.cuts {
			urls[i] = "nats://" + x.Addr().String()
		}
	}
	c.nodes[name] = c.start("cluster", "work", "--cluster", strings.Join(urls, ","), "--job", "real", "--name", name, "-o", filepath.Join(c.dir, name), "--verbose")
}

// over waits until the job is over, and checks the result.
func (c *realCluster) over(web *realWeb, limit int) {
	c.t.Helper()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for again := time.NewTicker(15 * time.Second); ; {
			select {
			case <-again.C:
				c.t.Logf("%s %d requests", time.Now().Format("15:04:05"), web.count())
			case <-stop:
				again.Stop()
				return
			}
		}
	}()
	for _, p := range c.nodes {
		p.ends(0)
	}
	dirs := []string{filepath.Join(c.dir, "a"), filepath.Join(c.dir, "b"), filepath.Join(c.dir, "c")}
	out := filepath.Join(c.dir, "out")
	c.do("check", dirs...).ends(0)
	c.do("collect", append([]string{"-o", out}, dirs...)...).ends(0)
	v := launch(c.t, "verify", out)
	v.ends(0)
	c.t.Logf("%s", v.says)
	web.check(c.t)
	checkCollected(c.t, web.clusterWeb, out, limit)
}

// running ends the test if the job is over before the test has done what it plans.
func (c *realCluster) running(what string) {
	c.t.Helper()
	for name, p := range c.nodes {
		select {
		case <-p.done:
			c.t.Fatalf("node %s has ended before %s: more pages are needed (-cluster.real)\n%s", name, what, p.says)
		default:
		}
	}
	c.t.Logf("%s %s", time.Now().Format("15:04:05"), what)
}

func (c *realCluster) signal(name string, s syscall.Signal) {
	c.t.Helper()
	if err := c.nodes[name].cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// owned returns the numbers of the shards that a node reports as its own.
func (c *realCluster) owned(name string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`shard (\d+), epoch \d+: (\w+)`).FindAllStringSubmatch(c.nodes[name].says.String(), -1) {
		if delete(all, m[1]); m[2] == "taken" {
			all[m[1]] = true
		}
	}
	return all
}

// kill kills node b, waits until others own its shards, and returns how long that took.
func (c *realCluster) kill() time.Duration {
	c.t.Helper()
	owned := c.owned("b")
	c.signal("b", syscall.SIGKILL)
	<-c.nodes["b"].done
	began := time.Now()
	until(c.t, "others have its shards", func() bool {
		all := c.owned("a")
		for shard := range c.owned("c") {
			all[shard] = true
		}
		for shard := range owned {
			if !all[shard] {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}

// restartServers kills servers and starts them again after the given time.
func (c *realCluster) restartServers(after time.Duration, which ...int) {
	c.t.Helper()
	for _, i := range which {
		if err := c.servers[i].cmd.Process.Kill(); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, i := range which {
		<-c.servers[i].done
	}
	time.Sleep(after)
	for _, i := range which {
		c.servers[i] = c.serve(i)
	}
}

// cutter forwards connections to a server. While they are cut, nothing arrives, and neither side gets a signal.
type cutter struct {
	net.Listener
	to    string
	mu    sync.Mutex
	cut   chan struct{} // closed when the connection is restored; nil: not cut
	conns []net.Conn
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to}
	t.Cleanup(func() {
		_ = l.Close()
		c.mend()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(conn)
		}
	}()
	return c
}

func (c *cutter) pass(in net.Conn) {
	out, err := net.Dial("tcp", c.to)
	if err != nil {
		_ = in.Close()
		return
	}
	c.mu.Lock()
	c.conns = append(c.conns, in, out)
	c.mu.Unlock()
	go c.copy(in, out)
	c.copy(out, in)
}

func (c *cutter) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		c.mu.Lock()
		cut := c.cut
		c.mu.Unlock()
		if cut != nil {
			<-cut
			return
		}
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (c *cutter) split() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = make(chan struct{})
}

// mend closes the cut connections, and lets new connections work.
func (c *cutter) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		close(c.cut)
		c.cut = nil
	}
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// freeAddrs returns loopback addresses on which nobody listens.
func freeAddrs(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

// TestClusterReal runs three servers and three nodes as processes. Nodes are killed, stopped for longer than their lease, and cut off;
// servers are killed one by one and all at once. The site's servers see no pause that is too short, for any host or address, and the
// collected job is complete. The test prints how long a takeover takes, and by how much a takeover prolongs a crawl.
func TestClusterReal(t *testing.T) {
	if *clusterReal == 0 {
		t.Skip("takes minutes: -cluster.real 250")
	}
	t.Run("makespan", realMakespan)
	t.Run("servers", realServers)
	t.Run("faults", func(t *testing.T) { realFaults(t, 0) })
	t.Run("faults and max-pages", func(t *testing.T) { realFaults(t, realHosts**clusterReal*9/10) })
}

func realMakespan(t *testing.T) {
	var took [2]time.Duration
	for i, kill := range []bool{false, true} {
		web := newRealWeb(t, *clusterReal)
		c := newRealCluster(t, web, "none", thisVersion)
		until(t, "requests", func() bool { return web.count() > 0 })
		began := time.Now()
		if kill {
			until(t, "a third of the pages", func() bool { return web.count() > realHosts**clusterReal/3 })
			c.running("a kill")
			from, taken := time.Now(), c.kill()
			c.node("b")
			defer func() {
				t.Logf("takeover of all shards of a killed node %.1f s, longest a host was not requested %.1f s (lease %v, delay %v)",
					taken.Seconds(), web.longestPause(from, from.Add(taken)).Seconds(), realLease, realDelay)
			}()
		}
		for _, p := range c.nodes {
			p.ends(0)
		}
		took[i] = time.Since(began)
		c.over(web, 0)
	}
	t.Logf("makespan %.1f s, with a kill %.1f s: %.2f of it, %.1f s more", took[0].Seconds(), took[1].Seconds(), took[1].Seconds()/took[0].Seconds(), (took[1] - took[0]).Seconds())
}

// realServers kills and restarts all servers several times. Some outages are shorter than the leases of the nodes, others are longer.
func realServers(t *testing.T) {
	web := newRealWeb(t, *clusterReal)
	c := newRealCluster(t, web, "none", thisVersion)
	for _, down := range []time.Duration{time.Second, 2 * time.Second, realLease} {
		n := web.count()
		until(t, "some pages", func() bool { return c.ended() || web.count() > n+10*realHosts })
		c.running(fmt.Sprintf("all servers are killed, for %v", down))
		c.restartServers(down, 0, 1, 2)
	}
	c.over(web, 0)
}

// ended reports whether a node has ended.
func (c *realCluster) ended() bool {
	for _, p := range c.nodes {
		select {
		case <-p.done:
			return true
		default:
		}
	}
	return false
}

func realFaults(t *testing.T, limit int) {
	web, pages := newRealWeb(t, *clusterReal), "none"
	if limit > 0 {
		pages = strconv.Itoa(limit)
	}
	c := newRealCluster(t, web, pages, thisVersion)
	until(t, "all nodes own shards", func() bool { return len(c.owned("a")) > 0 && len(c.owned("b")) > 0 && len(c.owned("c")) > 0 })
	until(t, "some pages", func() bool { return c.ended() || web.count() > 10*realHosts })
	c.running("hosts request pauses")
	web.wantPauses(c)
	time.Sleep(2 * time.Second) // a response counts only when it is committed
	c.running("kill -9 of a node")
	c.kill()
	c.node("b")
	c.running("a node is stopped for longer than its lease")
	c.signal("c", syscall.SIGSTOP)
	time.Sleep(2 * realLease)
	c.signal("c", syscall.SIGCONT)
	web.wantPauses(c)
	time.Sleep(2 * time.Second)
	c.running("a node is cut off")
	for _, x := range c.cuts {
		x.split()
	}
	time.Sleep(2 * realLease)
	for _, x := range c.cuts {
		x.mend()
	}
	for i := range c.servers {
		c.running(fmt.Sprintf("server %d is killed", i))
		c.restartServers(2*time.Second, i)
		time.Sleep(realLease)
	}
	c.running("all servers are killed")
	c.restartServers(2*time.Second, 0, 1, 2)
	c.over(web, limit)
}
