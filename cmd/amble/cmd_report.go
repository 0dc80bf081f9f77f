package main

import (
	"io"

	"github.com/amble-crawler/amble/internal/view"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/report"
)

// reportCmd is "amble report".
type reportCmd struct {
	Dir   string `arg:"" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
	JSON  bool   `help:"Print the report as JSON."`
	Color string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour: auto, always or never (${default})."`
}

// Help returns the beginning of the command's help.
func (*reportCmd) Help() string {
	return `Examples:

	amble report job
	amble report --json job | jq .outcomes
	amble report job && xdg-open job/report.html

Prints the summary of a crawl again, and writes report.html into the job directory: every request and
every pause, the outcome of each URL and why, what kind of sample it is. The page needs nothing but itself.
hosts.csv and problems.csv beside it have what does not fit on it.

datasheet.md and datasheet.json say what others must know before they use the data: frame, bounds, order,
who and when, what was not seen and why, what it cost the sites. What only you can say is marked: fill it
in, and run the command again. SHA256SUMS has the hashes of all files, which amble verify checks.`
}

// Run executes the command.
func (c *reportCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // the page is durable once it is written
	if _, err := r.Manifest(); err != nil {
		return err
	}
	rep, err := r.Report()
	if err != nil {
		return err
	}
	if c.JSON {
		err = printReport(a.out, r)
	} else {
		v := a.view(view.Flags{Color: c.Color})
		_, err = a.out.Write([]byte(v.Emphasized(report.Text(rep, "", nil))))
	}
	if err != nil {
		return err
	}
	return report.Write(r)
}

func printReport(w io.Writer, r *job.Reader) error {
	b, err := r.ReportJSON()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
