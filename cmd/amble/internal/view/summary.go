package view

import (
	"encoding/json"
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
)

// Summary prints the result of the crawl. how says how the crawl ended, if that is not in its report; err is the error that ended it, or
// nil. If JSON is requested, the summary goes to stdout, unless results are written there.
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
