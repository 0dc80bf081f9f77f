package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// comparison is a sink that compares each repeated visit with the recorded one.
type comparison struct {
	sink.Base

	result    *Result
	byProgram bool
	script    *script
	pages     map[uint64]*page
	line      int // line of the visits that the script has reached, from 1
	err       error
}

// page holds the compared properties of a recorded visit.
type page struct {
	line     int // line of the last visit of the URL
	from, to time.Time
	body     [8]byte // first bytes of the SHA-256 of the body
}

var seed = maphash.MakeSeed()

func hashOf(url string) uint64 { return maphash.String(seed, url) }

// read records the beginning, end and body of each visit.
func (x *comparison) read(r *job.Reader) error {
	x.pages = map[uint64]*page{}
	n := 0
	for v, err := range r.Visits() {
		if err != nil {
			return err
		}
		n++
		p := &page{line: n, from: v.Started, to: v.Ended}
		if p.from.IsZero() {
			p.from = v.Ended
		}
		copy(p.body[:], v.SHA256)
		x.pages[hashOf(v.URL)] = p
	}
	return nil
}

// skipped reports whether a visit is not repeated: the URL was visited again later, by a process that retried it; or the outcome did
// not depend on a response, but on time, network or an opt-out.
func (x *comparison) skipped(v *sink.Record) bool {
	x.line++
	p := x.pages[hashOf(v.URL)]
	switch {
	case p != nil && p.line != x.line:
	case v.Reason == politeness.ReasonChallenge, v.Reason == politeness.ReasonOptOut: // the job has no response of these visits
	case v.Status > 0 || v.Outcome != string(crawler.Deferred) && v.Outcome != string(crawler.Failed):
		return false
	case v.Reason == crawler.ReasonSitemapBudget || v.Reason == crawler.ReasonHostBudget && !strings.HasPrefix(v.Rule, "hosts: "):
		return false
	}
	x.result.Taken++
	return true
}

// lost records a visit that was not repeated.
func (x *comparison) lost(v *sink.Record, why string) {
	x.line++
	x.result.Visits++
	x.result.Differ++
	x.add(Change{v.URL, "visit", v.Outcome, why})
}

func (x *comparison) add(c Change) {
	if len(x.result.Changes) < maxChanges {
		x.result.Changes = append(x.result.Changes, c)
	}
}

// Append implements sink.Sink.
func (x *comparison) Append(_ context.Context, got *sink.Record) error {
	want := x.script.want
	x.result.Visits++
	was, err := x.fields(want)
	if err == nil {
		var is map[string]string
		if is, err = x.fields(got); err == nil {
			x.compare(want, got, was, is)
		}
	}
	return err
}

// compare records the differences between two visits.
func (x *comparison) compare(want, got *sink.Record, was, is map[string]string) {
	if x.sameAs(want, got) {
		delete(was, "same_as")
		delete(is, "same_as")
	}
	differ := false
	for name := range is {
		if _, ok := was[name]; !ok {
			was[name] = ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] != is[name] {
			differ = true
			x.add(Change{want.URL, name, was[name], is[name]})
		}
	}
	if differ {
		x.result.Differ++
	}
}

// sameAs reports whether two visits name pages with the same body as the duplicate's original. Of two pages in flight at the same time,
// either may have come first.
func (x *comparison) sameAs(want, got *sink.Record) bool {
	if want.SameAs == got.SameAs {
		return true
	}
	this := x.pages[hashOf(want.URL)]
	named := want.SameAs
	if named == "" {
		named = got.SameAs
	}
	that := x.pages[hashOf(named)]
	return this != nil && that != nil && this.body == that.body && (want.SameAs != "" || that.to.After(this.from))
}

// fetchedAt matches a time in the details of refusals by robots.txt.
var fetchedAt = regexp.MustCompile(", fetched [0-9T:Z.-]+")

// fields returns the fields of a visit that are compared, by their JSON names: all except times, attempts, the position in the archive
// and the error texts of failures without a response, which a crawl from an archive does not have.
func (x *comparison) fields(v *sink.Record) (map[string]string, error) {
	r := *v
	r.Queued, r.Started, r.Ended, r.Attempt, r.WARC, r.Exchange = time.Time{}, time.Time{}, time.Time{}, 0, nil, nil
	r.Detail = fetchedAt.ReplaceAllString(r.Detail, "")
	if r.Terms != nil { // ignore the times at which the files were fetched
		t := *r.Terms
		t.Files = slices.Clone(t.Files)
		for i := range t.Files {
			t.Files[i].Fetched = time.Time{}
		}
		r.Terms = &t
	}
	if r.Error = ""; x.byProgram {
		r.Data = nil
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	raw, all := map[string]json.RawMessage{}, map[string]string{}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	for name, value := range raw {
		all[name] = string(bytes.Trim(value, `"`))
	}
	return all, nil
}

// end compares the URLs that were left in the queue.
func (x *comparison) end(m *job.Manifest) {
	for _, url := range x.script.unnamed() {
		x.result.Differ++
		x.add(Change{url, "visit", "named by robots.txt", "nothing led to it again"})
	}
	some, left := x.script.left(maxChanges)
	x.result.Left = left
	switch last := m.Last(); {
	case m.Finished():
		x.result.Differ += left
		for _, url := range some {
			x.add(Change{url, "visit", "", "found again"})
		}
		x.result.Left = 0
	case !last.Ended.IsZero() && last.Left != left:
		x.result.Notes = append(x.result.Notes, fmt.Sprintf("%s were left when the last process ended, %d are now", cli.Plural(last.Left, "URL"), left))
	}
}

// Sync implements sink.Sink.
func (*comparison) Sync(_ context.Context) (int64, error) { return 0, nil }

// Restore implements sink.Sink.
func (*comparison) Restore(context.Context, int64) error { return nil }

// Close implements sink.Sink.
func (*comparison) Close(_ context.Context) error { return nil }

// Text is the result in a line.
func (r *Result) Text() string {
	text := fmt.Sprintf("%s, %d differ", cli.Plural(r.Visits, "visit"), r.Differ)
	if r.Taken > 0 {
		text += fmt.Sprintf("; %d more were decided by time, network or operator, and are taken as recorded", r.Taken)
	}
	if r.Left > 0 {
		text += fmt.Sprintf("; %s left, as in the job", cli.Plural(r.Left, "URL"))
	}
	return text
}
