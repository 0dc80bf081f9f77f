package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Story holds everything that a job's files record about one URL.
type Story struct {
	Dir      string       `json:"dir"`
	State    string       `json:"state"`           // "visited", or the state in the queue
	Note     string       `json:"note,omitempty"`  // missing information, with the reason
	Chain    []Found      `json:"chain"`           // URLs from the seed to this URL
	Visit    *sink.Record `json:"visit,omitempty"` // nil if the URL was not visited
	Line     int          `json:"line,omitempty"`  // line of the visit
	Requests []Request    `json:"requests"`        // requests for the URL, and the last request for its robots.txt

	// Loads lists the requests that the page made while it was rendered, at most 1000.
	Loads []Request `json:"loads,omitempty"`

	// Static is the reason why the page was not rendered, in a crawl that renders pages. It is "" if the page was rendered or the
	// crawl renders none.
	Static string `json:"static,omitempty"`

	// Robots describes the robots.txt that decided about the URL; nil if none was requested.
	Robots *politeness.OriginInfo `json:"-"`
}

// maxLoads limits the Loads of a Story.
const maxLoads = 1000

// Found is a URL of the chain that leads from a seed to another URL.
type Found struct {
	URL     string `json:"url"`
	How     string `json:"how"` // seed, link, redirect, or another source of the URL
	Depth   int    `json:"depth"`
	Outcome string `json:"outcome,omitempty"`
	Line    int    `json:"line,omitempty"` // line of the URL's visit
}

// Request is one request as recorded in the ledger, with start and end.
type Request struct {
	Line  int          `json:"line"` // line of Start in the ledger
	Start ledger.Entry `json:"start"`
	End   ledger.Entry `json:"end"`
}

// Explain returns everything that the job knows about a URL.
func (r *Reader) Explain(u weburl.URL) (*Story, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	t := teller{r, &c.Crawl}
	s, err := t.tell(u)
	if err == nil && s.Visit != nil && c.Crawl.Render.Renders() {
		s.Static = static(s.Visit)
	}
	return s, readError(err)
}

// static returns why a page was not rendered, "" if it was or if there is no page.
func static(v *sink.Record) string {
	switch {
	case v.Rendered != nil, v.Outcome != string(crawler.Fetched) && v.Outcome != string(crawler.Duplicate):
		return ""
	case v.Type != "text/html" && v.Type != "application/xhtml+xml":
		return "it is no HTML"
	case v.Status != http.StatusOK:
		return fmt.Sprintf("its status is %d", v.Status)
	case v.Truncated != "":
		return fmt.Sprintf("it is not complete (%s)", v.Truncated)
	}
	return "it has its content without its scripts, as far as the rules of auto can tell"
}

// teller collects what the files of a job record about URLs.
type teller struct {
	*Reader
	crawl *crawler.Config // configuration of the job's crawl
}

func (t *teller) tell(u weburl.URL) (*Story, error) {
	s := &Story{Dir: t.dir, Chain: []Found{}, Requests: []Request{}}
	v, line, err := t.findVisit(u)
	if err != nil {
		return nil, err
	}
	url := u.String()
	if v != nil {
		s.Visit, s.Line, s.State, url = v, line, "visited", v.URL
		err = t.trace(s)
	} else {
		err = t.lookUp(s, u)
	}
	if err != nil {
		return nil, err
	}
	var rules rulesFile
	if s.Requests, s.Loads, rules, err = t.findRequests(url, u); err != nil {
		return nil, err
	}
	s.Robots, err = t.robots(&rules, u)
	return s, err
}

// findVisit looks for the line of a URL: first in this spelling, then in other spellings of the same page.
func (t *teller) findVisit(u weburl.URL) (*sink.Record, int, error) {
	v, line, err := t.findLine(u.String())
	if v != nil || err != nil {
		return v, line, err
	}
	key := t.crawl.Canonical.Key(u)
	host := []byte(u.Hostname())
	err = t.files.eachLine(VisitsName, func(n int, b []byte) bool {
		var r sink.Record
		if !has(b, host) || json.Unmarshal(b, &r) != nil {
			return true
		}
		if other, err := weburl.Parse(r.URL); err == nil && t.crawl.Canonical.Key(other) == key {
			v, line = &r, n
		}
		return v == nil
	})
	return v, line, err
}

