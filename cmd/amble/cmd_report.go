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
	defer func() { _ = r.Close() }() // the job was only read, and the page is durable once written
	text, ended, write, err := summarize(r, c.Dir)
	if err != nil {
		return err
	}
	v := a.view(view.Flags{Messages: view.Messages{Color: c.Color}})
	if c.JSON {
		err = printReport(a.out, r)
	} else {
		_, err = a.out.Write([]byte(v.Emphasized(text)))
	}
	if err != nil || c.JSON && !ended {
		return err
	}
	page, err := write()
	if err == nil && !ended {
		v.Tell("the page is %s: nothing is written into the job before its crawl has ended", page)
	}
	return err
}

// summarize returns the summary of a job, and a function that writes its page and returns the page's path. The page is in the job's
// directory if the crawl has ended, otherwise beside it.
func summarize(r *job.Reader, dir string) (text string, ended bool, write func() (page string, err error), err error) {
	m, err := r.Manifest()
	if err != nil {
		return "", false, nil, err
	}
	if m.Unfinished() {
		u, err := report.ReadUnfinished(r, reportCommands)
		if err != nil {
			return "", false, nil, err
		}
		if u != nil { // nil if the crawl has ended meanwhile
			return u.Text(), false, func() (string, error) {
				beside, err := filepath.Abs(dir)
				if err != nil {
					return "", err
				}
				beside += "-report"
				return filepath.Join(beside, job.PageName), u.WriteTo(beside)
			}, nil
		}
	}
	rep, err := r.Report()
	if err != nil {
		return "", false, nil, err
	}
	return report.Text(rep, "", nil), true, func() (string, error) {
		return filepath.Join(dir, job.PageName), report.Write(r, reportCommands)
	}, nil
}

func printReport(w io.Writer, r *job.Reader) error {
	b, err := r.ReportJSON()
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
