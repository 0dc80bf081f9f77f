package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/status"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// showCmd is "amble show".
type showCmd struct {
	Dir   string `arg:"" type:"job" name:"job" help:"Job directory, or the name of a kept job."`
	Most  int    `default:"20" placeholder:"N" help:"Show this many hosts that have URLs left, those that take longest first; 0: all (${default})."`
	Since string `type:"job" placeholder:"JOB" help:"Say instead which pages are new, changed, moved or gone since this earlier crawl."`
	JSON  bool   `help:"Print one JSON object: status, report and verified; with --since one for each page."`
	Page  bool   `help:"Of a crawl that runs or was killed: write the page, too, into a directory beside the job."`
	Color string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour: auto, always or never (${default})."`

	Listen string `placeholder:"ADDR" help:"Show the crawl on a page at this address until Ctrl-C, read only. loopback:0 is any free port of a random address of 127.0.0.0/8, or of 127.0.0.1 if the system has no others."`
}

// Help returns the beginning of the command's help.
func (*showCmd) Help() string {
	return `Examples:

	amble show job
	watch -n 10 amble show job
	amble show tuesday --since monday | grep ^gone
	amble show --listen loopback:8400 job

Prints the state of a crawl, its results, and one line that says whether it was polite and its files are whole: amble verify has details.
Of a crawl that runs, was stopped or killed it lists the hosts that have URLs left, and what each waits for.

Of a crawl that has ended it writes report.html into the job directory: every request and every pause, the outcome of each
URL and why. hosts.csv and problems.csv beside it have what does not fit on it, datasheet.md and datasheet.json what
others must know before they use the data: what only you can say is marked in them. SHA256SUMS has the hashes of all files.
Nothing is written into a job that runs or was killed: with --page the page goes to a directory beside it, job-report.

With --since each page that is not the same in both crawls has a line, which begins with:

	new           the first crawl looked everywhere, and it was not there
	changed       its content differs
	moved         it redirects now, or its content is at another address
	gone          the site says that it does not exist: 404 or 410
	unlinked      no link leads there any more; the page may still exist
	not_compared  one crawl did not look at it, or could not have: why

Counts go to stderr.`
}

// verified is the result of verifying a job, in short form.
type verified struct {
	Requests   int    `json:"requests"`
	Violations int    `json:"violations"`
	Damaged    int    `json:"damaged_files"`
	Wrong      string `json:"wrong,omitempty"` // "" if there is no fault
}

// Run executes the command.
func (c *showCmd) Run(a *app) error {
	if c.Since != "" {
		return a.printDiff(c.Since, c.Dir, c.JSON)
	}
	if c.Listen != "" {
		return showPage(a, c.Dir, c.Listen)
	}
	r, err := job.Read(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // the job was only read, and the page is durable once written
	s, err := status.Of(r, time.Now())
	if err != nil {
		return err
	}
	s.Dir = kept.Name(s.Dir)
	var check *verified
	if s.State != status.Running { // a running process has data that is not committed yet, which would count as damage
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
	summary, ended, write, err := summarize(r, c.Dir)
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
	v := a.view(view.Flags{Messages: view.Messages{Color: c.Color}})
	if _, err = fmt.Fprint(a.out, v.Emphasized(standing), summary); err != nil || !ended && !c.Page {
		return err
	}
	page, err := write()
	switch {
	case err == nil:
		_, err = fmt.Fprintf(a.out, "page: %s\n", cli.Printable(page))
	case !c.Page && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)): // the job of another user, or a copy on a read-only disk
		v.Tell("the page stays as it was: %v", err)
		err = nil
	}
	return err
}

// verifyShort verifies a job, and returns a short result.
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
	return fmt.Sprintf("verified: %s, none too early, none forbidden; its files are unchanged\n", cli.Plural(v.Requests, "request"))
}
