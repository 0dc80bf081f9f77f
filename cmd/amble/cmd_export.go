package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/mirror"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/job/export/sqlite"
)

// exportCmd is "amble export".
type exportCmd struct {
	Dir    string `arg:"" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
	To     string `required:"" placeholder:"KIND" help:"What to make of it; the kinds are above."`
	Output string `short:"o" placeholder:"PATH" help:"File or directory to write, which must not exist. Without it, the job's name and an ending, here."`
}

// exportKinds are the kinds that the command knows.
func exportKinds() []export.Kind {
	return append(export.Kinds(), mirror.Kind(), parquet.Kind(), sqlite.Kind())
}

// Help returns the beginning of the command's help.
func (*exportCmd) Help() string {
	var b strings.Builder
	b.WriteString(`Examples:

	amble export job --to csv
	amble export job --to crawl.log -o job.log
	amble export job --to csv -o tables && ls tables

Writes a crawl in a form that other programs read. A crawl may still run: what it has
committed so far is exported. The file or directory is there whole or not at all.

Kinds:

`)
	for _, k := range exportKinds() {
		fmt.Fprintf(&b, "\t%-10s %s\n", k.Name, k.Doc)
	}
	b.WriteString("\nThe columns of the tables are in docs/export.md.")
	return b.String()
}

// Run executes the command.
func (c *exportCmd) Run(a *app) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	path := c.Output
	if path == "" {
		abs, err := filepath.Abs(c.Dir)
		if err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
		path = filepath.Base(abs) + kind.Suffix
	}
	screen := newExportScreen(a)
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	res, err := export.Write(ctx, r, *kind, path, screen.show)
	screen.clear()
	if errors.Is(err, context.Canceled) {
		return cli.Exit(endedBy(ctx), fmt.Errorf("stopped: nothing of %s is left", path))
	}
	if err != nil {
		return err
	}
	for _, note := range res.Notes {
		fmt.Fprintf(a.err, "note: %s\n", cli.Printable(note))
	}
	_, err = fmt.Fprintln(a.out, cli.Printable(path))
	return err
}

// kind returns the kind that was named.
func (c *exportCmd) kind() (*export.Kind, error) {
	var names []string
	for _, k := range exportKinds() {
		if k.Name == c.To {
			return &k, nil
		}
		names = append(names, k.Name)
	}
	return nil, cli.Usage("--to %q is no kind of export%s: want one of %s", c.To, cli.DidYouMean(c.To, names), strings.Join(names, ", "))
}

// exportScreen shows on a terminal how far an export has got.
type exportScreen struct {
	screen      *terminal.Screen
	begun, last time.Time
}

func newExportScreen(a *app) *exportScreen {
	return &exportScreen{screen: terminal.NewScreen(a.err, !a.dumb() && terminal.Is(a.err), false), begun: time.Now()}
}

// exportEvery is the time between two lines.
const exportEvery = 200 * time.Millisecond

func (s *exportScreen) show(p export.Progress) {
	if time.Since(s.last) < exportEvery {
		return
	}
	s.last = time.Now()
	var parts []string
	for _, n := range []struct {
		n    int
		what string
	}{{p.Visits, "visit"}, {p.Requests, "request"}, {p.Links, "link"}, {p.Pages, "page"}} {
		if n.n > 0 {
			parts = append(parts, cli.Plural(n.n, n.what))
		}
	}
	text := fmt.Sprintf("%s read, %s written, %s", strings.Join(parts, ", "), cli.Bytes(p.Bytes), time.Since(s.begun).Round(time.Second))
	s.screen.Status(terminal.Row{{Text: text}})
}

// clear removes the line.
func (s *exportScreen) clear() { s.screen.Status() }
