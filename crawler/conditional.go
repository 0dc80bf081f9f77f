package crawler

import (
	"context"
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
// server says that it is as it was (status 304) ends as [NotModified]. It has no body and no Document, so
// nothing on it is followed: the links of the old copy are the caller's, who may give them as seeds, as
// [Visited.URLs] does. Visit.SHA256 is that of the old copy.
//
// Past is called concurrently, once or twice for each page that is
// requested; it is false for a URL that is not known, which is then fetched in full. [ReadHistory]
// makes one of an earlier crawl's visits.jsonl.
type History interface {
	Past(u weburl.URL) (Past, bool)
}

// ConditionalFetcher is a Fetcher that can make requests conditional. One that is none ignores
// Config.Since.
type ConditionalFetcher interface {
	FetchConditional(ctx context.Context, p politeness.Permit, v fetcher.Validators) (*fetcher.Page, error)
}

// fetch makes the request of a Permit: for a page that an earlier crawl knows, a conditional one.
func (r *run) fetch(ctx context.Context, c frontier.Claim, p politeness.Permit) (*fetcher.Page, error) {
	if f, ok := r.fetcher.(ConditionalFetcher); ok && p.Purpose() == politeness.Page {
		if past, known := r.past(c.URL); known {
			return f.FetchConditional(ctx, p, past.Validators)
		}
	}
	return r.fetcher.Fetch(ctx, p)
}

// past is what can make the request for u conditional.
func (r *run) past(u weburl.URL) (Past, bool) {
	if r.cfg.Since == nil {
		return Past{}, false
	}
	past, known := r.cfg.Since.Past(u)
	return past, known && past.Validators != fetcher.Validators{}
}

// unchanged makes v the visit of a page that is as an earlier crawl knows it, if that is the answer.
// What the server does not repeat of its validators is still what it was (RFC 9110 section 15.4.5).
func (r *run) unchanged(v *Visit, c frontier.Claim) bool {
	if v.Page.Status != http.StatusNotModified || c.Kind == frontier.KindSitemap {
		return false
	}
	past, known := r.past(c.URL)
	if !known {
		return false
	}
	v.Outcome, v.Reason, v.SHA256 = NotModified, "", past.SHA256
	v.Validators = validators(v.Page)
	v.Validators.ETag = or(v.Validators.ETag, past.Validators.ETag)
	v.Validators.LastModified = or(v.Validators.LastModified, past.Validators.LastModified)
	return true
}

// maxValidator bounds the validators that are kept, in octets. No server has a use for longer ones.
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
