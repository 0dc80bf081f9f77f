package diff

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Kind says how a page differs between two crawls.
type Kind string

// The kinds of changes, in display order.
const (
	New      Kind = "new"      // not in the first crawl, which was complete
	Changed  Kind = "changed"  // in both crawls, with different content
	Moved    Kind = "moved"    // redirects now, or the content is now at a URL that is not in the first crawl
	Gone     Kind = "gone"     // has status 404 or 410 now
	Unlinked Kind = "unlinked" // not in the second crawl, which was complete: no link led to the page, which may still exist
	// NotCompared is a page of one crawl that the other crawl did not request, or could not fetch.
	NotCompared Kind = "not_compared"
	Same        Kind = "same" // in both crawls, unchanged; only counted
)

// kinds lists all kinds of changes, in display order.
var kinds = []Kind{New, Changed, Moved, Gone, Unlinked, NotCompared}

// Change is a page that differs between two crawls. It is a line of "amble diff --json".
type Change struct {
	Change Kind   `json:"change"`
	URL    string `json:"url"`
	To     string `json:"to,omitempty"` // with Moved: the new URL
	Was    int    `json:"was,omitempty"`
	Now    int    `json:"now,omitempty"`    // Was and Now are HTTP statuses; 0 if there was no response
	Job    int    `json:"job,omitempty"`    // with NotCompared: the crawl without the page, 1 or 2
	Reason string `json:"reason,omitempty"` // with NotCompared: the reason
	Title  string `json:"title,omitempty"`  // title of the page, by the second crawl if it has the page
}

// Text returns the change in one line. short formats its URLs.
func (c *Change) Text(short func(url string) string) string {
	text := fmt.Sprintf("%-12s  %s", c.Change, short(c.URL))
	switch {
	case c.To != "":
		text += "  ->  " + short(c.To)
	case c.Change == NotCompared:
		text += fmt.Sprintf("  (job %d: %s)", c.Job, c.Reason)
	case c.Was != c.Now && c.Was != 0 && c.Now != 0:
		text += fmt.Sprintf("  (%d, was %d)", c.Now, c.Was)
	}
	if c.Title != "" {
		text += fmt.Sprintf("  %q", c.Title)
	}
	return cli.Printable(text)
}

// Counts counts pages by their kind of change.
type Counts map[Kind]int

// Text returns the counts in one line.
func (n Counts) Text() string {
	parts := []string{}
	for _, k := range append(kinds[:len(kinds):len(kinds)], Same) {
		if n[k] > 0 || k == Same {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(string(k), "_", " "), n[k]))
		}
	}
	return strings.Join(parts, ", ")
}

// maxMoves limits the number of moved pages whose URLs are in memory: any others are reported as New.
const maxMoves = 200_000

// comparison compares two crawls.
type comparison struct {
	emit   func(*Change) error
	counts Counts
	hash   hasher
	a, b   table
	ra, rb *reach
	moved  map[key]key    // moved pages: from keys in a to keys in b
	came   map[key]string // keyed by the key in b: the URL in a, after that visit was read
}

// Compare calls emit with each page that differs between the jobs, and returns the number of pages of each kind. It reads the visits of
// each job twice. Errors come from the jobs' files, or from emit.
func Compare(a, b *job.Reader, emit func(*Change) error) (Counts, error) {
	c := &comparison{emit: emit, counts: Counts{}, hash: hasher{maphash.MakeSeed(), maphash.MakeSeed()}, came: map[key]string{}}
	var err error
	for _, of := range []struct {
		r *job.Reader
		t *table
		x **reach
	}{{a, &c.a, &c.ra}, {b, &c.b, &c.rb}} {
		if *of.x, err = reachOf(of.r); err != nil {
			return nil, err
		}
		if *of.t, err = load(of.r, &c.hash); err != nil {
			return nil, err
		}
	}
	c.moved = moves(c.a, c.b)
	if err := each(a, c.a, &c.hash, c.before); err != nil {
		return nil, err
	}
	return c.counts, each(b, c.b, &c.hash, c.after)
}

// each calls f with the visits in the table, once for each.
func each(r *job.Reader, t table, h *hasher, f func(key, *sink.Record) error) error {
	done := make([]bool, len(t))
	for v, err := range r.Visits() {
		if err != nil {
			return err
		}
		k := h.key(v.URL)
		i, ok := t.index(k)
		if !ok || done[i] || t[i].class != classOf(v) || t[i].content != contentOf(v) {
			continue // only the visit in the table counts: this one was superseded, or written meanwhile
		}
		done[i] = true
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) add(x Change) error {
	c.counts[x.Change]++
	if x.Change == Same {
		return nil
	}
	return c.emit(&x)
}

// before handles a visit of the first crawl. It emits a Change for a page of which the second crawl has no visit.
func (c *comparison) before(k key, v *sink.Record) error {
	if classOf(v) != page {
		return nil
	}
	if to, ok := c.moved[k]; ok && len(c.came) < maxMoves {
		c.came[to] = v.URL
		return nil
	}
	delete(c.moved, k)
	if c.b.find(k).class != absent {
		return nil // the visit of the second crawl adds the change
	}
	if why := c.rb.missed(v.URL, v.Depth); why != "" {
		return c.add(Change{Change: NotCompared, URL: v.URL, Was: v.Status, Job: 2, Reason: why, Title: v.Title})
	}
	return c.add(Change{Change: Unlinked, URL: v.URL, Was: v.Status, Title: v.Title})
}

// after handles a visit of the second crawl, and emits a Change if there is one.
func (c *comparison) after(k key, v *sink.Record) error {
	was := c.a.find(k)
	x := Change{URL: v.URL, Was: int(was.status), Now: v.Status, Title: v.Title}
	switch now := classOf(v); {
	case now == page && was.class == page:
		x.Change = c.content(v, was)
	case now == page:
		return c.appeared(k, v, was, x)
	case was.class != page && (was.class != redirected || now != missing):
		return nil // neither crawl has a page
	case now == missing:
		if _, ok := c.moved[k]; ok {
			return nil // reported with the page at the new URL
		}
		x.Change, x.Title = Gone, ""
	case now == redirected:
		x.Change, x.To = Moved, v.Final
	default:
		x.Change, x.Job, x.Reason = NotCompared, 2, unseenText(v)
	}
	return c.add(x)
}

// content compares the contents of a page that both crawls have.
func (c *comparison) content(v *sink.Record, was row) Kind {
	now := contentOf(v)
	if v.Outcome == "not_modified" || now == was.content && int(was.status) == v.Status {
		return Same
	}
	return Changed
}

// appeared handles a page of the second crawl that the first does not have.
func (c *comparison) appeared(k key, v *sink.Record, was row, x Change) error {
	from, moved := c.came[k]
	why := ""
	if was.class == absent {
		why = c.ra.missed(v.URL, v.Depth)
	}
	switch {
	case moved:
		x.Change, x.URL, x.To = Moved, from, v.URL
	case was.class == unseen:
		x.Change, x.Job, x.Reason = NotCompared, 1, "it could not be fetched"
	case why != "":
		x.Change, x.Job, x.Reason = NotCompared, 1, why
	default:
		x.Change = New
	}
	return c.add(x)
}

// unseenText returns the reason why a visit did not get a page.
func unseenText(v *sink.Record) string {
	if v.Status >= 400 {
		return fmt.Sprintf("status %d", v.Status)
	}
	return strings.TrimSuffix(v.Outcome+", "+cmp.Or(v.Reason, v.Rule), ", ")
}
