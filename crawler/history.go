package crawler

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

const defaultMaxHistory = 1_000_000 // pages

// Visited is a [History] in memory, made from the visits.jsonl of an earlier crawl. It is safe for
// concurrent use.
type Visited struct {
	pages map[weburl.Key]visited
	order []weburl.Key
}

type visited struct {
	url   weburl.URL
	depth int
	Past
}

// ReadHistory reads the visits.jsonl of an earlier crawl: the pages that were fetched completely with status 200, or were not modified.
// If several lines concern one URL, the last line counts. ReadHistory keeps at most the given number of pages (0: defaultMaxHistory),
// about 300 bytes each. It skips further pages, which the next crawl then fetches completely. A truncated last line is ignored. It returns
// the error of r, or one that wraps ErrHistory and contains the line number.
func ReadHistory(r io.Reader, most int) (*Visited, error) {
	h := &Visited{pages: map[weburl.Key]visited{}}
	most = or(most, defaultMaxHistory)
	in := bufio.NewReaderSize(r, 64<<10)
	var p sink.Parser
	var rec sink.Record
	var line []byte
	for n := 1; ; n++ {
		var err error
		line, err = jsonl.ReadLine(in, line)
		last := errors.Is(err, io.EOF)
		switch {
		case last && len(line) == 0:
			return h, nil
		case errors.Is(err, jsonl.ErrTooLong):
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrHistory, err)
		case err != nil && !last:
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err = p.Parse(line, &rec); err == nil {
			err = h.add(&rec, most)
		}
		switch {
		case last:
			return h, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrHistory, err)
		}
	}
}

// add records the page of a line.
func (h *Visited) add(l *sink.Record, most int) error {
	if l.Schema != sink.Schema {
		return fmt.Errorf("schema %q, not %q", l.Schema, sink.Schema)
	}
	u, err := weburl.Parse(l.URL)
	if err != nil {
		return err
	}
	key := u.Key()
	_, known := h.pages[key]
	if !known && len(h.order) >= most {
		return nil
	}
	page := visited{url: u, depth: max(0, l.Depth)}
	if usable(l) {
		page.Validators = fetcher.Validators{ETag: strings.Clone(l.ETag), LastModified: strings.Clone(l.LastModified)}
		hash(&page.SHA256, l.SHA256)
	} else if !known {
		return nil // a line without a usable page, for a URL not read before, adds nothing
	}
	if !known {
		h.order = append(h.order, key)
	}
	h.pages[key] = page
	return nil
}

// usable reports whether the line describes a complete page.
func usable(l *sink.Record) bool {
	return l.Truncated == "" && len(l.ETag) <= maxValidator && len(l.LastModified) <= maxValidator &&
		(Outcome(l.Outcome) == NotModified || Outcome(l.Outcome) == Fetched && l.Status == http.StatusOK)
}

// hash parses a hash in hexadecimal form into sum. It ignores any other text.
func hash(sum *[32]byte, text string) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(sum) {
		*sum = [32]byte(b)
	}
}

// Past implements History.
func (h *Visited) Past(u weburl.URL) (Past, bool) {
	p, ok := h.pages[u.Key()]
	return p.Past, ok
}

// Len returns the number of pages.
func (h *Visited) Len() int { return len(h.order) }

// All implements [History]: it yields the pages in the order in which they were first visited.
func (h *Visited) All() iter.Seq2[weburl.URL, int] {
	return func(yield func(weburl.URL, int) bool) {
		for _, k := range h.order {
			if p := h.pages[k]; !yield(p.url, p.depth) {
				return
			}
		}
	}
}

// Past holds the data of an earlier crawl about a URL.
type Past struct {
	Validators fetcher.Validators
	SHA256     [32]byte // of the decoded body; zero if it is unknown
}

// History provides data of earlier responses, so that a crawl fetches only pages that have changed since. If the server responds
// that a page has not changed (status 304), the URL ends as [NotModified], which does not count as a page of Config.Limits.Pages.
// It has no body and no Document, so its links are not followed: All must list the pages that it links to, or the caller must queue
// them. Visit.SHA256 is that of the old copy.
//
// [ReadHistory] makes a History from the visits.jsonl of an earlier crawl.
type History interface {
	// Past returns the data about a URL. It returns false if the URL is unknown; the URL is then fetched completely. Past is called
	// concurrently, once or twice for each page that is requested.
	Past(u weburl.URL) (Past, bool)
	// All yields the URLs to visit again, each with its depth. It may return nil. URLs in scope are queued as pages at this depth, not as
	// seeds. All is called at the beginning of a crawl, and again when the crawl is resumed.
	All() iter.Seq2[weburl.URL, int]
}

