package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// crawlCmd is "amble crawl".
type crawlCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	crawlFlags

	Plan            bool `group:"Output:" help:"Do not crawl: say how long the crawl takes at least, and what decides it. Only robots.txt and the sitemaps it names are read; a host without a sitemap counts as --max-per-host pages."`
	planFlags       `group:"Output:"`
	clusterJobFlags `group:"Cluster:"`

	Fresh       bool `group:"Output:" help:"With -o: only begin a new crawl, in a directory that is empty or not there yet."`
	PrintConfig bool `group:"Output:" help:"Print every value, also of the keys that are seldom needed, and where it came from, and stop."`
	Commented   bool `group:"Output:" help:"With --print-config: as a job file that explains every key, those with their default as comments."`
}

// crawlFlags describe a crawl. Their names are the same as the keys of the job file.
type crawlFlags struct {
	configFlag `group:"Who crawls:"`

	Seeds string `short:"i" group:"What:"`
	kong.Plugins
	joinFlags `group:"Cluster:"`

	Out         string `short:"o" group:"Output:"`
	NoKeep      bool   `group:"Output:"`
	FailOnLimit bool   `group:"Output:"`
	view.Flags  `group:"Output:"`
	liveFlags   `group:"Output:"`

	named string // name of the kept crawl; "" if --out gave a directory
}

// configFlag names the job file.
type configFlag struct {
	Config string `placeholder:"FILE" help:"Job file (YAML): these flags' names as keys."`
}

// Help returns the beginning of the command's help.
func (*crawlCmd) Help() string {
	return `Examples:

	amble crawl --contact me@university.edu https://site.to.crawl/ >visits.jsonl
	amble crawl --contact me@university.edu -o job https://site.to.crawl/docs/
	amble crawl --config job.yaml -i seeds.txt --max-time 1h --fail-on-limit
	amble crawl --contact me@university.edu --plan https://site.to.crawl/

Without -o the crawl is kept in the state directory, under a name that is printed: "amble jobs" lists such
crawls. With -o the same command resumes a crawl that did not end, and says so of one that did.

Exit codes: 0 done, 2 usage, 3 nothing fetched, 4 too many failed, 5 limit (with --fail-on-limit) or disk
nearly full, 6 output, 8 a bot wall answers for a seed, 130 or 143 interrupted. A limit of none is no limit.

--help-all lists the other flags, --print-config --commented explains all.`
}

// Run executes the command.
func (c *crawlCmd) Run(a *app, o *keyflags.Origins) error {
	if c.PrintConfig || c.Commented {
		return a.printConfig(c, o)
	}
	seeds, err := operator.Seeds(o, c.URLs, c.Seeds, a.in)
	if err != nil {
		return err
	}
	if c.Plan {
		return c.plan(a, o, seeds, 0, c.JSON)
	}
	if c.Job != "" {
		return c.createOnCluster(a, o, seeds)
	}
	cfg, err := c.config(o, seeds)
	if err != nil {
		return err
	}
	v := a.view(c.Flags)
	switch {
	case !c.keeps():
		return c.unkept(a, v, &cfg, seeds)
	case c.Out == "":
		return c.keptByName(a, v, &cfg, seeds)
	}
	if c.Fresh {
		if err := checkFresh(c.Out); err != nil {
			return err
		}
	}
	theirs := o.JobConfig() // only the settings that come from the job require trust in the job's maker
	if err := job.CheckMaker(c.Out, &theirs); err != nil {
		return err
	}
	return c.kept(a, v, &cfg, seeds, func(cfg job.Config) (*job.Job, error) { return job.Start(c.Out, cfg, operator.Texts(seeds)...) })
}