// findLine looks for the visit of a URL, in this spelling only.
func (t *teller) findLine(url string) (v *sink.Record, line int, err error) {
	want := member("url", url)
	err = t.files.eachLine(VisitsName, func(n int, b []byte) bool {
		var r sink.Record
		if has(b, want) && json.Unmarshal(b, &r) == nil && r.URL == url {
			v, line = &r, n
		}
		return v == nil
	})
	return v, line, err
}

// maxChain limits the length of a chain that is followed: a manipulated file may contain a cycle.
const maxChain = 1000

// trace follows the visit back to its seed.
func (t *teller) trace(s *Story) error {
	v, line := s.Visit, s.Line
	for len(s.Chain) < maxChain {
		s.Chain = append(s.Chain, Found{v.URL, how(v), v.Depth, v.Outcome, line})
		if v.Via == "" {
			break
		}
		before, n, err := t.findLine(v.Via)
		if err != nil {
			return err
		}
		if before == nil { // a robots.txt has no visit
			s.Chain = append(s.Chain, Found{URL: v.Via, How: "named it", Depth: v.Depth})
			break
		}
		v, line = before, n
	}
	slices.Reverse(s.Chain)
	return nil
}

// how returns how a URL was found.
func how(v *sink.Record) string {
	switch {
	case v.Via == "" && v.Depth > 0:
		return "known to the crawl before"
	case v.Via == "":
		return "seed"
	case len(v.Hops) > 0 && v.Hops[len(v.Hops)-1] == v.Via:
		return "redirect"
	case strings.HasSuffix(v.Via, "/robots.txt"):
		return "robots.txt"
	}
	return "link"
}

// lookUp looks up a URL without a visit in the job's queue.
func (t *teller) lookUp(s *Story, u weburl.URL) error {
	m, err := t.Manifest()
	if err != nil {
		return err
	}
	if m.Finished() {
		s.State, s.Note = "never found", t.notDrawn(u)
		if s.Note != "" {
			s.State = "not requested"
		}
		return nil
	}
	s.State, s.Note = queueText(t.queueState(u))
	s.Note = cmp.Or(s.Note, t.notDrawn(u))
	return nil
}

// notDrawn explains why a URL without a visit is not in the job's sample. It is "" if there is no sample or no report yet.
func (t *teller) notDrawn(u weburl.URL) string {
	if t.crawl.Sample.N == 0 {
		return ""
	}
	rep, err := t.Report()
	if err != nil {
		return ""
	}
	return drawText(t.crawl, rep, u)
}

// queueText describes a URL's position in the queue, or why it is unknown.
func queueText(state disk.State, err error) (text, note string) {
	if err != nil {
		return "no visit yet", "whether it is queued cannot be told: " + err.Error()
	}
	return map[disk.State]string{
		disk.Unknown: "not found so far", disk.Queued: "queued", disk.Waiting: "queued, and to be tried again",
		disk.Claimed: "queued", disk.Done: "done", disk.Rejected: "found, and turned away because too much was queued",
	}[state], ""
}

// queueState opens the queue for one look-up, unless a process is working on the job.
func (t *teller) queueState(u weburl.URL) (disk.State, error) {
	j, err := lockDir(t.dir)
	if err != nil {
		return disk.Unknown, err
	}
	store, err := disk.Open(j.files.path(frontierName), disk.Config{Key: t.crawl.Canonical.Key, LastWrite: j.files.path(lastWriteName)})
	if err != nil {
		return disk.Unknown, errors.Join(err, j.release())
	}
	state, err := store.Lookup(context.Background(), u)
	return state, errors.Join(err, store.Close(), j.release())
}
