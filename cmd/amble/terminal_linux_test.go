package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal/vt"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/export"
)

// onTerminal runs amble with stderr on a terminal. It calls until with the whole output so far after each output, and returns all output.
func onTerminal(t *testing.T, columns uint16, env []string, until func(string), args ...string) string {
	t.Helper()
	pty, tty, err := vt.Open(int(columns), 24)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer pty.Close()
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
		if err != nil { // EIO: the last writer has closed the terminal
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
	status := regexp.MustCompile(`\r1 page  [0-9.]+/s  1 queued  eta \S+  hosts 1 active 0 waiting\x1b\[K\x1b\[J`)
	out := onTerminal(t, 120, []string{"TERM=xterm", "NO_COLOR=1"}, func(sofar string) {
		if status.MatchString(sofar) {
			site.release()
		}
	}, "crawl", "-w", "0", site.URL)
	if _, rest, _ := strings.Cut(out, "\n"); !strings.HasPrefix(rest, "amble/") || !strings.Contains(out, `to robots.txt "amble"`) ||
		!strings.Contains(out, "scope host "+strings.TrimPrefix(site.URL, "http://")+"; depth 5, at most 1000 pages\r\n") {
		t.Errorf("does not begin with identity, scope and limits: %q", out)
	}
	if !status.MatchString(out) {
		t.Errorf("no status line: %q", out)
	}
	if !regexp.MustCompile(`\r\x1b\[J[34] pages in [^\n]*: done, nothing left\r\n  requests`).MatchString(out) {
		t.Errorf("the status is not taken away, or no summary: %q", out)
	}
}

// stdoutToo is an environment variable that makes onTerminal connect stdout to the terminal, too.
const stdoutToo = "STDOUT=tty"

// If stdout is on the terminal as well, each URL has a line above the status, and the status is the last line of the screen.
func TestPagesAreLinesOnATerminal(t *testing.T) {
	for _, size := range []uint16{100, 60, 40, 0} { // 0: the terminal does not report its size
		columns := cmp.Or(size, terminal.DefaultColumns)
		site := newSlowSite(t)
		tty := vt.New(int(columns), 24)
		seen := 0
		out := onTerminal(t, size, []string{"TERM=xterm", "NO_COLOR=", stdoutToo}, func(sofar string) {
			_, _ = tty.Write([]byte(sofar[seen:]))
			if seen = len(sofar); strings.Contains(tty.String(), "1 page  ") {
				site.release()
			}
			for _, l := range tty.Lines() {
				if len(l) > int(columns) {
					t.Errorf("a line of %d columns on a terminal of %d", len(l), columns)
				}
			}
		}, "crawl", "-w", "0", site.URL)
		screen := tty.String()
		if len(tty.Odd) > 0 || strings.Contains(out, `"schema"`) || strings.Contains(screen, "queued") {
			t.Errorf("odd controls %v, JSON, or a status at the end:\n%s", tty.Odd, screen)
		}
		want := map[uint16]string{100: "[24]0[04] +[0-9]+ B  text/(?:html|plain) {2,3}" + site.URL + "/", 60: "[24]0[04] +[0-9]+ B  " + site.URL + "/", 40: "[24]0[04]  " + site.URL + "/"}[columns]
		if want == "" {
			want = "[24]0[04] +[0-9]+ B  text/(?:html|plain) {2,3}" + site.URL + "/"
		}
		if n := len(regexp.MustCompile("(?m)^"+want).FindAllString(screen, -1)); n != 4 {
			t.Errorf("%d lines like %s:\n%s", n, want, screen)
		}
		if !regexp.MustCompile(`\x1b\[32m200\x1b\[0m`).MatchString(out) {
			t.Errorf("no colour: %q", out)
		}
	}
}

// On a terminal of 80 columns, output about a job is wrapped at words, even with long URLs. In a pipe it is not wrapped.
func TestLinesAreBrokenAtWordsOnATerminal(t *testing.T) {
	folder := "/documentation/reference/manual/of/the/service/"
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 4 {
			_, _ = fmt.Fprintf(w, "<a href=%schapter-%d-with-a-long-name.html>chapter</a><a href=%sgone-%d-with-a-long-name.html>gone</a>", folder, i, folder, i)
		}
		_, _ = fmt.Fprint(w, "<a href=/private/area/with/a/long/name/of/a/page.html>no</a>")
	})
	mux.HandleFunc(folder+"{page}", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.PathValue("page"), "gone") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>%s</title><p>text", r.PathValue("page"))
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	env := []string{"TERM=xterm", "NO_COLOR=1", stdoutToo}
	out := onTerminal(t, 80, env, func(string) {}, "crawl", "-w", "0", "-o", dir, srv.URL)
	for i := range 4 { // reports the differing part
		if want := fmt.Sprintf("chapter-%d-with", i); !strings.Contains(out, want) {
			t.Errorf("no line has %q: %s", want, out)
		}
	}
	out = onTerminal(t, 80, env, func(string) {}, "explain", "--links", "--allow-address", "127.0.0.0/8", srv.URL)
	for i := range 4 {
		if want := fmt.Sprintf("gone-%d-with", i); !strings.Contains(out, want) || strings.Count(out, folder) > 1 {
			t.Errorf("want %q, and what links share once: %s", want, out)
		}
	}
	for _, args := range [][]string{
		{"show", dir}, {"verify", dir}, {"explain", dir, srv.URL + "/"}, {"explain", "--robots", srv.URL + "/private/x"}, {"crawl", "--plan", srv.URL}, {"show", dir, "--since", dir}, {"diff", dir, dir},
		{"export", dir, "--to", "csv", "-o", filepath.Join(t.TempDir(), "csv")}, {"explain", "--host", strings.TrimPrefix(srv.URL, "http://"), "--for-owner", dir},
	} {
		out := onTerminal(t, 80, env, func(string) {}, args...)
		for line := range strings.SplitSeq(strings.ReplaceAll(out, "\r", ""), "\n") {
			words := strings.Fields(line)
			if terminal.Width(line) > 80 && !slices.ContainsFunc(words, func(w string) bool { return len(w) > 50 }) {
				t.Errorf("%v: %d columns: %s", args, terminal.Width(line), line)
			}
		}
	}
}

