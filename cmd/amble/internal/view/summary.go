package view

import (
	"encoding/json"
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
)

// Summary prints the outcome of the crawl: how says how it ended, if its report cannot know, and err is the error that ended it, if
// anything did. As JSON it goes to stdout if that is free of results.
func (v *View) Summary(rep *crawler.Report, how string, err error, stdoutFree bool) {
	line := job.ReportJSON(rep, err)
	switch {
	case v.flags.JSON && stdoutFree:
		fmt.Fprintf(v.out, "%s\n", line)
	case v.flags.JSON:
		fmt.Fprintf(v.screen, "%s\n", line)
	case v.flags.Quiet:
	case v.flags.LogFormat == "json":
		v.log.Info("summary", "report", json.RawMessage(line))
	default:
		v.screen.Print(report.Text(rep, how, nil))
	}
}
