//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// clusterDeadline is the time limit of each step of these tests. Only a test that hangs reaches the limit.
const clusterDeadline = 5 * time.Minute

// clusterWeb is a set of hosts on loopback, each with its own address, whose servers record requests.
type clusterWeb struct {
	mu       sync.Mutex
	bases    []string
	requests map[string][]time.Time // times of the requests for pages, by host
	pages    map[string]bool
	first    map[string]string // the first path that each host received
	filler   func() string     // returns text to add to each page; nil: none
}

func newClusterWeb(t *testing.T, hosts, each int) *clusterWeb {
	t.Helper()
	w := &clusterWeb{requests: map[string][]time.Time{}, pages: map[string]bool{}, first: map[string]string{}}
	var muxes []*http.ServeMux
	for range hosts {
		mux := http.NewServeMux()
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.note(r)
			mux.ServeHTTP(rw, r)
			if w.filler != nil && r.URL.Path != "/robots.txt" {
				_, _ = io.WriteString(rw, w.filler())
			}
		}))
		t.Cleanup(srv.Close)
		muxes, w.bases = append(muxes, mux), append(w.bases, srv.URL)
	}
	for h, mux := range muxes {
		mux.HandleFunc("GET /robots.txt", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "User-agent: *\nDisallow: /no/\n") })
		for p := range each {
			path := fmt.Sprintf("/%d", p)
			mux.HandleFunc("GET "+path, page(w.bases[h]+path, w.bases[h]+fmt.Sprintf("/%d", (p+1)%each), w.bases[(h+1)%hosts]+path, "/no/"))
			w.pages[w.bases[h]+path] = true
		}
	}
	return w
}

func (w *clusterWeb) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first[r.Host] == "" {
		w.first[r.Host] = r.URL.Path
	}
	w.requests[r.Host] = append(w.requests[r.Host], time.Now())
}

func (w *clusterWeb) count() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.requests {
		n += len(all)
	}
	return n
}

// check checks that robots.txt was requested first from each server.
func (w *clusterWeb) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for host, path := range w.first {
		if path != "/robots.txt" {
			t.Errorf("%s: the first request was for %s", host, path)
		}
	}
}

// proc is a process of the command.
type proc struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	says *syncBuffer
	done chan struct{}
	err  error
}

// syncBuffer collects the output of a process.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// clusterHome returns a home for the processes of a test and of its subtests.
func clusterHome(t *testing.T) string {
	t.Helper()
	name, _, within := strings.Cut(t.Name(), "/")
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("amble-home-%d-%s", os.Getpid(), name))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if !within { // subtests share the home until the outermost test ends
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	return dir
}

// launch starts the command.
func launch(t *testing.T, args ...string) *proc {
	t.Helper()
	return launchAs(t, exec.Command("amble", args...))
}

func launchAs(t *testing.T, cmd *exec.Cmd) *proc {
	t.Helper()
	p := &proc{t: t, name: strings.Join(cmd.Args[1:], " "), cmd: cmd, says: &syncBuffer{}, done: make(chan struct{})}
	cmd.Env = append(cmd.Environ(), "HOME="+clusterHome(t), "XDG_CONFIG_HOME="+clusterHome(t)) // servers store their tokens in this home
	p.cmd.Stdout, p.cmd.Stderr = p.says, p.says
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%s:\n%s", p.name, p.says)
		}
	})
	return p
}

// ends waits until the process has ended, and checks its exit code.
func (p *proc) ends(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(clusterDeadline):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // lets the process print the stack of each goroutine
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
		}
		p.t.Fatalf("%s does not end:\n%s", p.name, p.says)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%s: exit code %d, want %d:\n%s", p.name, got, code, p.says)
	}
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(clusterDeadline); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %v", what, clusterDeadline)
		}
	}
}

