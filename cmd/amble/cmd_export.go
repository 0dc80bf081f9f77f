package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/corpus"
	"github.com/amble-crawler/amble/job/export/mirror"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/job/export/sqlite"
	"github.com/amble-crawler/amble/job/export/text"
)

// exportCmd is "amble export".
type exportCmd struct {
	Dir    []string `arg:"" type:"job" name:"dir" help:"Job directory that \"amble crawl -o\" made; several with --to text, markdown, wet and corpus."`
	To     string   `required:"" placeholder:"KIND" help:"What to make of it; the kinds are above."`
	Output string   `short:"o" placeholder:"PATH" help:"File or directory to write, which must not exist; - is stdout, for one file. Without it, the job's name and an ending, here."`
	Refuse []string `placeholder:"USE" help:"Leave out pages whose site disallows this use, such as train-ai, with --to text, markdown, wet and corpus."`

	Status  []string `group:"Only these visits, with --to urls or files:" placeholder:"CODE" help:"With these statuses: 404, or 4xx for 400 to 499."`
	Type    []string `group:"Only these visits, with --to urls or files:" aliases:"accept" placeholder:"TYPE" help:"With these media types, such as application/pdf or image/*. --accept is the same."`
	Host    []string `group:"Only these visits, with --to urls or files:" placeholder:"HOST" help:"Of these hosts; *.site.org is site.org and all below it."`
	Outcome []string `group:"Only these visits, with --to urls or files:" placeholder:"WORD" help:"With these outcomes: fetched, redirected, refused, failed, …"`
}

// exportKinds returns the kinds that the command supports.
func exportKinds(f export.Filter, refuse ...string) []export.Kind {
	o := text.Options{Refuse: refuse, Documents: document.Articles{Reader: documents()}}
	return append(export.Kinds(), mirror.Kind(), mirror.Files(f), export.URLs(f), parquet.Kind(), sqlite.Kind(), text.Text(o), text.Markdown(o), text.WET(o), corpus.Kind(o))
}

// Help returns the beginning of the command's help.
func (*exportCmd) Help() string {
	var b strings.Builder
	b.WriteString(`Examples:

	amble export job --to csv
	amble export job --to urls --status 404 -o -
	amble export job --to files --type application/pdf
	amble export monday tuesday --to corpus --refuse train-ai -o texts

Writes a crawl in a form that other programs read. A crawl may still run: what it has
committed so far is exported. The file or directory is there whole or not at all.

Kinds:

`)
	for _, k := range exportKinds(export.Filter{}) {
		fmt.Fprintf(&b, "\t%-10s %s\n", k.Name, k.Doc)
	}
	b.WriteString("\nThe columns of the tables are in docs/reference.md.")
	return b.String()
}

// Run executes the command.
func (c *exportCmd) Run(a *app) error {
	kind, err := c.kind()
	if err != nil {
		return err
	}
	if err := c.many(kind); err != nil {
		return err
	}
	jobs, closeJobs, err := readJobs(c.Dir)
	if err != nil {
		return err
	}
	defer closeJobs()
	path := c.Output
	if path == "" {
		abs, err := filepath.Abs(c.Dir[0])
		if err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
		path = filepath.Base(abs) + kind.Suffix
	}
	if c.Output == "-" {
		if kind.Dir {
			return cli.Usage("--to %s makes a directory, which cannot go to stdout: name a place with -o", kind.Name)
		}
		temp, err := os.MkdirTemp("", "amble-export-")
		if err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
		defer func() { _ = os.RemoveAll(temp) }() // its content was already copied
		path = filepath.Join(temp, "out")
	}
	screen := newExportScreen(a)
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	res, err := export.WriteAll(ctx, jobs, *kind, path, screen.show)
	screen.clear()
	if errors.Is(err, context.Canceled) {
		return cli.Exit(endedBy(ctx), fmt.Errorf("stopped: nothing of %s is left", path))
	}
	if err != nil {
		return err
	}
	for _, note := range res.Notes {
		a.note("note: " + cli.Printable(note))
	}
	if c.Output == "-" {
		f, err := safefile.Open(path)
		if err == nil {
			_, err = io.Copy(a.out, f)
			err = errors.Join(err, f.Close())
		}
		return outputError(err)
	}
	_, err = fmt.Fprintln(a.out, cli.Printable(path))
	return err
}

