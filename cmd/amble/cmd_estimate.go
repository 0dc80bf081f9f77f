package main

import (
	"context"
	"errors"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/estimate"
)

// estimateCmd is "amble estimate".
type estimateCmd struct {
	Dir  string `arg:"" type:"job" name:"dir" help:"Job directory of a crawl with --sample."`
	Of   string `required:"" placeholder:"EXPR" help:"What to estimate: an expression in SQL over the columns of a visit. A condition gives a share; 1 counts pages."`
	By   string `placeholder:"COLUMN" help:"Estimate for each value of a column or expression."`
	JSON bool   `help:"Print the result as JSON."`
}

// Help returns the beginning of the command's help.
func (*estimateCmd) Help() string {
	return `Examples:

	amble crawl --contact me@university.edu --sample 100:2026 -o job -i sites
	amble estimate job --of "fetch_status = 404"
	amble estimate job --of bytes --by content_mime_type
	amble estimate job --of 1 --by content_mime_type --json

Estimates what is true of all pages that the sitemaps list, from the pages that were drawn of them
with a known probability: a share, a mean and a total, each with an interval of 95 percent. Pages
without an answer are counted apart, and those of the same site that answered stand for them.
Makes no request. Columns are those of the table visits in docs/reference.md, and how estimates
are made is in docs/research-crawls.md.`
}

// Run executes the command.
func (c *estimateCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	res, err := estimate.Run(ctx, r, estimate.Question{Of: c.Of, By: c.By})
	var wrong *estimate.ExpressionError
	switch {
	case errors.As(err, &wrong) && wrong.By:
		return cli.UsageOf("--by ", err)
	case errors.As(err, &wrong):
		return cli.UsageOf("--of ", err)
	case errors.Is(err, estimate.ErrNoSample):
		return cli.Usage("%s: %w: crawl with --sample N:SEED", c.Dir, err)
	case err != nil:
		return err
	case c.JSON:
		return outputError(cli.PrintJSON(a.out, res))
	}
	return outputError(res.WriteText(a.out))
}
