//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// slowSite has a home page and a page /slow, whose answer waits for release.
type slowSite struct {
	*httptest.Server
	asked   chan struct{} // closed when /slow was asked for
	release func()
}

func newSlowSite(t *testing.T) *slowSite {
	asked, released := make(chan struct{}), make(chan struct{})
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", page("Home", "/slow", "/after"))
	m.HandleFunc("GET /after", page("After"))
	m.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-released:
			page("Slow", "/never")(w, r)
		case <-r.Context().Done():
		}
	})
	s := &slowSite{httptest.NewServer(m), asked, sync.OnceFunc(func() { close(released) })}
	t.Cleanup(func() { s.release(); s.Close() })
	return s
}

// process is an amble that runs.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	stderr *bufio.Reader
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

// line reads stderr up to a line with this text.
func (p *process) line(t *testing.T, text string) {
	t.Helper()
	for {
		l, err := p.stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("stderr ended without %q: %v", text, err)
		}
		if strings.Contains(l, text) {
			return
		}
	}
}

// end reads the rest of stderr and gives it with the exit code.
func (p *process) end(t *testing.T) (code int, stderr string) {
	t.Helper()
	rest, err := io.ReadAll(p.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // its error is the exit code
	return p.ProcessState.ExitCode(), string(rest)
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestFirstSignalFinishesWhatIsInFlight(t *testing.T) {
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, exitInterrupted}, {syscall.SIGTERM, exitTerminated}} {
		site := newSlowSite(t)
		p := start(t, "crawl", "-w", "0", site.URL)
		<-site.asked
		p.signal(t, s.signal)
		p.line(t, "stopping: waiting for requests in flight; press again to abort them")
		site.release()
		code, stderr := p.end(t)
		if code != s.code {
			t.Errorf("%v: exit code %d, want %d", s.signal, code, s.code)
		}
		if out := p.stdout.String(); !strings.Contains(out, `/slow","via"`) || strings.Contains(out, "/after\",\"via") {
			t.Errorf("%v: visits %s: want /slow, which was in flight, and not /after", s.signal, out)
		}
		if !strings.Contains(stderr, ": interrupted, 2 URLs left") || strings.Contains(stderr, "amble:") {
			t.Errorf("%v: stderr %s", s.signal, stderr)
		}
	}
}

func TestSecondSignalAborts(t *testing.T) {
	site := newSlowSite(t)
	p := start(t, "crawl", "-w", "0", "--first-byte-timeout", "1h", "--fetch-timeout", "1h", site.URL)
	<-site.asked
	p.signal(t, syscall.SIGINT)
	p.line(t, "stopping")
	p.signal(t, syscall.SIGINT)
	p.line(t, "aborting requests in flight; press again to exit at once")
	code, stderr := p.end(t) // though /slow never answers
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if out := p.stdout.String(); strings.Contains(out, `/slow","via"`) {
		t.Errorf("visits %s: /slow has no fate yet", out)
	}
	if !strings.Contains(stderr, "interrupted, 2 URLs left") {
		t.Errorf("stderr %s", stderr)
	}
}
