package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/report"
)

// summary prints the outcome of the crawl; err is what ended it, if anything did.
func (u *ui) summary(a *app, j *crawlJob, end *ending, err error) {
	line := job.ReportJSON(end.Report, err)
	switch {
	case u.flags.JSON && j.stdoutFree:
		fmt.Fprintf(a.out, "%s\n", line)
	case u.flags.JSON:
		fmt.Fprintf(lineWriter{u}, "%s\n", line)
	case u.flags.Quiet:
	case u.flags.LogFormat == "json":
		u.log.Info("summary", "report", json.RawMessage(line))
	default:
		fmt.Fprint(lineWriter{u}, report.Text(end.Report, end.how(err), u.bold))
	}
}

// how says how a crawl ended if its report cannot know; otherwise it returns "".
func (e *ending) how(err error) string {
	switch {
	case errors.Is(err, cli.ErrClosed):
		return "stdout was closed"
	case e.signal != 0:
		return "interrupted"
	}
	return ""
}
