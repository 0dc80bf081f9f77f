package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// story is what the files of a job tell of one URL.
type story struct {
	Dir      string       `json:"dir"`
	State    string       `json:"state"`           // where the URL is in its life
	Note     string       `json:"note,omitempty"`  // what could not be told, and why
	Chain    []found      `json:"chain"`           // from the seed to the URL
	Visit    *sink.Record `json:"visit,omitempty"` // nil without one
	Line     int          `json:"line,omitempty"`  // of the visit
	Requests []request    `json:"requests"`        // for the URL, and the last for its robots.txt

	rules rulesFile
}

// found is a URL of the chain that led from a seed to another.
type found struct {
	URL     string `json:"url"`
	How     string `json:"how"` // seed, link, redirect, or what else named it
	Depth   int    `json:"depth"`
	Outcome string `json:"outcome,omitempty"`
	Line    int    `json:"line,omitempty"` // of its visit
}

// request is one request as the ledger has it, start and end.
type request struct {
	start, end ledger.Entry
	line       int
}

// MarshalJSON writes both lines.
func (r request) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Line  int          `json:"line"`
		Start ledger.Entry `json:"start"`
		End   ledger.Entry `json:"end"`
	}{r.line, r.start, r.end})
}

// tell collects what the job in dir knows of u, whose key is made by profile.
func tell(dir string, u weburl.URL, profile weburl.Profile) (*story, error) {
	s := &story{Dir: dir, Chain: []found{}, Requests: []request{}}
	v, line, err := findVisit(dir, u, profile)
	if err != nil {
		return nil, err
	}
	url := u.String()
	if v != nil {
		s.Visit, s.Line, s.State, url = v, line, "visited", v.URL
		if err := s.trace(dir); err != nil {
			return nil, err
		}
	} else if err := s.lookUp(dir, u, profile); err != nil {
		return nil, err
	}
	s.Requests, s.rules, err = findRequests(dir, url, u)
	return s, err
}

// findVisit looks for the URL's line: first for its very spelling, then for the page.
func findVisit(dir string, u weburl.URL, profile weburl.Profile) (*sink.Record, int, error) {
	v, line, err := findLine(dir, u.String())
	if v != nil || err != nil {
		return v, line, err
	}
	key := profile.Key(u)
	host := []byte(u.Hostname())
	err = eachLine(dir, visitsName, func(n int, b []byte) bool {
		var r sink.Record
		if !has(b, host) || json.Unmarshal(b, &r) != nil {
			return true
		}
		if other, err := weburl.Parse(r.URL); err == nil && profile.Key(other) == key {
			v, line = &r, n
		}
		return v == nil
	})
	return v, line, err
}

// findLine looks for the visit of a URL in this spelling.
func findLine(dir, url string) (v *sink.Record, line int, err error) {
	want := member("url", url)
	err = eachLine(dir, visitsName, func(n int, b []byte) bool {
		var r sink.Record
		if has(b, want) && json.Unmarshal(b, &r) == nil && r.URL == url {
			v, line = &r, n
		}
		return v == nil
	})
	return v, line, err
}

// maxChain is the longest chain that is followed. Depth and redirects make it finite; a file that was
// changed need not be.
const maxChain = 1000

// trace follows the visit back to its seed.
func (s *story) trace(dir string) error {
	v, line := s.Visit, s.Line
	for len(s.Chain) < maxChain {
		s.Chain = append(s.Chain, found{v.URL, how(v), v.Depth, v.Outcome, line})
		if v.Via == "" {
			break
		}
		before, n, err := findLine(dir, v.Via)
		if err != nil {
			return err
		}
		if before == nil { // a robots.txt has no visit
			s.Chain = append(s.Chain, found{URL: v.Via, How: "named it", Depth: v.Depth})
			break
		}
		v, line = before, n
	}
	slices.Reverse(s.Chain)
	return nil
}

// how says by what a URL was found.
func how(v *sink.Record) string {
	switch {
	case v.Via == "" && v.Depth > 0:
		return "known to the crawl of --since"
	case v.Via == "":
		return "seed"
	case len(v.Hops) > 0 && v.Hops[len(v.Hops)-1] == v.Via:
		return "redirect"
	case strings.HasSuffix(v.Via, "/robots.txt"):
		return "robots.txt"
	}
	return "link"
}

