package main

import (
	"bufio"
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/amble-crawler/amble/internal/cli"
)

// terminal opens a pseudo-terminal of this many columns: what is written to tty can be read from pty.
func terminal(t *testing.T, columns uint16) (pty, tty *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { pty.Close() })
	var unlock int32
	var number uint32
	ioctl(t, pty, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, pty, syscall.TIOCGPTN, unsafe.Pointer(&number))
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	size := [4]uint16{24, columns}
	ioctl(t, tty, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return pty, tty
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatal(errno)
	}
}

// onTerminal runs amble with stderr on a terminal. Whenever there is new output it calls until with all output so far.
// It returns everything.
func onTerminal(t *testing.T, columns uint16, env []string, until func(string), args ...string) string {
	t.Helper()
	pty, tty := terminal(t, columns)
	cmd := exec.Command("amble", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = tty
	if slices.Contains(env, stdoutToo) {
		cmd.Stdout = tty
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	for {
		n, err := pty.Read(buf)
		all.Write(buf[:n])
		until(all.String())
		if err != nil { // EIO: the last writer has gone
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, all.String())
	}
	return all.String()
}

func TestTerminalShowsScopeStatusAndSummary(t *testing.T) {
	site := newSlowSite(t)
	status := regexp.MustCompile(`\r\x1b\[K1 page [0-9.]+/s  hosts 1 active 0 waiting  1 queued  0 refused  0 errors  eta `)
	out := onTerminal(t, 120, []string{"TERM=xterm", "NO_COLOR="}, func(sofar string) {
		if status.MatchString(sofar) {
			site.release()
		}
	}, "crawl", "-w", "0", site.URL)
	if !strings.HasPrefix(out, "amble/") || !strings.Contains(out, `to robots.txt "amble"`) ||
		!strings.Contains(out, "scope host "+strings.TrimPrefix(site.URL, "http://")+"; depth 5, at most 1000 pages\r\n") {
		t.Errorf("does not begin with identity, scope and limits: %q", out)
	}
	if !status.MatchString(out) {
		t.Errorf("no status line: %q", out)
	}
	if !regexp.MustCompile(`\r\x1b\[K\x1b\[1m[34] pages in [^\n]*: done, nothing left\x1b\[0m\r\n  requests`).MatchString(out) {
		t.Errorf("the status line is not taken away, or no summary in bold: %q", out)
	}
}

// stdoutToo in the environment of onTerminal puts stdout on the terminal as well.
const stdoutToo = "STDOUT=tty"

// If results go to the same terminal, they appear on lines of their own.
func TestStatusLineMakesRoomForResults(t *testing.T) {
	site := newSlowSite(t)
	out := onTerminal(t, 120, []string{"TERM=xterm", stdoutToo}, func(sofar string) {
		if strings.Contains(sofar, "\r\x1b[K1 page") {
			site.release()
		}
	}, "crawl", "-w", "0", site.URL)
	parts := strings.Split(out, `{"schema"`)
	if len(parts) != 5 {
		t.Fatalf("%d visits: %q", len(parts)-1, out)
	}
	for _, before := range parts[:4] {
		if !strings.HasSuffix(before, "\n") && !strings.HasSuffix(before, "\r\x1b[K") {
			t.Errorf("a visit stands behind %q", before[max(0, len(before)-40):])
		}
	}
}

func TestStatusLineFitsTheTerminal(t *testing.T) {
	site := newSlowSite(t)
	status := regexp.MustCompile(`\r\x1b\[K(1 page [^\r]*)\r`)
	out := onTerminal(t, 40, []string{"TERM=xterm"}, func(sofar string) {
		if status.MatchString(sofar) {
			site.release()
		}
	}, "crawl", "-w", "0", site.URL)
	for _, m := range status.FindAllStringSubmatch(out, -1) {
		if len(m[1]) > 39 {
			t.Errorf("status of %d columns on a terminal of 40: %q", len(m[1]), m[1])
		}
	}
}

func TestNoColorAndQuietAndDumbOnATerminal(t *testing.T) {
	srv := httptest.NewServer(page("Home"))
	defer srv.Close()
	run := func(env []string, args ...string) string {
		args = append([]string{"crawl", "-w", "0"}, append(args, srv.URL)...)
		return onTerminal(t, 80, append(env, "TERM=xterm"), func(string) {}, args...)
	}
	if out := run([]string{"NO_COLOR=1"}); strings.Contains(out, "\x1b[1m") || !strings.Contains(out, "1 page in ") {
		t.Errorf("NO_COLOR: %q", out)
	}
	if out := run([]string{"NO_COLOR="}, "--color=never"); strings.Contains(out, "\x1b[1m") {
		t.Errorf("--color=never: %q", out)
	}
	if out := run(nil, "-q"); out != "" {
		t.Errorf("-q: %q", out)
	}
	if out := onTerminal(t, 80, []string{"TERM=dumb"}, func(string) {}, "crawl", "-w", "0", srv.URL); strings.Contains(out, "\x1b") {
		t.Errorf("TERM=dumb: %q", out)
	}
}

// The third signal ends the process whatever it is doing: here it waits for a reader of stdout that does not read.
func TestThirdSignalExitsAtOnce(t *testing.T) {
	title := strings.Repeat("<", 4000) // takes six bytes each in JSON
	srv := httptest.NewServer(page(title))
	defer srv.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const setPipeSize = 1031 // F_SETPIPE_SZ of fcntl(2)
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, 4096); errno != 0 {
		t.Skip(errno)
	}
	p := &process{Cmd: exec.Command("amble", "crawl", "-w", "0", srv.URL)}
	p.Stdout = w
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Process.Kill() }()
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil { // a visit is being written, and cannot be
		t.Fatal(err)
	}
	for _, said := range []string{"stopping", "aborting"} {
		p.signal(t, syscall.SIGINT)
		p.line(t, said)
	}
	p.signal(t, syscall.SIGINT)
	if code, stderr := p.end(t); code != cli.ExitInterrupted || strings.Contains(stderr, "pages in") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