// readJobs opens jobs for reading.
func readJobs(dirs []string) (jobs []*job.Reader, closeJobs func(), err error) {
	closeJobs = func() {
		for _, r := range jobs {
			_ = r.Close() // opened only for reading
		}
	}
	for _, dir := range dirs {
		r, err := job.Read(dir)
		if err != nil {
			closeJobs()
			return nil, nil, err
		}
		jobs = append(jobs, r)
	}
	return jobs, closeJobs, nil
}

// many returns an error if several jobs or --refuse are given, which only exports of texts support, and this kind of export does not.
func (c *exportCmd) many(kind *export.Kind) error {
	switch {
	case kind.Many && len(c.Dir) > 1 && c.Output == "":
		return cli.Usage("name what to make of several jobs with -o")
	case !kind.Many && len(c.Dir) > 1:
		return cli.Usage("--to %s takes one job", kind.Name)
	case !kind.Many && len(c.Refuse) > 0:
		return cli.Usage("--refuse is for texts, not for --to %s", kind.Name)
	case len(c.Dir) > 1:
		return distinct(c.Dir)
	}
	return nil
}

// kind returns the kind with the given name.
func (c *exportCmd) kind() (*export.Kind, error) {
	f := export.Filter{Status: c.Status, Types: c.Type, Hosts: c.Host, Outcomes: c.Outcome}
	if err := f.Validate(); err != nil {
		return nil, cli.Usage("--%w", err)
	}
	for _, o := range f.Outcomes {
		if !slices.Contains(allOutcomes, crawler.Outcome(o)) {
			return nil, cli.Usage("--outcome %q: want one of %s", o, strings.Trim(fmt.Sprint(allOutcomes), "[]"))
		}
	}
	var names []string
	for _, k := range exportKinds(f, c.Refuse...) {
		if k.Name == c.To {
			if filtered := len(f.Status)+len(f.Types)+len(f.Hosts)+len(f.Outcomes) > 0; filtered && k.Name != "urls" && k.Name != "files" {
				return nil, cli.Usage("--to %s has everything: --status, --type, --host and --outcome are for urls and files", k.Name)
			}
			return &k, nil
		}
		names = append(names, k.Name)
	}
	switch c.To {
	case "json", "jsonl", "ndjson":
		return nil, cli.Usage("--to %q: visits.jsonl in the job's directory has a JSON object for each URL", c.To)
	case "warc":
		return nil, cli.Usage("--to warc: a crawl with --archive has WARC files in warc/ of the job's directory; --to wacz packs them into one file")
	}
	return nil, cli.Usage("--to %q is no kind of export%s: want one of %s", c.To, cli.DidYouMean(c.To, names), strings.Join(names, ", "))
}

// allOutcomes lists all outcomes of visits.
var allOutcomes = []crawler.Outcome{
	crawler.Fetched, crawler.Redirected, crawler.Refused, crawler.OutOfScope, crawler.Deferred, crawler.Failed, crawler.Trapped, crawler.Duplicate, crawler.NotModified,
}

// exportScreen shows the progress of an export on a terminal.
type exportScreen struct {
	screen      *terminal.Screen
	begun, last time.Time
}

func newExportScreen(a *app) *exportScreen {
	return &exportScreen{screen: terminal.NewScreen(a.err, !a.dumb() && terminal.Is(a.err), false), begun: time.Now()}
}

// exportEvery is the time between two updates of the progress line.
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

// clear removes the progress line.
func (s *exportScreen) clear() { s.screen.Status() }
