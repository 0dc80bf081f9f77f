package main

import (
	"encoding/json"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/politeness"
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
	Runs     int                     `json:"runs"` // processes that worked on it
	Finish   crawler.Finish          `json:"finish"`
	Error    string                  `json:"error,omitempty"`
	Pages    int                     `json:"pages"`
	Requests int                     `json:"requests"`
	Retries  int                     `json:"retries"`
	Bytes    int64                   `json:"bytes"`
	Hosts    int                     `json:"hosts"`
	Left     int                     `json:"left"`
	Rejected int                     `json:"rejected,omitempty"` // URLs for which the queue had no room
	Outcomes map[crawler.Outcome]int `json:"outcomes"`
	Reasons  map[string]int          `json:"reasons"`
	Statuses map[int]int             `json:"statuses"`
	Types    map[string]int          `json:"types"`
	Links    map[crawler.Fate]int    `json:"links"`
	Sitemaps []string                `json:"sitemaps"`

	Connections  int     `json:"connections"`
	Same         int     `json:"same_body"`
	Near         int     `json:"near_duplicates,omitempty"`
	Noncanonical int     `json:"noncanonical"`
	BoundSeconds float64 `json:"bound_s"`            // the least time the crawl could have taken
	BoundBy      string  `json:"bound_by,omitempty"` // the host or address that sets it

	Overrides []politeness.Override `json:"overrides,omitempty"` // robots.txt files that were replaced, and why
}

func newReport(e *ending, err error) *report {
	r := &report{
		Schema: reportSchema, Started: e.Started.UTC(), Ended: e.Ended.UTC(), Seconds: e.Elapsed.Seconds(),
		Runs: e.Runs, Finish: e.Finish, Pages: e.Pages, Requests: e.Requests, Retries: e.Retries, Bytes: e.Bytes, Hosts: e.Hosts, Left: e.Left, Rejected: e.Rejected,
		Outcomes: e.Outcomes, Reasons: e.Reasons, Statuses: e.Statuses, Types: e.Types, Links: e.Links,
		Sitemaps: e.Sitemaps, Connections: e.Connections, Same: e.Same, Near: e.Near, Noncanonical: e.Noncanonical,
		BoundSeconds: e.Bound.Seconds(), BoundBy: e.BoundBy, Overrides: e.Overrides,
	}
	if r.Sitemaps == nil {
		r.Sitemaps = []string{}
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// ending is the end of the crawl that the report sums up.
func (r *report) ending() *ending {
	return &ending{Report: &crawler.Report{
		Started: r.Started, Ended: r.Ended, Elapsed: crawler.Duration{Duration: time.Duration(r.Seconds * float64(time.Second))}, Runs: r.Runs, Finish: r.Finish, Pages: r.Pages, Requests: r.Requests, Retries: r.Retries, Bytes: r.Bytes,
		Hosts: r.Hosts, Left: r.Left, Rejected: r.Rejected, Outcomes: r.Outcomes, Reasons: r.Reasons, Statuses: r.Statuses, Types: r.Types,
		Links: r.Links, Sitemaps: r.Sitemaps, Connections: r.Connections, Same: r.Same, Near: r.Near, Noncanonical: r.Noncanonical,
		Bound: crawler.Duration{Duration: time.Duration(r.BoundSeconds * float64(time.Second))}, BoundBy: r.BoundBy, Overrides: r.Overrides,
	}}
}

// line is the report as one line of JSON.
func (r *report) line() []byte {
	b, err := json.Marshal(r)
	if err != nil { // strings, numbers and times alone
		panic(err)
	}
	return hidden.Escape(b)
}
