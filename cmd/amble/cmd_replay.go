package main

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/replay"
)

// replayCmd is "amble replay".
type replayCmd struct {
	Dir  string `arg:"" type:"job" name:"dir" help:"Job directory of a crawl with an archive (--archive)."`
	JSON bool   `help:"Print the result as JSON."`
}

// Help returns the beginning of the command's help.
func (*replayCmd) Help() string {
	return `Examples:

	amble replay job
	amble replay --json job | jq -r '.differences[].url'
	amble replay job >check.txt || tail check.txt

Makes the whole crawl again from the answers in its archive, without a request and without waiting: each
robots.txt is obeyed, each page parsed, each link judged as then. Every visit is compared with the one in
visits.jsonl, except for times and for what only the network of then could decide. A visit that differs is
named, with what it was and what it is. Exit code 6 if one does.`
}

// Run executes the command.
func (c *replayCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	res, err := replay.Run(context.Background(), r)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(a.out, res)
	} else {
		err = tellReplay(a, res)
	}
	if err == nil && res.Differ > 0 {
		err = cli.Exit(cli.ExitOutput, fmt.Errorf("%s not what the archive of %s gives", cli.Plural(res.Differ, "visit"), c.Dir))
	}
	return err
}

// maxTold limits the number of printed differences.
const maxTold = 100

func tellReplay(a *app, res *replay.Result) error {
	for _, c := range res.Changes[:min(maxTold, len(res.Changes))] {
		if _, err := fmt.Fprintf(a.out, "differs: %s\n", cli.Printable(c.String())); err != nil {
			return err
		}
	}
	if more := len(res.Changes) - maxTold; more > 0 {
		fmt.Fprintf(a.out, "and %d more fields: --json has them\n", more)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(a.out, "note: %s\n", cli.Printable(n))
	}
	_, err := fmt.Fprintln(a.out, res.Text())
	return err
}
