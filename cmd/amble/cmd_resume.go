package main

import (
	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// resumeCmd is "amble resume".
type resumeCmd struct {
	Dir string `arg:"" type:"resumed" name:"dir" help:"Job directory that \"amble crawl -o\" made, or the URL of its store."`

	Retry keyflags.Words `placeholder:"OUTCOMES" help:"Try again the URLs that ended so: deferred, failed or both (deferred,failed). Pages whose connection broke (cut_short) are failed ones here. Each has a further line in visits.jsonl then."`

	Trust bool `help:"Resume a job that another user or another machine made, with the variables, files and browser that its settings name."`

	crawlFlags
}

// Help returns the beginning of the command's help.
func (*resumeCmd) Help() string {
	return `Examples:

	amble resume job
	amble resume job --max-pages 50000
	amble resume job --retry deferred,failed
	amble resume s3://bucket/prefix

Resumes a crawl that was stopped, killed, or ended by a limit, with the settings in its job.yaml.
A job that another user or another machine made is resumed with --trust only, if its settings name variables, files or a browser.
Hosts that were given up are left alone unless --retry says otherwise. Limits and outputs may be changed by flags, pauses be made longer; the manifest keeps what was changed.
With the URL of its store (--store) a job goes on from there in a new directory, which is printed; the old one is refused from then on.
What decided about URLs that were found before (scope, agent, rules, depth) stays.`
}

// Run executes the command.
func (c *resumeCmd) Run(a *app, o *keyflags.Origins) error {
	c.Out = c.Dir
	v := a.view(c.Flags)
	if a.ended != nil {
		v.Tell("%v%s", a.ended, remedy(a.ended))
		return nil //nolint:nilerr // there is nothing to do
	}
	if a.restored != "" {
		v.Tell("the job in %s goes on in %s", a.restored, kept.Name(c.Dir))
	}
	if !job.Holds(c.Dir) {
		_, err := job.Open(c.Dir) // the error describes what is wrong with the directory
		return err
	}
	seeds, err := operator.Seeds(o, nil, c.Seeds, a.in)
	if err != nil {
		return err
	}
	cfg, err := c.config(o, seeds)
	if err != nil {
		return err
	}
	if a.restored != "" {
		cfg.Store = a.restored
	}
	if !c.Trust {
		theirs := cfg
		if a.restored != "" {
			theirs.Store = "" // the store needs no trust: the operator named it
		}
		if err := job.CheckMaker(c.Dir, &theirs); err != nil {
			return err
		}
	}
	var retry []crawler.Outcome
	for _, outcome := range c.Retry {
		retry = append(retry, crawler.Outcome(outcome))
	}
	return c.kept(a, v, &cfg, seeds, func(cfg job.Config) (*job.Job, error) { return job.Resume(c.Dir, cfg, operator.Texts(seeds), retry...) })
}