// serveEngine starts a server and returns its address.
func serveEngine(t *testing.T, dir string) string {
	t.Helper()
	return listens(t, launch(t, "cluster", "serve", "--name", "s1", "--dir", dir, "--listen", "127.0.0.1:0"))
}

// ownHost returns a loopback address for one test, so that no other test takes a stopped server's port. Only Linux has several.
func ownHost() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// listens waits until a server listens, and returns its address.
func listens(t *testing.T, p *proc) string {
	t.Helper()
	url := regexp.MustCompile(`nats://[0-9.:]+`)
	until(t, "the server listens", func() bool { return url.MatchString(p.says.String()) })
	return url.FindString(p.says.String())
}

// TestClusterOfProcesses runs processes that work on a job, and kills one of them. The others end by themselves, with exit code 0. The
// collected job has each page once, and verify finds no violation.
func TestClusterOfProcesses(t *testing.T) { killedNode(t, 0) }

// TestClusterLimitIsExact does the same with a limit of pages, and checks that the job fetches exactly that many.
func TestClusterLimitIsExact(t *testing.T) { killedNode(t, 40) }

func killedNode(t *testing.T, limit int) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes real time")
	}
	skipUnderRace(t)
	t.Parallel()
	web, dir := newClusterWeb(t, 6, 10), t.TempDir()
	at := []string{"--cluster", serveEngine(t, filepath.Join(dir, "engine")), "--job", "test"}
	do := func(command string, args ...string) *proc {
		return launch(t, append(append([]string{"cluster", command}, at...), args...)...)
	}
	create := []string{"--shards", "6", "--replicas", "1", "--lease", "6s", "--delay", "100ms", "--depth", "1000", "--scope", "any", "--archive"}
	if limit > 0 {
		create = append(create, "--max-pages", fmt.Sprint(limit))
	} else {
		create = append(create, "--max-pages", "none", "--max-time", "1h")
	}
	do("create", append(create, web.bases[0]+"/0")...).ends(0)
	node := func(name string) *proc {
		return do("work", "--name", name, "-o", filepath.Join(dir, name), "--verbose")
	}
	do("pause").ends(0) // until both nodes own shards: a whole crawl is faster than the start of a process
	a, b := node("a"), node("b")
	until(t, "both own shards", func() bool {
		return strings.Contains(a.says.String(), "taken") && strings.Contains(b.says.String(), "taken")
	})
	do("resume").ends(0)
	until(t, "some pages", func() bool { return web.count() > 20 })
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.done
	c := node("c")
	a.ends(0)
	c.ends(0)
	do("check", filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")).ends(0)
	out := filepath.Join(dir, "out")
	do("collect", "-o", out, filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")).ends(0)
	launch(t, "verify", out).ends(0)
	web.check(t)
	checkCollected(t, web, out, limit)
}

// checkCollected compares the collected job with the pages of the web.
func checkCollected(t *testing.T, web *clusterWeb, out string, limit int) {
	t.Helper()
	r, err := job.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen, pages := map[string]int{}, 0
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		seen[v.URL]++
		if v.Outcome == string(crawler.Fetched) {
			pages++
		}
	}
	for u, n := range seen {
		if n > 1 {
			t.Errorf("%s is there %d times", u, n)
		}
	}
	if limit > 0 {
		if pages != limit {
			t.Errorf("%d pages, want %d", pages, limit)
		}
		return
	}
	for u := range web.pages {
		if seen[u] != 1 {
			t.Errorf("%s is there %d times", u, seen[u])
		}
	}
}