// conditional is a Fetcher that makes requests for pages conditional if an earlier crawl knows the page.
type conditional struct {
	Fetcher
	past func(u weburl.URL) (Past, bool)
}

func (f conditional) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() == politeness.Page {
		if past, known := f.past(p.URL()); known {
			ctx = fetcher.WithValidators(ctx, past.Validators)
		}
	}
	return f.Fetcher.Fetch(ctx, p)
}

// addPast queues the URLs that the history lists, unless an earlier process has done so: queueing them again would count them twice
// against the limits on traps. It returns the number of new URLs.
func (r *run) addPast(ctx context.Context) (added int, err error) {
	list := r.cfg.Since
	if list == nil || list.All() == nil {
		return 0, nil
	}
	var mark []byte
	if r.checkpoint != nil {
		mark = markOf(list)
		kept, err := r.checkpoint.store.Value(ctx, "", keySince)
		if err != nil || string(kept) == string(mark) {
			return 0, err
		}
	}
	for batch := range r.judge.pastRequests(list) {
		n, err := r.frontier.Add(ctx, batch...)
		if added += n; err != nil {
			return added, err
		}
	}
	if r.checkpoint == nil {
		return added, nil
	}
	return added, r.checkpoint.mark(ctx, keySince, mark)
}

// pastBatch is the number of URLs of a history that are queued at once.
const pastBatch = 1000

// pastRequests yields the URLs of a history that may enter the crawl, in batches.
func (j *judge) pastRequests(list History) iter.Seq[[]frontier.Request] {
	return func(yield func([]frontier.Request) bool) {
		var batch []frontier.Request
		for u, depth := range list.All() {
			if j.admissible(u, depth, frontier.KindPage).fate != FateFollow || j.knows(u, depth, lowest) || j.trapCounts.enter(u) != "" {
				continue
			}
			batch = append(batch, frontier.Request{URL: u, Depth: depth, Priority: j.priorities.of(u)})
			if len(batch) == pastBatch {
				if !yield(batch) {
					return
				}
				batch = nil
			}
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// markOf returns a fingerprint of a list's contents.
func markOf(list History) []byte {
	var sum weburl.Key
	n := uint64(0)
	for u := range list.All() {
		k := u.Key()
		for i := range sum {
			sum[i] ^= k[i]
		}
		n++
	}
	return binary.AppendUvarint(sum[:], n)
}

// past returns the earlier response with which the request for u can be made conditional.
func (c *Config) past(u weburl.URL) (Past, bool) {
	if c.Since == nil {
		return Past{}, false
	}
	past, known := c.Since.Past(u)
	return past, known && past.Validators != fetcher.Validators{}
}

// unchanged reports whether the response means that the page has not changed since an earlier crawl. If so, it sets v's outcome to
// NotModified and its data to those of the earlier response. Validators that the server does not repeat are unchanged, too (RFC 9110
// section 15.4.5).
func (c *Config) unchanged(v *Visit, claim frontier.Claim) bool {
	if v.Page.Status != http.StatusNotModified || claim.Kind == frontier.KindSitemap {
		return false
	}
	past, known := c.past(claim.URL)
	if !known {
		return false
	}
	v.Outcome, v.Reason, v.SHA256 = NotModified, "", past.SHA256
	v.Validators = validators(v.Page)
	v.Validators.ETag = or(v.Validators.ETag, past.Validators.ETag)
	v.Validators.LastModified = or(v.Validators.LastModified, past.Validators.LastModified)
	return true
}

// maxValidator limits the validators that are stored, in bytes. No server needs longer validators.
const maxValidator = 1024

// validators returns p's validators for a later conditional request.
func validators(p *fetcher.Page) fetcher.Validators {
	if p.Truncated != "" {
		return fetcher.Validators{} // validators describe the complete body, and this one is incomplete
	}
	v := p.Validators()
	if len(v.ETag) > maxValidator {
		v.ETag = ""
	}
	if len(v.LastModified) > maxValidator {
		v.LastModified = ""
	}
	return v
}
