package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal/vt"
)

// shellOnTerminal runs the shell on a terminal of the given type, and after each prompt types the next of the given texts. It returns all
// output of the terminal, including the typed texts.
func shellOnTerminal(t *testing.T, term, url string, typed ...string) string {
	t.Helper()
	pty, tty, err := vt.Open(100, 24)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer pty.Close()
	cmd := exec.Command("amble", "shell", url)
	cmd.Env = append(os.Environ(), "TERM="+term)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	tty.Close()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	for {
		n, err := pty.Read(buf)
		all.Write(buf[:n])
		if err != nil { // EIO: the last writer has closed the terminal
			break
		}
		if strings.HasSuffix(all.String(), "amble> ") && len(typed) > 0 {
			if _, err := pty.WriteString(typed[0]); err != nil {
				t.Fatal(err)
			}
			typed = typed[1:]
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	return all.String()
}

// On a dumb terminal, the shell has a prompt, but lines cannot be edited.
func TestShellOnADumbTerminal(t *testing.T) {
	site := httptest.NewServer(page("Home", "/a"))
	defer site.Close()
	out := shellOnTerminal(t, "dumb", site.URL, "csx\x7fs a\n", "quit\n")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "help lists what can be tried here") || strings.Count(out, "a: ") != 1 {
		t.Errorf("%q", out)
	}
}

// On other terminals, the shell has a prompt, line editing, a history and completion. At the end it restores the terminal's settings.
func TestShellOnATerminal(t *testing.T) {
	site := httptest.NewServer(page("Home", "/a"))
	defer site.Close()
	out := shellOnTerminal(t, "xterm", site.URL, "css a\r", "hel\tx\r", "\x1b[A\x1b[A\r", "css [\r", "\x04")
	for _, want := range []string{"help lists what can be tried here", "amble> css a\r\n", "takes no more words, not \"x\"", "css: selector \"[\""} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if strings.Count(out, "a: ") != 2 {
		t.Errorf("the line was not taken from the history: %q", out)
	}
}