// With --json, output to a terminal is the same as output to a file.
func TestJSONOnATerminal(t *testing.T) {
	srv := httptest.NewServer(page("Home"))
	defer srv.Close()
	out := onTerminal(t, 80, []string{"TERM=xterm", stdoutToo}, func(string) {}, "crawl", "--json", "-w", "0", srv.URL)
	if strings.Count(out, `{"schema":"amble.visit/`) != 1 || strings.Count(out, `{"schema":"amble.report/`) != 1 || strings.Contains(out, "text/html  ") {
		t.Errorf("%q", out)
	}
}

// Text from servers, such as media types, reasons and names of links or redirects, cannot control the terminal.
func TestHostileAnswersOnATerminal(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<title>\x1b]0;owned\x07\u009b2J\u202e</title><a href='/a\x1b[2J\u202e\u009b31m'>x</a><a href=/r>x</a><a href=/t>x</a>")
		case "/r":
			w.Header()["Location"] = []string{"/\u009b2J\u202e%1b[2J\x80"}
			w.WriteHeader(http.StatusFound)
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /t\x1b[2J\nDisallow: /t\n")
		default:
			w.Header()["Content-Type"] = []string{"text/\u009b31m\u202e"}
			w.WriteHeader(http.StatusTeapot)
		}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, args := range [][]string{{"-v"}, {"--json"}, {"--log-format", "json"}, {"-o", t.TempDir() + "/job"}} {
		tty := vt.New(120, 24)
		out := onTerminal(t, 120, []string{"TERM=xterm", "NO_COLOR=", stdoutToo}, func(string) {}, append(append([]string{"crawl", "-w", "0"}, args...), srv.URL)...)
		_, _ = tty.Write([]byte(out))
		if len(tty.Odd) > 0 || strings.ContainsFunc(tty.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%v: %v\n%q", args, tty.Odd, out)
		}
	}
}

