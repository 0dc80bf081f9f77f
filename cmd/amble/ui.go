package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/amble-crawler/amble/internal/hidden"
)

// outputFlags are shared by the commands that crawl.
type outputFlags struct {
	JSON      bool
	Quiet     bool `short:"q"`
	Verbose   bool `short:"v"`
	LogFormat string
	Color     string
}

// ui is what the user sees on stderr: one status line on a terminal, log lines elsewhere.
type ui struct {
	flags outputFlags
	tty   bool
	color bool
	width func() int
	log   *slog.Logger

	mu    sync.Mutex
	w     io.Writer
	drawn bool // a status line is on the terminal
}

func newUI(a *app, f outputFlags) *ui {
	u := &ui{flags: f, w: a.err, width: func() int { return 80 }}
	dumb, _ := a.env("TERM")
	if file, ok := a.err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		u.tty = dumb != "dumb"
		u.width = func() int {
			if cols, _, err := term.GetSize(int(file.Fd())); err == nil && cols > 20 {
				return cols
			}
			return 80
		}
	}
	noColor, _ := a.env("NO_COLOR")
	u.color = f.Color == "always" || f.Color == "auto" && u.tty && noColor == ""
	u.log = slog.New(u.logHandler())
	a.out.Wrap(u.shared)
	return u
}

// terminalOutput is stdout if it is a terminal, where a status line may be shown.
type terminalOutput struct {
	u *ui
	w io.Writer
}

// Write implements io.Writer.
func (t terminalOutput) Write(b []byte) (int, error) {
	t.u.mu.Lock()
	defer t.u.mu.Unlock()
	t.u.clear()
	return t.w.Write(b)
}

// shared returns a writer that keeps results and the status line apart when both go to terminals.
func (u *ui) shared(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok && u.tty && term.IsTerminal(int(file.Fd())) {
		return terminalOutput{u, file}
	}
	return w
}

// logHandler returns a handler that writes nothing with -q and everything with -v.
func (u *ui) logHandler() slog.Handler {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if u.flags.Verbose {
		opts.Level = slog.LevelDebug
	}
	switch {
	case u.flags.Quiet:
		return slog.DiscardHandler
	case u.flags.LogFormat == "json":
		return slog.NewJSONHandler(lineWriter{u}, opts)
	}
	return slog.NewTextHandler(lineWriter{u}, opts)
}

// lineWriter writes whole lines, after removing the status line.
type lineWriter struct{ u *ui }

// Write implements io.Writer.
func (l lineWriter) Write(b []byte) (int, error) {
	l.u.mu.Lock()
	defer l.u.mu.Unlock()
	l.u.clear()
	if _, err := l.u.w.Write(hidden.Escape(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// clear removes the status line. The caller holds mu.
func (u *ui) clear() {
	if u.drawn {
		fmt.Fprint(u.w, "\r\x1b[K")
		u.drawn = false
	}
}

// draw replaces the status line.
func (u *ui) draw(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	fmt.Fprintf(u.w, "\r\x1b[K%s", hidden.Escape([]byte(line)))
	u.drawn = true
}

// tell prints one line for the user, unless -q suppresses it.
func (u *ui) tell(format string, args ...any) {
	switch {
	case u.flags.Quiet:
	case u.flags.LogFormat == "json":
		u.log.Info(fmt.Sprintf(format, args...))
	default:
		fmt.Fprintf(lineWriter{u}, "amble: "+format+"\n", args...)
	}
}

// note prints a message that is not about a single URL.
func (u *ui) note(text string) { u.tell("%s", text) }

// bold returns s in bold, if there is colour.
func (u *ui) bold(s string) string {
	if !u.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}