// lookUp asks the job's queue for a URL that has no visit.
func (s *story) lookUp(dir string, u weburl.URL, profile weburl.Profile) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	if m.finished() {
		s.State = "never found"
		return nil
	}
	s.State, s.Note = queueText(queueState(dir, u, profile))
	return nil
}

// queueText says where the queue has a URL, or why that cannot be told.
func queueText(state disk.State, err error) (text, note string) {
	if err != nil {
		return "no visit yet", "whether it is queued cannot be told: " + err.Error()
	}
	return map[disk.State]string{
		disk.Unknown: "not found so far", disk.Queued: "queued", disk.Waiting: "queued, and to be tried again",
		disk.Claimed: "queued", disk.Done: "done", disk.Rejected: "found, and turned away because too much was queued",
	}[state], ""
}

// queueState opens the queue for as long as one look takes, unless a process works on the job.
func queueState(dir string, u weburl.URL, profile weburl.Profile) (disk.State, error) {
	j, err := openJob(dir)
	if err != nil {
		return disk.Unknown, err
	}
	store, err := disk.Open(j.files.path(frontierName), disk.Config{Key: profile.Key, LastWrite: j.files.path(lastWriteName)})
	if err != nil {
		return disk.Unknown, errors.Join(err, j.close())
	}
	state, err := store.Lookup(context.Background(), u)
	return state, errors.Join(err, store.Close(), j.close())
}

// text is the story as a person reads it.
func (s *story) text(line func(name, value string)) {
	line("job", fmt.Sprintf("%s: %s", s.Dir, s.State))
	line("", s.Note)
	name := "found"
	for _, f := range s.Chain {
		line(name, f.text())
		name = ""
	}
	name = "requests"
	for i := range s.Requests {
		line(name, s.Requests[i].text())
		name = ""
	}
	if s.Visit != nil {
		line("result", resultText(s.Visit, s.Line))
	}
}

func (f *found) text() string {
	text := fmt.Sprintf("%s (%s, depth %d", f.URL, f.How, f.Depth)
	if f.Outcome != "" {
		text += ", " + f.Outcome
	}
	if f.Line > 0 {
		text += fmt.Sprintf(", line %d of %s", f.Line, visitsName)
	}
	return text + ")"
}

func (r *request) text() string {
	e := &r.start
	begun := e.Written
	if begun.IsZero() { // it came to no request
		begun = r.end.Ended
	}
	text := fmt.Sprintf("%s %s", begun.Format(time.RFC3339Nano), e.Purpose)
	if e.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", e.Attempt+1)
	}
	var waits []string
	for _, c := range e.Clauses {
		waits = append(waits, clauseText(c))
	}
	if len(waits) > 0 {
		text += ", waited for " + strings.Join(waits, " and ")
	}
	if e.Override != "" {
		text += ", by other rules than robots.txt (" + e.Override + ")"
	}
	switch {
	case r.end.Event == "":
		text += ": cut off by the end of the process"
	case r.end.Err != "":
		text += ": " + r.end.Err
	default:
		text += fmt.Sprintf(": status %d, %s, after %s", r.end.Status, cli.Bytes(r.end.Bytes), r.end.Ended.Sub(e.Written).Round(time.Microsecond))
	}
	return fmt.Sprintf("%s (line %d of %s)", text, r.line, ledgerName)
}

func clauseText(c ledger.Clause) string {
	text := c.Name
	if c.Delay > 0 {
		text += " " + time.Duration(c.Delay).String()
	}
	if !c.Until.IsZero() {
		text += " until " + c.Until.Format("15:04:05.000")
	}
	return text
}

func resultText(v *sink.Record, line int) string {
	told := slices.DeleteFunc([]string{v.Outcome, v.Reason, v.Rule, v.Detail, v.Error}, func(s string) bool { return s == "" })
	text := strings.Join(told, ", ")
	if v.Status > 0 {
		text += fmt.Sprintf(", status %d", v.Status)
	}
	if v.Type != "" {
		text += fmt.Sprintf(", %s of %s", v.Type, cli.Bytes(int64(v.Bytes)))
	}
	if v.Final != "" {
		text += ", leads to " + v.Final
	}
	if v.Links != nil {
		text += fmt.Sprintf(", %s of which %d were followed", cli.Plural(v.Links.Found, "link"), v.Links.Follow)
	}
	if v.WARC != nil {
		text += fmt.Sprintf(", archived in %s at %d", v.WARC.File, v.WARC.Offset)
	}
	return fmt.Sprintf("%s (line %d of %s)", text, line, visitsName)
}
