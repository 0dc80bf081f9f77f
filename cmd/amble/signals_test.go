//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// slowSite has a home page, and a page /slow that is not answered before release is called.
type slowSite struct {
	*httptest.Server
	asked   chan struct{} // closed when /slow is requested
	release func()
	seen    atomic.Int64 // number of requests
}

func newSlowSite(t *testing.T) *slowSite {
	asked, released := make(chan struct{}), make(chan struct{})
	tell := sync.OnceFunc(func() { close(asked) })
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", page("Home", "/slow", "/after"))
	m.HandleFunc("GET /after", page("After"))
	m.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		tell()
		select {
		case <-released:
			page("Slow", "/never")(w, r)
		case <-r.Context().Done():
		}
	})
	s := &slowSite{asked: asked, release: sync.OnceFunc(func() { close(released) })}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen.Add(1)
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.release(); s.Close() })
	return s
}

// process is a running amble.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	stderr *bufio.Reader
	kept   string // name of the kept job in the last line that line has read
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("amble", args...)}
	p.Stdout = &p.stdout
	r, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(r)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// line reads stderr up to a line that contains the text.
func (p *process) line(t *testing.T, text string) {
	t.Helper()
	for {
		l, err := p.stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("stderr ended without %q: %v", text, err)
		}
		if strings.Contains(l, text) {
			if _, name, ok := strings.Cut(l, "is kept as "); ok {
				p.kept, _, _ = strings.Cut(name, ";")
			}
			return
		}
	}
}

// end reads the rest of stderr, waits for the process, and returns its exit code with that text.
func (p *process) end(t *testing.T) (code int, stderr string) {
	t.Helper()
	rest, err := io.ReadAll(p.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // returns an error unless the exit code is 0
	return p.ProcessState.ExitCode(), string(rest)
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestFirstSignalFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, cli.ExitInterrupted}, {syscall.SIGTERM, cli.ExitTerminated}} {
		site := newSlowSite(t)
		p := start(t, "crawl", "-w", "0", site.URL)
		p.line(t, "amble: the crawl is kept as ")
		<-site.asked
		p.signal(t, s.signal)
		p.line(t, "amble: to resume it later: amble resume "+p.kept+"\n")
		p.line(t, "stopping: waiting for requests in flight; press again to abort them")
		site.release()
		code, stderr := p.end(t)
		if code != s.code {
			t.Errorf("%v: exit code %d, want %d", s.signal, code, s.code)
		}
		if out := p.stdout.String(); !strings.Contains(out, `/slow","via"`) || strings.Contains(out, "/after\",\"via") {
			t.Errorf("%v: visits %s: want /slow, which was in flight, and not /after", s.signal, out)
		}
		if !strings.Contains(stderr, ": interrupted, 2 URLs left") || !strings.HasSuffix(stderr, "\namble: to resume it:\n  amble resume "+p.kept+"\n") {
			t.Errorf("%v: stderr %s", s.signal, stderr)
		}
	}
}

