package main

import (
	"io"
	"path/filepath"

	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
)

// reportCmd is "amble report".
type reportCmd struct {
	Dir   string `arg:"" type:"job" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
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
in, and run the command again. SHA256SUMS has the hashes of all files, which amble verify checks.

Of a crawl that runs or was killed, the summary and the page say so, and what they cover. Nothing is written
into such a job: page and lists go to a directory beside it, job-report. With --json only the summary is made.`
}

// Run executes the command.
func (c *reportCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // the page is durable once it is written
	if m, err := r.Manifest(); err != nil {
		return err
	} else if m.Unfinished() {
		return c.unfinished(a, r)
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
	return report.Write(r, reportCommands)
}

// unfinished reports on a job that runs or was killed. Nothing in its directory is changed.
func (c *reportCmd) unfinished(a *app, r *job.Reader) error {
	if c.JSON {
		return printReport(a.out, r)
	}
	u, err := report.ReadUnfinished(r, reportCommands)
	if err != nil {
		return err
	}
	if u == nil { // it has ended meanwhile
		return c.Run(a)
	}
	v := a.view(view.Flags{Color: c.Color})
	if _, err := a.out.Write([]byte(v.Emphasized(u.Text()))); err != nil {
		return err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	page := filepath.Join(dir+"-report", job.PageName)
	if err := u.WriteTo(filepath.Dir(page)); err != nil {
		return err
	}
	v.Tell("the page is %s: nothing is written into the job before its crawl has ended", page)
	return nil
}

func printReport(w io.Writer, r *job.Reader) error {
	b, err := r.ReportJSON()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
