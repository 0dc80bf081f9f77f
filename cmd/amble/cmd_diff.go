package main

import (
	"fmt"

	"github.com/amble-crawler/amble/cmd/amble/internal/diff"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// diffCmd is "amble diff".
type diffCmd struct {
	Job1 string `arg:"" type:"job" name:"job1" help:"Job directory of the earlier crawl."`
	Job2 string `arg:"" type:"job" name:"job2" help:"Job directory of the later crawl."`
	JSON bool   `help:"Print one JSON object per page."`
}

// Help returns the beginning of the command's help.
func (*diffCmd) Help() string {
	return `Examples:

	amble diff monday tuesday
	amble diff monday tuesday | grep ^gone
	amble diff --json monday tuesday | jq -r 'select(.change == "new").url'

Each page that is not the same in both crawls has a line, which begins with:

	new           the first crawl looked everywhere, and it was not there
	changed       its content differs
	moved         it redirects now, or its content is at another address
	gone          the site says that it does not exist: 404 or 410
	unlinked      no link leads there any more; the page may still exist
	not_compared  one crawl did not look at it, or could not have: why

The counts go to stderr. Exit code: 0, whatever the difference.`
}

// Run executes the command.
func (c *diffCmd) Run(a *app) error {
	first, err := job.Read(c.Job1)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }() // only read
	second, err := job.Read(c.Job2)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }() // likewise
	short := a.shorten(len("not_compared  "))
	counts, err := diff.Compare(first, second, func(x *diff.Change) error {
		if c.JSON {
			return cli.PrintJSON(a.out, x)
		}
		_, err := fmt.Fprintln(a.out, x.Text(short))
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.err, counts.Text())
	return nil
}
