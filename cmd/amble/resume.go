package main

import (
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// resumeCmd is "amble resume".
type resumeCmd struct {
	Dir string `arg:"" name:"dir" help:"Job directory that \"amble crawl -o\" made."`

	Retry words `placeholder:"OUTCOMES" help:"Try again the URLs that ended so: deferred, failed or both (deferred,failed). Pages whose connection broke (cut_short) are failed ones here. Each has a further line in visits.jsonl then."`

	crawlFlags
}

// Help is the beginning of the command's help.
func (*resumeCmd) Help() string {
	return `Examples:

	amble resume job
	amble resume job --max-pages 50000
	amble resume job -w 5s --format jsonl,warc
	amble resume job --retry deferred,failed

Goes on with a crawl that was stopped, killed, or ended by a limit, with the settings in its job.yaml.
Hosts that were given up are left alone unless --retry says otherwise. Limits and outputs may be changed by flags, pauses be made longer; the manifest keeps what was changed.
What decided about URLs that were found before (scope, agent, rules, depth) stays.`
}

// Run executes the command.
func (c *resumeCmd) Run(a *app, o *origins) error {
	m, err := readManifest(c.Dir)
	if err != nil {
		return err
	}
	if m == nil {
		if err := checkJobDir(c.Dir); err != nil {
			return err
		}
		return cli.Usage("directory %s holds no crawl: begin one with: amble crawl -o %s URL", c.Dir, cli.ShellWord(c.Dir))
	}
	if !holdsJob(c.Dir) {
		return cli.Usage("job %s was killed before its first request: begin it again with the same command", c.Dir)
	}
	for _, outcome := range c.Retry {
		if outcome != string(crawler.Deferred) && outcome != string(crawler.Failed) {
			return cli.Usage("--retry %s: want deferred, failed or both", outcome)
		}
	}
	c.Out = c.Dir
	seeds, err := c.seeds(nil, o, a.in)
	if err != nil {
		return err
	}
	cfg, err := c.crawlerConfig(o, seeds)
	if err != nil {
		return err
	}
	return c.durable(a, o, cfg, seeds, durably{retry: c.Retry})
}
