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

	amble show tuesday --since monday
	amble show tuesday --since monday | grep ^gone
	amble show --json tuesday --since monday
`
}

// Run executes the command.
func (c *diffCmd) Run(a *app) error { return a.printDiff(c.Job1, c.Job2, c.JSON) }

// printDiff prints the pages that differ between two crawls.
func (a *app) printDiff(earlier, later string, asJSON bool) error {
	first, err := job.Read(earlier)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }() // opened only for reading
	second, err := job.Read(later)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close() }() // opened only for reading
	short := a.shorten(len("not_compared  "))
	counts, err := diff.Compare(first, second, func(x *diff.Change) error {
		if asJSON {
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
