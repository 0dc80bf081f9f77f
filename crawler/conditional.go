package crawler

import (
	"context"
	"encoding/binary"
	"iter"
	"net/http"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Past is what an earlier crawl knows of a URL.
type Past struct {
	Validators fetcher.Validators
	SHA256     [32]byte // of the decoded body; zero when it is not known
}

// History knows earlier answers, so that a crawl asks only for what has changed since. A URL whose
// server says that it has not changed (status 304) ends as [NotModified], which does not count as a page of
// Config.Limits.Pages. It has no body and no Document, so nothing on it is followed: what lay behind it is found
// by a [Lister], or is the caller's to queue. Visit.SHA256 is that of the old copy.
//
// [ReadHistory] makes one of an earlier crawl's visits.jsonl.
type History interface {
	// Past is what is known of a URL; false for one that is not known, which is then fetched in full. It is
	// called concurrently, once or twice for each page that is requested.
	Past(u weburl.URL) (Past, bool)
}

// Lister is a History that can tell all it knows. A crawl visits that again as far as it is in its scope: no seeds,
// but pages that keep the depth at which they were found.
type Lister interface {
	History
	// All yields URLs, each with its depth. It is called once at the beginning of a crawl, and once more when
	// the crawl is resumed.
	All() iter.Seq2[weburl.URL, int]
}

// ConditionalFetcher is a Fetcher that can make requests conditional. One that is none ignores
// Config.Since.
type ConditionalFetcher interface {
	FetchConditional(ctx context.Context, p politeness.Permit, v fetcher.Validators) (*fetcher.Page, error)
}

// conditional is a Fetcher whose requests for pages that an earlier crawl knows are conditional.
type conditional struct {
	Fetcher
	past func(u weburl.URL) (Past, bool)
	with ConditionalFetcher // the Fetcher
}

func (f conditional) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() == politeness.Page {
		if past, known := f.past(p.URL()); known {
			return f.with.FetchConditional(ctx, p, past.Validators)
		}
	}
	return f.Fetcher.Fetch(ctx, p)
}

// addPast queues what the history lists, unless an earlier process has: traps count what is queued. It returns how
// many URLs are new.
func (r *run) addPast(ctx context.Context) (added int, err error) {
	list, ok := r.cfg.Since.(Lister)
	if !ok {
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

// pastBatch is how many URLs of a history are queued at once.
const pastBatch = 1000

// pastRequests yields what of a history may enter the crawl.
func (j *judge) pastRequests(list Lister) iter.Seq[[]frontier.Request] {
	return func(yield func([]frontier.Request) bool) {
		var batch []frontier.Request
		for u, depth := range list.All() {
			if j.admissible(u, depth, frontier.KindPage).fate != FateFollow || j.knows(u, depth) || j.crowds.enter(u) != "" {
				continue
			}
			batch = append(batch, frontier.Request{URL: u, Depth: depth})
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

// markOf tells lists apart by what is on them.
func markOf(list Lister) []byte {
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

// past is what can make the request for u conditional.
func (c *Config) past(u weburl.URL) (Past, bool) {
	if c.Since == nil {
		return Past{}, false
	}
	past, known := c.Since.Past(u)
	return past, known && past.Validators != fetcher.Validators{}
}

// unchanged makes v the visit of a page that is as an earlier crawl knows it, if that is the answer.
// What the server does not repeat of its validators is still what it was (RFC 9110 section 15.4.5).
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

// maxValidator bounds the validators that are kept, in bytes. No server has a use for longer ones.
const maxValidator = 1024

// validators are what p gives for a later conditional request.
func validators(p *fetcher.Page) fetcher.Validators {
	if p.Truncated != "" {
		return fetcher.Validators{} // a body that is not whole is not the one that the server means
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
