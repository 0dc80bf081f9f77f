package job

import (
	"encoding/json"
	"slices"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job/digest"
)

// reportSchema is the version of the report's format. It changes when a field changes its meaning or is removed, but not for new fields.
const reportSchema = "amble.report/1"

// reportFile is the content of report.json.
type reportFile struct {
	Schema string `json:"schema"`
	*crawler.Report
	Error     string       `json:"error,omitempty"`
	State     string       `json:"state,omitempty"`      // state of a job that has not ended
	ByHost    []digest.Row `json:"by_host,omitempty"`    // sorted by requests, largest first
	MoreHosts int          `json:"more_hosts,omitempty"` // number of hosts that are not in ByHost
}

// lostBefore reports whether an earlier process was killed or failed, so that requests may be without a visit.
func (j *Job) lostBefore() bool {
	j.recording.Lock()
	defer j.recording.Unlock()
	earlier := j.manifest.Runs[:len(j.manifest.Runs)-1]
	return slices.ContainsFunc(earlier, func(r Run) bool { return r.Ended.IsZero() || r.Finish == crawler.FinishError })
}

// ReportJSON returns a report in the format of report.json: one line. err is the error that ended the crawl, or nil.
func ReportJSON(rep *crawler.Report, err error) []byte { return reportJSON(rep, nil, "", err) }

// reportJSON is like ReportJSON, and adds the facts about each host and the state of a job that has not ended.
func reportJSON(rep *crawler.Report, facts *digest.Facts, state string, err error) []byte {
	r := *rep
	r.Started, r.Ended = r.Started.UTC(), r.Ended.UTC()
	if r.Sitemaps == nil {
		r.Sitemaps = []string{}
	}
	f := reportFile{Schema: reportSchema, Report: &r, State: state}
	if err != nil {
		f.Error = err.Error()
	}
	if facts != nil {
		f.MoreHosts = facts.MoreHosts
		for i := range facts.Hosts {
			f.ByHost = append(f.ByHost, facts.Hosts[i].Row())
		}
	}
	b, err := json.Marshal(f)
	if err != nil { // marshalling strings, numbers and times cannot fail
		panic(err)
	}
	return hidden.Escape(b)
}

// writeReport writes the report of the whole job. From the ledger it adds requests that killed or failed processes made and did not
// commit, and time lost to other crawls. If ledger or visits cannot be read, which Verify explains, the report lacks these and the
// facts about each host.
func (j *Job) writeReport(rep *crawler.Report) error {
	facts, err := (&Reader{dir: j.dir, files: j.files}).Facts()
	if err != nil {
		facts = nil
	} else {
		rep.LostToOthers.Duration = facts.Total.LostToOthers
		if j.lostBefore() {
			rep.Lost = max(0, facts.Total.Requests-rep.Requests)
			rep.Requests += rep.Lost
		}
	}
	return outputError(j.files.replace(reportName, append(reportJSON(rep, facts, "", nil), '\n')))
}

// ReportJSON returns the contents of the job's report.json. For a job that is [Manifest.Unfinished] it makes a report, with a member
// "state".
func (r *Reader) ReportJSON() ([]byte, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	if m.Unfinished() {
		in, err := r.Interim(m)
		if err != nil {
			return nil, err
		}
		return append(reportJSON(in.Report, in.Facts, r.Standing(m), nil), '\n'), nil
	}
	if _, err := r.Report(); err != nil {
		return nil, err
	}
	b, err := r.files.read(reportName)
	return b, readError(err)
}

// Report returns the report of the last process that ended normally.
func (r *Reader) Report() (*crawler.Report, error) {
	b, err := r.files.read(reportName)
	if missingFile(err) {
		return nil, refusedAs(ErrNoReport, "job %s has no report yet: no process has come to its end", r.dir).in(r.dir)
	}
	if err != nil {
		return nil, readError(err)
	}
	f := reportFile{Report: new(crawler.Report)}
	if err := json.Unmarshal(b, &f); err != nil || f.Schema != reportSchema || f.Report == nil {
		return nil, refused("%s is not a report of the form %s", r.files.path(reportName), reportSchema)
	}
	return f.Report, nil
}
