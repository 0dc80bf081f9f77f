package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/check"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/weburl"
)

// checkCmd is "amble check".
type checkCmd struct {
	Target []string `arg:"" type:"job" name:"url|job" help:"URLs of a site, or the directory of a crawl."`

	All        bool       `help:"Print every broken URL and every page that links to it."`
	NoExternal bool       `help:"Do not request what links to other sites name."`
	JSON       bool       `help:"Print findings as JSON, one a line: url, status, reason, pages."`
	SARIF      formatFile `name:"sarif" placeholder:"FILE" help:"Write findings as SARIF, to stdout or as --sarif=FILE."`
	JUnit      formatFile `name:"junit" placeholder:"FILE" help:"Write findings as JUnit XML, to stdout or as --junit=FILE."`
	Out        string     `short:"o" placeholder:"DIR" help:"Keep the crawl in this job directory. The same command resumes it."`
	view.Messages
	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// checkShown lists the keys whose flags appear in the help of amble check. The others work, too.
var checkShown = map[string]bool{
	"contact": true, "delay": true, "depth": true, "scope": true, "include": true, "exclude": true, "max-pages": true, "allow-address": true,
	"out": true, "state": true, "json": true, "quiet": true,
}

// Help returns the beginning of the command's help.
func (*checkCmd) Help() string {
	return `Examples:

	amble check --contact me@university.edu https://site.to.check/
	amble check --sarif=links.sarif --junit=links.xml https://site.to.check/
	amble check job
	amble check --json job | jq .url

Finds what is broken on a site: links that lead nowhere with every page that has them, fragments (#name) that no
element has, redirects to mend, mixed content. What links to other sites name is requested once each, and nothing
there is followed. --help-all lists all flags.

A crawl that was stopped is kept for "amble resume"; -o keeps a whole one, too. A crawl that was made before is checked as far as it went: best with --follow resources, --beyond 1, --keep-links and
--archive.

Exit codes: 0 nothing is broken, 1 something is, otherwise as for amble crawl. Redirects, mixed content and what
robots.txt forbids are listed and alone exit 0.`
}

// formatFile is a flag that requests a format; its optional value is the file to write.
type formatFile struct {
	given bool
	path  string // path of the file to write; "" for stdout
}

// IsBool implements kong.BoolMapperValue: the flag needs no value.
func (*formatFile) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (f *formatFile) Decode(ctx *kong.DecodeContext) error {
	f.given = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	if f.path = ctx.Scan.Pop().String(); f.path == "" {
		return errors.New("wants the name of a file, or no value")
	}
	return nil
}

// Run executes the command.
func (c *checkCmd) Run(a *app, o *keyflags.Origins) error {
	onStdout := 0
	for _, is := range []bool{c.JSON, c.SARIF.given && c.SARIF.path == "", c.JUnit.given && c.JUnit.path == ""} {
		if is {
			onStdout++
		}
	}
	if onStdout > 1 {
		return cli.Usage("--json, --sarif and --junit cannot share stdout: name a file, as in --sarif=FILE")
	}
	if len(c.Target) == 1 && !strings.Contains(c.Target[0], "://") {
		r, err := job.Read(c.Target[0])
		if err != nil {
			return cli.Usage("%s is neither a URL nor the directory of a crawl: %w", c.Target[0], err)
		}
		defer func() { _ = r.Close() }() // opened only for reading
		return c.print(a, r, onStdout > 0)
	}
	seeds, err := operator.Seeds(o, c.Target, "", a.in)
	if err != nil {
		return err
	}
	cfg, err := c.config(o, seeds)
	if err != nil {
		return err
	}
	v := a.view(view.Flags{Messages: c.Messages})
	dir, next, err := c.directory(cfg.State, seeds)
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	end, err := c.crawl(a, v, &cfg, seeds, dir, next)
	switch whole := end != nil && end.Finish == crawler.FinishDone; {
	case c.Out == "" && (next == "" || whole || !begun(dir)):
		defer func() { _ = os.RemoveAll(dir) }() // without this, the directory would remain as a kept job
	case end != nil && end.Finish.Limit():
		next = strings.Replace(next, " && ", doubled(&cfg, end.Finish)+" && ", 1)
		fallthrough
	case end != nil && !whole:
		defer v.Next("the crawl is kept; to go on with it and check again", next)
	}
	var cut bool
	var cutErr error
	switch {
	case end == nil && err != nil:
		return err
	case end != nil && end.vain != nil:
		return cli.Exit(cli.ExitNothing, errors.New(view.Unreachable(end.vain)))
	case end != nil:
		cut, cutErr = cutShort(end, err)
	}
	r, err := job.Read(dir)
	if err != nil {
		return errors.Join(cutErr, err)
	}
	defer func() { _ = r.Close() }() // opened only for reading
	err = c.print(a, r, onStdout > 0)
	switch {
	case cut:
		return cutErr
	case end != nil && len(end.WalledSeeds) > 0:
		return cli.Exit(cli.ExitWall, errors.New(view.Walled(end.WalledSeeds)))
	case err == nil && end != nil && end.Pages+end.Outcomes[crawler.NotModified] == 0:
		return cli.Exit(cli.ExitNothing, errors.New("nothing was fetched"+end.seeds))
	}
	return err
}

// directory returns the directory of the crawl, and the command that resumes the crawl if it stops. Without --out the directory is among
// the kept jobs until the crawl is complete. If that is impossible, it is a temporary directory, and the command is "".
func (c *checkCmd) directory(state string, seeds []weburl.URL) (dir, next string, err error) {
	if dir = c.Out; dir == "" && !c.Quiet {
		dir, _ = kept.New(state, seeds[0]) // after an error, dir is "": the crawl is not kept
	}
	if dir == "" {
		dir, err = os.MkdirTemp("", "amble-check-")
		return dir, "", err
	}
	word := kept.Name(dir)
	return dir, resumeCommand(word) + " && amble check " + cli.ShellWord(word), nil
}

// crawl crawls the site as a job in a directory. It returns a nil ending if the directory already has the complete crawl. next is the
// command that resumes the crawl, "" if there is none.
func (c *checkCmd) crawl(a *app, v *view.View, cfg *job.Config, seeds []weburl.URL, dir, next string) (*ending, error) {
	cfg.Note = v.Note
	advice := "what was found so far is printed"
	if next != "" {
		advice = "to go on later: " + next
	}
	restrain(v, &cfg.Crawl)
	var j *job.Job
	finished := false
	end, err := a.crawl(&crawlJob{
		view: v, cfg: cfg.Crawl, seeds: seeds, advice: advice, job: cfg, noSummary: true,
		open: func(x crawler.Config) (_ opened, err error) {
			cfg.Crawl = x
			if j, err = job.Start(dir, *cfg, operator.Texts(seeds)...); errors.Is(err, job.ErrFinished) {
				finished = true
			}
			return j, err
		},
	})
	if finished {
		return nil, nil //nolint:nilnil // the crawl is in the directory
	}
	if j != nil {
		err = errors.Join(err, j.Close())
	}
	return end, err
}

// siteConfig returns the settings for crawling the seeds' sites, for amble check, mirror and capture. The error names all invalid settings.
func siteConfig(o *keyflags.Origins, seeds []weburl.URL) (job.Config, error) {
	cfg, err := o.Config()
	_, idErr := operator.Identity(&cfg.Crawl, seeds)
	return cfg, firstUsage(idErr, err, checkScope(&cfg, o), openfiles.Check(openfiles.Limit()))
}

// config returns the settings of the crawl for a check: everything on the site, and one request for each linked URL on other sites.
func (c *checkCmd) config(o *keyflags.Origins, seeds []weburl.URL) (job.Config, error) {
	cfg, err := siteConfig(o, seeds)
	if err != nil {
		return cfg, err
	}
	x := &cfg.Crawl
	for _, d := range []struct {
		key string
		set func()
	}{
		{"depth", func() { x.Limits.Depth = crawler.Unlimited }},
		{"max-pages", func() { x.Limits.Pages = 10_000 }},
		{"resources", func() { x.Follow.Resources = true }},
		{"beyond", func() { x.Scope.Beyond = 1 }},
		// Other types are not read whole: the beginning of a response shows that the URL exists.
		{"accept", func() {
			x.Scope.Rules = append(x.Scope.Rules, crawler.ScopeRule{Types: []string{"text/html", "application/xhtml+xml", "text/css"}})
		}},
	} {
		if !o.Given(d.key) && !job.Holds(c.Out) { // a job that exists has its own settings
			d.set()
		}
	}
	if c.NoExternal {
		x.Scope.Beyond = 0
	}
	cfg.Links, cfg.Archive = true, true
	return cfg, nil
}

// print checks a job and writes the result.
func (c *checkCmd) print(a *app, r *job.Reader, taken bool) error {
	res, err := check.Job(context.Background(), r)
	if err != nil {
		return err
	}
	m, err := r.Manifest()
	if err != nil {
		return err
	}
	if m.Finish != crawler.FinishDone {
		res.Notes = append(res.Notes, "not the whole site: "+c.unfinished(r, m))
	}
	if n := len(m.Runs); n > 0 && m.Runs[n-1].NotShared != "" {
		res.Notes = append(res.Notes, "hosts were shared with no other process: "+m.Runs[n-1].NotShared)
	}
	text := io.Writer(a.out)
	if taken {
		text = a.err
	}
	if !taken || !c.Quiet {
		if err := res.WriteText(text, c.All); err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
	}
	if c.JSON {
		if err := res.WriteJSON(a.out); err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
	}
	for f, write := range map[*formatFile]func(io.Writer) error{
		&c.SARIF: func(w io.Writer) error { return res.WriteSARIF(w, crawler.Version) },
		&c.JUnit: res.WriteJUnit,
	} {
		if err := f.write(a.out, write); err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
	}
	if res.Broken() > 0 {
		return cli.Exit(cli.ExitBroken, nil)
	}
	return nil
}

// unfinished explains why a crawl has not seen the whole site.
func (c *checkCmd) unfinished(r *job.Reader, m *job.Manifest) string {
	rep, err := r.Report()
	if err != nil || m.Finish == "" {
		return "the crawl has not ended"
	}
	if m.Finish.Limit() {
		return fmt.Sprintf("the limit %s ended the crawl with %s left", report.LimitName(m.Finish), cli.Plural(rep.Left, "URL"))
	}
	return fmt.Sprintf("the crawl was stopped with %s left", cli.Plural(rep.Left, "URL"))
}

// write writes a format to its file, or to stdout.
func (f *formatFile) write(stdout io.Writer, write func(io.Writer) error) error {
	if !f.given {
		return nil
	}
	if f.path == "" {
		return write(stdout)
	}
	file, err := os.Create(f.path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