func TestStatusFitsTheTerminal(t *testing.T) {
	status := regexp.MustCompile(`\r(1 page  [^\x1b]*)\x1b\[K\r\n([^\x1b]*)\x1b\[K`)
	for _, columns := range []int{40, 20} {
		site := newSlowSite(t)
		out := onTerminal(t, uint16(columns), []string{"TERM=xterm", "NO_COLOR=1"}, func(sofar string) {
			if status.MatchString(sofar) {
				site.release()
			}
		}, "crawl", "-w", "0", site.URL)
		all := status.FindAllStringSubmatch(out, -1)
		for _, m := range all {
			if len(m[1]) >= columns || len(m[2]) >= columns {
				t.Errorf("status of %d and %d columns on a terminal of %d: %q", len(m[1]), len(m[2]), columns, m[0])
			}
		}
		if len(all) == 0 {
			t.Errorf("no status: %q", out)
		}
	}
}

// A dumb terminal, such as that of a screen reader, gets no control sequences. On a narrow terminal, nothing remains of a status line that
// was too long for it.
func TestExportOnATerminal(t *testing.T) {
	for _, kind := range []string{"dumb", "xterm"} {
		pty, tty, err := vt.Open(20, 24)
		if err != nil {
			t.Skipf("no pseudo-terminals here: %v", err)
		}
		defer pty.Close()
		a := &app{err: tty, env: func(string) (string, bool) { return kind, true }}
		screen := newExportScreen(a)
		screen.show(export.Progress{Visits: 1234567, Requests: 2345678, Bytes: 1 << 30})
		screen.clear()
		tty.Close()
		out, err := io.ReadAll(untilGone{pty})
		shown := vt.New(20, 24)
		_, _ = shown.Write(out)
		if drawn := len(out) > 0; err != nil || drawn != (kind == "xterm") || strings.TrimSpace(shown.String()) != "" || len(shown.Odd) > 0 {
			t.Errorf("%s: %v, %q leaves %q, odd controls %v", kind, err, out, shown, shown.Odd)
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
	if out := onTerminal(t, 20, []string{"TERM=dumb", stdoutToo}, func(string) {}, "crawl", "-w", "0", srv.URL); strings.Contains(out, "\x1b") || !strings.Contains(out, "200  "+srv.URL+"/") {
		t.Errorf("TERM=dumb: %q", out)
	}
}

// untilGone reads the output of a terminal until the last process that writes to the terminal has closed it.
type untilGone struct{ pty *os.File }

func (u untilGone) Read(b []byte) (int, error) {
	n, err := u.pty.Read(b)
	if errors.Is(err, syscall.EIO) {
		err = io.EOF
	}
	return n, err
}

func TestThirdSignalExitsAtOnce(t *testing.T) { thirdSignal(t, false) }

// On a terminal, the status line is removed before the process ends.
func TestThirdSignalCleansTheTerminal(t *testing.T) { thirdSignal(t, true) }

// thirdSignal checks that a third signal ends the process even if it is blocked. Here stdout blocks, because nothing reads from it.
func thirdSignal(t *testing.T, onTerminal bool) {
	title := strings.Repeat("<", 4000) // each character needs six bytes in JSON
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
	pty, tty, err := vt.Open(80, 24)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer pty.Close()
	if p.stderr = bufio.NewReader(untilGone{pty}); onTerminal {
		p.Stderr, p.Env = tty, append(os.Environ(), "TERM=xterm")
	} else {
		pipe, err := p.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.stderr = bufio.NewReader(pipe)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	defer func() { _ = p.Process.Kill() }()
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil { // now the process is blocked while it writes a visit
		t.Fatal(err)
	}
	for status := ""; onTerminal && !strings.Contains(status, "queued"); {
		if status, err = p.stderr.ReadString('K'); err != nil { // the status ends with the control sequence that clears the line
			t.Fatal(err)
		}
	}
	for _, said := range []string{"stopping", "aborting"} {
		p.signal(t, syscall.SIGINT)
		p.line(t, said)
	}
	p.signal(t, syscall.SIGINT)
	if code, stderr := p.end(t); code != cli.ExitInterrupted || strings.Contains(stderr, "pages in") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	} else if onTerminal && !regexp.MustCompile(`\r(\x1b\[[0-9]A)?\x1b\[J$`).MatchString(stderr) {
		t.Errorf("the status remains: %q", stderr)
	}
}