// With -q nothing is printed; the exit code tells which signal arrived first. If two are sent at once, the system chooses their order.
func TestQuietSignals(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	p := start(t, "crawl", "-q", "-w", "0", "-o", filepath.Join(t.TempDir(), "job"), site.URL)
	<-site.asked
	p.signal(t, syscall.SIGINT)
	p.signal(t, syscall.SIGTERM)
	if code, stderr := p.end(t); code != cli.ExitInterrupted && code != cli.ExitTerminated || stderr != "" {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}

func TestSecondSignalAborts(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	p := start(t, "crawl", "-w", "0", "--first-byte-timeout", "1h", "--fetch-timeout", "1h", site.URL)
	<-site.asked
	p.signal(t, syscall.SIGINT)
	p.line(t, "stopping")
	p.signal(t, syscall.SIGINT)
	p.line(t, "aborting requests in flight; press again to exit at once")
	code, stderr := p.end(t) // the process ends although /slow is never answered
	if code != cli.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if out := p.stdout.String(); strings.Contains(out, `/slow","via"`) {
		t.Errorf("visits %s: /slow has no fate yet", out)
	}
	if want := fmt.Sprintf("  requests   %d, ", site.seen.Load()); !strings.Contains(stderr, "interrupted, 2 URLs left") || !strings.Contains(stderr, want) {
		t.Errorf("the server has seen %d requests; stderr %s", site.seen.Load(), stderr)
	}
}

// A job that is interrupted prints how to resume it. That command resumes the job.
func TestSignalPrintsHowToResume(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	dir := filepath.Join(t.TempDir(), "a job")
	p := start(t, "crawl", "-w", "0", "-o", dir, site.URL)
	<-site.asked
	p.signal(t, syscall.SIGINT)
	p.line(t, "amble: to resume it later: amble resume '"+dir+"'\n")
	p.line(t, "stopping: waiting for requests in flight")
	site.release()
	if code, stderr := p.end(t); code != cli.ExitInterrupted || !strings.Contains(stderr, "interrupted, 2 URLs left") {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	out, err := exec.Command("sh", "-c", "amble resume '"+dir+"' && amble verify '"+dir+"'").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "done, nothing left") {
		t.Errorf("%v\n%s", err, out)
	}
	visits, err := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err != nil || strings.Count(string(visits), `"url":"`+site.URL+`/slow"`) != 1 || !strings.Contains(string(visits), "/after") {
		t.Errorf("%v\n%s", err, visits)
	}
}

// A job can be resumed after a second signal has aborted its requests, or a third signal has ended the process at once.
func TestAbortedJobCanBeResumed(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"aborting", "nothing"} {
		site := newSlowSite(t)
		dir := filepath.Join(t.TempDir(), "job")
		p := start(t, "crawl", "-w", "0", "-o", dir, "--first-byte-timeout", "1h", "--fetch-timeout", "1h", site.URL)
		<-site.asked
		p.signal(t, syscall.SIGTERM)
		p.line(t, "stopping")
		p.signal(t, syscall.SIGTERM)
		if s == "nothing" { // the third signal arrives while the second one is being handled, or later
			p.signal(t, syscall.SIGTERM)
		}
		code, stderr := p.end(t)
		if w := p.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() && w.Signal() == syscall.SIGTERM && s == "nothing" {
			code = cli.ExitTerminated // signals were no longer handled when the third one arrived: a shell reports the same code
		}
		if code != cli.ExitTerminated {
			t.Errorf("%s: exit code %d, stderr %s", s, code, stderr)
		}
		site.release()
		out, err := exec.Command("sh", "-c", "amble resume "+dir+" && amble verify "+dir).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "done, nothing left") {
			t.Errorf("%s: %v\n%s", s, err, out)
		}
	}
}

// While a process works on a job, no other process can, even if the first one is stopped. After a kill of the first one, another one can.
func TestJobIsLocked(t *testing.T) {
	t.Parallel()
	site := newSlowSite(t)
	dir := filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-w", "0", "-o", dir, site.URL)
	<-site.asked
	p.signal(t, syscall.SIGSTOP)
	for _, args := range []string{"resume " + dir, "crawl -w 0 -o " + dir + " " + site.URL} {
		cmd := exec.Command("amble", strings.Fields(args)...)
		out, _ := cmd.CombinedOutput()
		want := fmt.Sprintf("amble: job %s is being worked on by process %d on ", dir, p.Process.Pid)
		how := fmt.Sprintf("wait for its end, or stop it and all that it works on: kill -INT %d\n", p.Process.Pid)
		if cmd.ProcessState.ExitCode() != cli.ExitUsage || !strings.Contains(string(out), want) || !strings.Contains(string(out), how) {
			t.Errorf("amble %s: exit code %d\n%s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	out, err := exec.Command("amble", "explain", dir, site.URL+"/after").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no visit yet\n           whether it is queued cannot be told: job "+dir+" is being worked on by process") {
		t.Errorf("explain: %v\n%s", err, out)
	}
	p.signal(t, syscall.SIGCONT)
	p.signal(t, syscall.SIGKILL)
	p.end(t)
	site.release()
	if out, err := exec.Command("amble", "resume", dir).CombinedOutput(); err != nil {
		t.Errorf("after a kill: %v\n%s", err, out)
	}
}