// TestClusterServerMakesToken checks that a server without credentials creates a token. The commands of the server's user find the token,
// and clients without it are refused. With --insecure, the server accepts every client.
func TestClusterServerMakesToken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server")
	}
	skipUnderRace(t)
	dir := t.TempDir()
	engine := serveEngine(t, filepath.Join(dir, "engine"))
	token := filepath.Join(dir, "engine", "token")
	info, err := os.Stat(token)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token: %v, %v", info, err)
	}
	launch(t, "cluster", "create", "--cluster", engine, "--job", "j", "--replicas", "1", "--shards", "2", "-H", "X-A: env:HOME", "http://127.0.0.1:1/").ends(0)
	launch(t, "cluster", "status", "--cluster", engine, "--job", "j").ends(0)
	x := launch(t, "cluster", "work", "--cluster", engine, "--job", "j", "--name", "n1", "-o", filepath.Join(dir, "n1"))
	x.ends(2)
	if want := "job j: the job's settings name files or variables that this node does not allow"; !strings.Contains(x.says.String(), want) || !strings.Contains(x.says.String(), "--allow-env HOME") {
		t.Errorf("%s\nwant %q", x.says, want)
	}
	if err := os.RemoveAll(clusterHome(t)); err != nil {
		t.Fatal(err)
	}
	launch(t, "cluster", "status", "--cluster", engine, "--job", "j").ends(2)
	launch(t, "cluster", "status", "--cluster", engine, "--job", "j", "--cluster-creds", token).ends(0)

	p := launch(t, "cluster", "serve", "--name", "s2", "--dir", filepath.Join(dir, "open"), "--listen", "127.0.0.1:0", "--insecure")
	url := regexp.MustCompile(`nats://[0-9.:]+`)
	until(t, "the server listens", func() bool { return url.MatchString(p.says.String()) })
	launch(t, "cluster", "create", "--cluster", url.FindString(p.says.String()), "--job", "j", "--replicas", "1", "--shards", "2", "http://127.0.0.1:1/").ends(0)
}