// printConfig only writes the configuration, and crawls nothing.
func (a *app) printConfig(c *crawlCmd, o *keyflags.Origins) error {
	urls := job.Setting{Values: c.URLs, Origin: "flag"}
	if len(urls.Values) == 0 {
		urls, _, _ = o.File().Get(job.KeyURLs)
	}
	text := o.Settings().YAML(urls)
	if c.Commented {
		text = o.Settings().Commented(urls)
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}

// config returns the crawl that the flags describe. The error describes all invalid flags.
func (c *crawlFlags) config(o *keyflags.Origins, seeds []weburl.URL) (job.Config, error) {
	cfg, err := o.Config()
	if c.keeps() && o.Given("accept") && !o.Given("format") && !job.Holds(c.Out) {
		cfg.Archive = true // an operator who selects files by type wants an archive of their contents
	}
	_, idErr := operator.Identity(&cfg.Crawl, seeds)
	return cfg, firstUsage(idErr, err, checkScope(&cfg, o), openfiles.Check(openfiles.Limit()), c.check(),
		cli.Refuse(cfg.KeepCookies && !c.keeps(), "--cookies=keep needs a directory: name one with --out"),
		cli.Refuse(cfg.Store != "" && !c.keeps(), "--store needs a directory for the local copies: name one with --out"),
		cli.Refuse(cfg.Store == "" && cfg.KeepLocal > 0, "--keep-local limits the local copies of stored files: give --store, too"),
		cli.Refuse(cfg.Text && !c.keeps(), "--text: texts need a directory: name one with --out"),
		cli.Refuse(cfg.Archive && !c.keeps(), "--archive: an archive needs a directory: name one with --out"))
}

// checkScope returns an error for a crawl of arbitrary hosts if the operator has set no limit.
func checkScope(c *job.Config, o *keyflags.Origins) error {
	limits := &c.Crawl.Limits
	if c.Crawl.Scope.Kind != crawler.ScopeAny {
		return nil
	}
	bounded := o.Given("max-pages") && limits.Pages > 0 || limits.Bytes > 0 || limits.Time > 0
	return cli.Refuse(!bounded, "--scope any needs an explicit limit: give --max-pages, --max-bytes or --max-time")
}

// checkFresh returns an error for a directory that is not empty.
func checkFresh(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	return cli.Refuse(len(entries) > 0, "--fresh: directory %s is not empty: name another one, or leave --fresh out to resume the crawl in it", dir)
}

// keeps reports whether the crawl is kept in a directory. With --quiet, it is kept only if --out names one: otherwise jobs that the user
// does not know of would pile up.
func (c *crawlFlags) keeps() bool { return c.Out != "" || !c.NoKeep && !c.Quiet }

// keptByName runs a crawl that is kept in the state directory, and also writes its visits to stdout. If the state directory cannot be used,
// the crawl is not kept.
func (c *crawlFlags) keptByName(a *app, v *view.View, cfg *job.Config, seeds []weburl.URL) error {
	dir, err := kept.New(cfg.State, seeds[0])
	switch {
	case err != nil && (cfg.Archive || cfg.KeepCookies || cfg.Links || cfg.Text):
		return cli.Exit(cli.ExitOutput, fmt.Errorf("the state directory cannot be used: %w; name a directory with --out", err))
	case err != nil:
		v.Tell("the crawl is not kept, because the state directory cannot be used: %v; -o DIR names another one", err)
		return c.unkept(a, v, cfg, seeds)
	}
	c.Out, c.named = dir, kept.Name(dir)
	lines := terminal.NewBurst(a.out)
	if !v.ShowsPages() {
		cfg.Also = []sink.Sink{sink.NewJSONL(lines)}
	}
	err = c.kept(a, v, cfg, seeds, func(cfg job.Config) (*job.Job, error) {
		j, err := job.Create(dir, cfg, operator.Texts(seeds)...)
		if err == nil {
			v.Tell("the crawl is kept as %s; amble jobs lists what is kept", c.named)
		}
		return j, err
	})
	if closed := lines.Close(); err == nil {
		err = closed
	}
	if !begun(dir) {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// begun reports whether a job has begun in a directory, even if it cannot be read now.
func begun(dir string) bool { return !errors.Is(findManifest(dir), fs.ErrNotExist) }

// findManifest returns the reason why the manifest of a job in a directory cannot be seen, nil if it can.
func findManifest(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, "manifest.json"))
	return err
}

// unkept runs a crawl that only writes its visits to stdout.
func (c *crawlFlags) unkept(a *app, v *view.View, cfg *job.Config, seeds []weburl.URL) error {
	cfg.Note = v.Note
	leave, err := c.join(cfg, v.Tell)
	if err != nil {
		return err
	}
	defer leave()
	x, err := a.unkeptCrawler(cfg, seeds)
	if err != nil {
		return err
	}
	lines := terminal.NewBurst(a.out)
	if !v.ShowsPages() {
		x.Sinks = []sink.Sink{sink.NewJSONL(lines)}
	}
	restrain(v, &x)
	end, err := a.crawl(&crawlJob{
		view: v, cfg: x, seeds: seeds, pages: v.ShowsPages(), open: inMemory(seeds), watch: c.liveFlags, job: cfg,
		advice: "nothing is kept but what was printed: without --no-keep a crawl can be resumed, and has a report",
	})
	if end != nil && end.Rejected > 0 {
		v.Tell("the queue in memory was full: without --no-keep it is on disk")
	}
	if closed := lines.Close(); err == nil {
		err = closed
	}
	return c.verdict(cfg, end, err)
}
