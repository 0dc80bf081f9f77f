package main

import (
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/status"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// statusCmd is "amble status".
type statusCmd struct {
	Dir  string `arg:"" type:"job" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
	Most int    `default:"20" placeholder:"N" help:"Show this many hosts, those that take longest first; 0: all (${default})."`
	JSON bool   `help:"Print one JSON object, with all hosts that have URLs left."`
}

// Help returns the beginning of the command's help.
func (*statusCmd) Help() string {
	return `Examples:

	amble status job
	watch -n 10 amble status job
	amble status --json job | jq '.waiting[] | select(.waits == "retry_after")'

Says of a running, killed or finished crawl what is done, which hosts have URLs left, what each of them waits
for and until when, and what decides when the crawl can end. The job directory is only read, and a process that
works on it is not disturbed; what it did in the last moments may be missing.`
}

// Run executes the command.
func (c *statusCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	s, err := status.Of(r, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(a.out, s)
	}
	_, err = a.out.Write([]byte(s.Text(c.Most)))
	return err
}