// TestClusterErrors checks that each problem at the start is reported by a sentence that says what to do.
func TestClusterErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server")
	}
	skipUnderRace(t)
	dir := t.TempDir()
	creds, other := filepath.Join(dir, "token"), filepath.Join(dir, "other")
	for name, text := range map[string]string{creds: "s3cret\n", other: "else\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("s3cret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "cluster", "serve", "--name", "s1", "--dir", filepath.Join(dir, "engine"), "--listen", "127.0.0.1:0", "--cluster-creds", creds)
	url := regexp.MustCompile(`nats://[0-9.:]+`)
	until(t, "the server listens", func() bool { return url.MatchString(p.says.String()) })
	engine := url.FindString(p.says.String())
	at := []string{"--cluster", engine, "--cluster-creds", creds}
	old := oldServer(t)
	node := filepath.Join(dir, "n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"create", "--cluster", "nats://127.0.0.1:1", "--job", "j", "http://127.0.0.1:1/"}, 9, "is a server running there?"},
		{[]string{"status", "--cluster", "nats://127.0.0.1:1", "--job", "j"}, 9, "is a server running there?"},
		{[]string{"check", "--cluster", "nats://127.0.0.1:1", "--job", "j"}, 9, "is a server running there?"},
		{append([]string{"work", "--job", "j", "-o", node, "--listen", "127.0.0.1:9999"}, at...), 2, "--listen is for a server in this process, and there is none: add --serve"},
		{[]string{"create", "--cluster", engine, "--cluster-creds", other, "--job", "j", "http://127.0.0.1:1/"}, 2, "credentials refused by " + engine + ": check --cluster-creds"},
		{[]string{"work", "--cluster", old, "--job", "j", "-o", node}, 1, "is nats-server 2.9.0: 2.12 or newer is needed"},
		{append([]string{"work", "--job", "j", "-o", node}, at...), 2, "no such job: j on " + engine + ": create it first, with amble crawl --job j"},
		{append([]string{"create", "--job", "j", "--cookies", "http://127.0.0.1:1/"}, at...), 2, "--cookies: not possible in a cluster job"},
		{append([]string{"create", "--job", "j", "--replicas", "1", "--shards", "2", "--lease", "1s", "http://127.0.0.1:1/"}, at...), 2, "must be at least 6s"},
		{append([]string{"create", "--job", "j", "--replicas", "1", "--shards", "2", "http://127.0.0.1:1/"}, at...), 0, "--cluster " + engine + " --cluster-creds " + creds + " --job j"},
		{append([]string{"crawl", "--job", "j", "--replicas", "1", "--shards", "2", "http://127.0.0.1:1/"}, at...), 2, "there is a job j already: choose another --job"},
		{append([]string{"create", "--job", "j", "--replicas", "1", "--shards", "3", "http://127.0.0.1:1/"}, at...), 2, "with --shards 2, which cannot be changed"},
		{append([]string{"work", "--job", "j", "-o", dir}, at...), 2, "name an empty directory with -o"},
		{append([]string{"status", "--job", "j"}, at...), 0, "job j: 2 shards, running"},
		{append([]string{"stop", "--job", "j"}, at...), 0, "to job j: drain: its nodes finish what is under way, and end"},
		{append([]string{"work", "--job", "j", "-o", node, "--name", "n"}, at...), 0, "it was stopped; amble cluster job resume lets nodes continue"},
		{append([]string{"resume", "--job", "j"}, at...), 0, "to job j: resume: it goes on"},
		{append([]string{"collect", "--job", "j", "-o", filepath.Join(dir, "out"), dir}, at...), 2, "is no directory of a node"},
		{[]string{"serve", "--dir", filepath.Join(dir, "e"), "--listen", "nowhere"}, 2, "want host:port"},
		{[]string{"serve", "--dir", filepath.Join(dir, "e"), "--listen", "127.0.0.1:0", "--routes-listen", "127.0.0.1:0", "--routes", "127.0.0.1:1"}, 2, "need the same credentials: give --cluster-creds FILE"},
		{[]string{"serve", "--dir", filepath.Join(dir, "e"), "--listen", "127.0.0.1:0", "--cluster-creds", open}, 2, open + " has mode 0644: others than its owner can read it: chmod 600 " + open},
		{[]string{"status", "--cluster", engine, "--cluster-creds", open, "--job", "j"}, 2, open + " has mode 0644: others than its owner can read it: chmod 600 " + open},
		{[]string{"status", "--cluster", engine, "--job", "j"}, 2, "credentials refused by " + engine + ": check --cluster-creds"},
	} {
		args := c.args
		if args[0] != "crawl" {
			args = append([]string{"cluster"}, args...)
		}
		x := launch(t, args...)
		x.ends(c.code)
		if !strings.Contains(x.says.String(), c.says) || strings.Contains(x.says.String(), "s3cret") {
			t.Errorf("amble %s: %s\nwant %q", strings.Join(args, " "), x.says, c.says)
		}
	}
	twoOfOneName(t, append([]string{"cluster", "work", "--job", "j", "--name", "twin"}, at...), dir)
}

// twoOfOneName checks that if two nodes have the same name, the second one ends.
func twoOfOneName(t *testing.T, work []string, dir string) {
	t.Helper()
	first := launch(t, append(work, "-o", filepath.Join(dir, "twin1"), "--verbose")...)
	until(t, "the first owns something", func() bool { return strings.Contains(first.says.String(), "taken") })
	second := launch(t, append(work, "-o", filepath.Join(dir, "twin2"))...)
	second.ends(2)
	if !strings.Contains(second.says.String(), "give each its own --name") {
		t.Errorf("two nodes of one name: %s", second.says)
	}
}

// oldServer imitates the greeting of a server of another version, and returns its address.
func oldServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			info, _ := json.Marshal(map[string]any{"server_id": "x", "version": "2.9.0", "headers": true, "max_payload": 1 << 20, "proto": 1})
			fmt.Fprintf(c, "INFO %s\r\n", info)
			in := bufio.NewReader(c)
			for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
				if strings.HasPrefix(line, "PING") {
					_, _ = io.WriteString(c, "PONG\r\n")
				}
			}
		}
	}()
	return "nats://" + l.Addr().String()
}
