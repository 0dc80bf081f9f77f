package main

import (
	"encoding/json"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// reportSchema names the version of report's form. It changes when a field changes its meaning or
// goes; new fields do not change it.
const reportSchema = "amble.report/1"

// report is the summary of a crawl as --json prints it and report.json holds it.
type report struct {
	Schema   string                  `json:"schema"`
	Started  time.Time               `json:"started"`
	Ended    time.Time               `json:"ended"`
	Seconds  float64                 `json:"seconds"`
	Finish   crawler.Finish          `json:"finish"`
	Error    string                  `json:"error,omitempty"`
	Pages    int                     `json:"pages"`
	Requests int                     `json:"requests"`
	Bytes    int64                   `json:"bytes"`
	Hosts    int                     `json:"hosts"`
	Left     int                     `json:"left"`
	Outcomes map[crawler.Outcome]int `json:"outcomes"`
	Reasons  map[string]int          `json:"reasons"`
	Statuses map[int]int             `json:"statuses"`
	Types    map[string]int          `json:"types"`
	Links    map[crawler.Fate]int    `json:"links"`
	Sitemaps []string                `json:"sitemaps"`
}

func newReport(e *ending, err error) *report {
	r := &report{
		Schema: reportSchema, Started: e.Started.UTC(), Ended: e.Ended.UTC(), Seconds: e.Ended.Sub(e.Started).Seconds(),
		Finish: e.Finish, Pages: e.Pages, Requests: e.Requests, Bytes: e.Bytes, Hosts: e.Hosts, Left: e.Left,
		Outcomes: e.Outcomes, Reasons: e.Reasons, Statuses: e.Statuses, Types: e.Types, Links: e.Links,
		Sitemaps: e.Sitemaps,
	}
	if r.Sitemaps == nil {
		r.Sitemaps = []string{}
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// line is the report as one line of JSON.
func (r *report) line() []byte {
	b, err := json.Marshal(r)
	if err != nil { // strings, numbers and times alone
		panic(err)
	}
	return b
}
