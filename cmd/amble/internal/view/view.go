// Package view shows a running crawl on a terminal: what is about to be crawled, one line for each URL with its outcome, a status during
// the crawl, notes and logs, and a summary at the end. It provides the text; package cmd/amble/internal/terminal lays it out.
//
// Reading order: view.go, begin.go, page.go (the line of a URL), status.go (progress), watcher.go (the events of a crawl), summary.go.
package view

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/internal/cli"
)

// Flags holds the flags for output that all commands with a crawl have.
type Flags struct {
	JSON bool
	Messages
}

// Messages holds the flags for messages on stderr.
type Messages struct {
	Quiet     bool `short:"q"`
	Verbose   bool `short:"v"`
	LogFormat string
	Color     string
}

// View shows a crawl to a person. If stderr is a terminal, a status is shown below its lines. If stdout is one, each URL gets a line there.
// Otherwise stderr gets log lines, and stdout only results.
type View struct {
	flags  Flags
	screen *terminal.Screen // screen on stderr
	log    *slog.Logger
	below  func() string // returns another line of the status; may be nil

	out     io.Writer // writer to stdout
	outTTY  bool
	columns func() int // returns the number of columns of stdout
	color   bool       // whether stdout has colour
	whole   bool       // whether lines on stdout are not truncated, for screen readers
	pages   *terminal.Burst

	lines  sync.Mutex
	widths widths // column widths in the lines of URLs
}

// New returns the view of a crawl. It writes messages to errs and results to out. env looks up environment variables: TERM and NO_COLOR.
func New(f Flags, out *cli.Stdout, errs io.Writer, env func(string) (string, bool)) *View {
	stdout := out.Unwrap()
	dumb, _ := env("TERM")
	noColor, _ := env("NO_COLOR")
	color := func(w io.Writer) bool {
		return f.Color == "always" || f.Color == "auto" && noColor == "" && dumb != "dumb" && terminal.Is(w)
	}
	v := &View{
		flags: f, screen: terminal.NewScreen(errs, dumb != "dumb" && terminal.Is(errs), color(errs)),
		out: out, outTTY: terminal.Is(stdout), columns: terminal.Columns(stdout), color: color(stdout), whole: dumb == "dumb",
	}
	v.pages = terminal.NewBurst(out)
	v.log = slog.New(v.logHandler(f.Quiet))
	out.Wrap(v.screen.Share)
	return v
}

// logHandler returns a log handler. It writes nothing if quiet is set, and everything with -v.
func (v *View) logHandler(quiet bool) slog.Handler {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if v.flags.Verbose {
		opts.Level = slog.LevelDebug
	}
	switch {
	case quiet:
		return slog.DiscardHandler
	case v.flags.LogFormat == "json":
		return slog.NewJSONHandler(v.screen, opts)
	}
	return slog.NewTextHandler(v.screen, opts)
}

// Tell prints one line for the user, unless -q suppresses it.
func (v *View) Tell(format string, args ...any) {
	if !v.flags.Quiet {
		v.Answer(format, args...)
	}
}

// Answer prints one line that answers the user, even with -q.
func (v *View) Answer(format string, args ...any) {
	if v.flags.LogFormat == "json" {
		slog.New(v.logHandler(false)).Info(fmt.Sprintf(format, args...))
		return
	}
	fmt.Fprintf(v.screen, "amble: "+format+"\n", args...)
}

// Next prints a suggested command, with the reason before it, unless -q suppresses it.
func (v *View) Next(why, command string) {
	switch {
	case v.flags.Quiet:
	case v.flags.LogFormat == "json":
		v.log.Info(why, "command", command)
	default:
		fmt.Fprintf(v.screen, "amble: %s:\n  %s\n", why, command)
	}
}

// Note prints a message that concerns more than one URL.
func (v *View) Note(text string) { v.Tell("%s", text) }

// Leave removes the status from the terminal, for a process that ends immediately.
func (v *View) Leave() { v.screen.Leave() }

// Emphasized returns text for stdout. If stdout has colour, the first line is bold.
func (v *View) Emphasized(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	return terminal.Row{{Text: first, Style: terminal.Bold}}.Whole(v.color) + "\n" + rest
}
