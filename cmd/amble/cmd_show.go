package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/status"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
)

// showCmd is "amble show".
type showCmd struct {
	Dir   string `arg:"" type:"job" name:"job" help:"Job directory, or the name of a kept job."`
	Most  int    `default:"20" placeholder:"N" help:"Show this many hosts that have URLs left, those that take longest first; 0: all (${default})."`
	JSON  bool   `help:"Print one JSON object: status, report and verified."`
	Page  bool   `help:"Of a crawl that runs or was killed: write the page, too, into a directory beside the job."`
	Color string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour: auto, always or never (${default})."`
}

// Help returns the beginning of the command's help.
func (*showCmd) Help() string {
	return `Examples:

	amble show job
	watch -n 10 amble show job
	amble show --json job | jq .report.outcomes

Says how a crawl stands, what came of it, and in one line whether it was polite and its files are whole; amble verify says more.
Of a crawl that runs, was stopped or killed it lists the hosts that have URLs left, and what each waits for.

Of a crawl that has ended it writes report.html into the job directory: every request and every pause, the outcome of each
URL and why. hosts.csv and problems.csv beside it have what does not fit on it, datasheet.md and datasheet.json what
others must know before they use the data: what only you can say is marked in them. SHA256SUMS has the hashes of all files.
Nothing is written into a job that runs or was killed: with --page the page goes to a directory beside it, job-report.`
}

// verified is what the verification of a job found, in short.
type verified struct {
	Requests   int    `json:"requests"`
	Violations int    `json:"violations"`
	Damaged    int    `json:"damaged_files"`
	Wrong      string `json:"wrong,omitempty"` // "" if nothing is
}

// Run executes the command.
func (c *showCmd) Run(a *app) error {
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // the page is durable once it is written
	s, err := status.Of(r, time.Now())
	if err != nil {
		return err
	}
	s.Dir = kept.Name(s.Dir)
	var check *verified
	if s.State != status.Running { // what a process has not committed yet would count as damage
		if check, err = verifyShort(c.Dir); err != nil {
			return err
		}
	}
	if c.JSON {
		b, err := r.ReportJSON()
		if err != nil {
			return err
		}
		return cli.PrintJSON(a.out, struct {
			Status   *status.Status  `json:"status"`
			Report   json.RawMessage `json:"report"`
			Verified *verified       `json:"verified,omitempty"`
		}{s, b, check})
	}
	summary, written, err := c.summary(r)
	if err != nil {
		return err
	}
	standing := s.Text(c.Most)
	if s.State == status.Done {
		standing, _, _ = strings.Cut(standing, "\n")
		standing += "\n"
	}
	if check != nil {
		summary += check.text(s.Dir)
	}
	if written {
		summary += "page: " + cli.Printable(filepath.Join(c.Dir, job.PageName)) + "\n"
	}
	_, err = fmt.Fprint(a.out, a.view(view.Flags{Color: c.Color}).Emphasized(standing), summary)
	return err
}

// summary returns the summary of a job. It writes the report as a page if the crawl has ended.
func (c *showCmd) summary(r *job.Reader) (text string, written bool, err error) {
	m, err := r.Manifest()
	if err != nil {
		return "", false, err
	}
	if m.Unfinished() {
		switch u, err := report.ReadUnfinished(r, reportCommands); {
		case err != nil:
			return "", false, err
		case u != nil && c.Page:
			dir, err := filepath.Abs(c.Dir)
			if err != nil {
				return "", false, err
			}
			return u.Text() + "page: " + cli.Printable(filepath.Join(dir+"-report", job.PageName)) + "\n", false, u.WriteTo(dir + "-report")
		case u != nil: // or it has ended meanwhile
			return u.Text(), false, nil
		}
	}
	rep, err := r.Report()
	if err != nil {
		return "", false, err
	}
	return report.Text(rep, "", nil), true, report.Write(r, reportCommands)
}

// verifyShort verifies a job, and returns the result in short.
func verifyShort(dir string) (*verified, error) {
	v, err := verifyJob(dir, nil)
	if err != nil {
		return nil, err
	}
	check := &verified{Damaged: v.Damaged()}
	if v.Report != nil {
		check.Requests, check.Violations = v.Requests, len(v.Violations)
	}
	if err := verdictOf(v); err != nil {
		check.Wrong = err.Error()
	}
	return check, nil
}

// text returns the result in one line.
func (v *verified) text(job string) string {
	if v.Wrong != "" {
		return fmt.Sprintf("verify: %s; for more: amble verify %s\n", cli.Printable(v.Wrong), cli.ShellWord(job))
	}
	return fmt.Sprintf("verified: %s, none too early and none forbidden; files as they were committed\n", cli.Plural(v.Requests, "request"))
}
