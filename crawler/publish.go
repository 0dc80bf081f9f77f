package crawler

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// publish makes a visit known: to the sinks and the frontier, the report and the trace. With a durable
// frontier the committer has it from here on; without, the URL is settled when the sinks have its
// record.
func (r *run) publish(ctx context.Context, v *Visit, c frontier.Claim, s frontier.Settlement) {
	v.Ended = time.Now()
	var err error
	if r.commits != nil {
		err = r.commits.end(ctx, frontier.End{Claim: c, Settlement: s}, r.recordOf(v), func() { r.count(v) })
	} else if err = r.write(ctx, v); err == nil {
		r.count(v)
	}
	switch {
	case errors.Is(err, frontier.ErrLost):
		return
	case err != nil && r.commits == nil:
		r.fail(err)
		r.again(ctx, c, frontier.Settlement{ReadyAt: s.ReadyAt, Again: &frontier.Again{}})
		return
	case err != nil:
		r.fail(err)
		return
	}
	r.cfg.Trace.visited(v)
	if r.commits == nil {
		r.settle(ctx, c, s)
		r.leave(c.URL.Host())
	}
}

// count adds a visit to the report, and ends the crawl when too many have failed.
func (r *run) count(v *Visit) {
	if failed := r.tally.visit(v); r.cfg.Limits.Errors > 0 && failed >= r.cfg.Limits.Errors {
		r.drain(FinishErrors)
	}
}

// recordOf is v for the sinks, nil when there are none.
func (r *run) recordOf(v *Visit) *sink.Record {
	if len(r.cfg.Sinks) == 0 {
		return nil
	}
	return v.record()
}

func (r *run) write(ctx context.Context, v *Visit) error {
	rec := r.recordOf(v)
	r.sinkMu.Lock()
	defer r.sinkMu.Unlock()
	return r.append(context.WithoutCancel(ctx), rec)
}

// append gives a record to the sinks. Their lock is held.
func (r *run) append(ctx context.Context, rec *sink.Record) error {
	for _, s := range r.cfg.Sinks {
		if err := s.Append(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// exchange is a request with its answer as archives keep it, nil without a recording.
func exchange(p *fetcher.Page, purpose string) *sink.Exchange {
	if p == nil || p.Raw == nil {
		return nil
	}
	return &sink.Exchange{
		URL: p.URL.String(), Addr: p.Addr, Started: p.Written, Ended: p.Ended, Protocol: p.Proto, Purpose: purpose,
		Request: p.Raw.Request, Head: p.Raw.Head, Body: p.Raw.Body, Truncated: p.Truncated,
	}
}

// archive keeps an exchange that is no visit: of a robots.txt, or of an attempt that is repeated.
func (r *run) archive(ctx context.Context, p *fetcher.Page, purpose string) {
	x := exchange(p, purpose)
	if x == nil || len(r.exchanges) == 0 {
		return
	}
	r.sinkMu.Lock()
	defer r.sinkMu.Unlock()
	for _, s := range r.exchanges {
		if err := s.AppendExchange(context.WithoutCancel(ctx), x); err != nil {
			if r.commits != nil {
				r.commits.refuse()
			}
			r.fail(err)
		}
	}
}

// record is v as the sinks take it.
func (v *Visit) record() *sink.Record {
	rec := &sink.Record{
		Schema: sink.Schema, URL: v.URL.String(), Final: v.Location.String(), Hops: v.Hops, Via: v.Via.String(),
		Depth: v.Depth, Status: v.Status(), Outcome: string(v.Outcome), Reason: v.Reason, Rule: v.Rule,
		Detail: v.Detail, Attempt: v.Attempt, Queued: v.Queued.UTC(), Started: v.Started, Ended: v.Ended.UTC(),
	}
	if !v.Started.IsZero() {
		rec.Started = v.Started.UTC()
	}
	if v.Err != nil {
		rec.Error = v.Err.Error()
	}
	if p := v.Page; p != nil {
		rec.Type, rec.Charset, rec.Bytes, rec.Truncated = p.ContentType, p.Charset, len(p.Body), p.Truncated
		rec.CharsetFrom, rec.ETag, rec.LastModified = p.CharsetFrom, v.Validators.ETag, v.Validators.LastModified
		rec.SHA256 = v.hash()
	}
	rec.SameAs, rec.NearOf = v.SameAs, v.NearOf
	for _, s := range v.Usage.Statements {
		rec.Usage = append(rec.Usage, sink.Usage{Use: s.Use, Signal: s.Signal.String(), Origin: string(s.Origin)})
	}
	if v.Outcome != Refused && v.Reason != ReasonType { // what a page's own signal keeps us from taking is not archived
		rec.Exchange = exchange(v.Page, "")
	}
	rec.Directives, rec.Data = v.Directives.Terms(), v.data
	if d := v.Doc; d != nil {
		rec.Title, rec.Canonical = d.Title, d.Canonical
		if v.Canonical().IsZero() { // it may have a password in it
			rec.Canonical = weburl.Redact(d.Canonical)
		}
		rec.Links = v.countLinks()
	}
	return rec
}

// countLinks is the visit's links by fate.
func (v *Visit) countLinks() *sink.LinkCount {
	n := v.counts
	c := &sink.LinkCount{
		Follow: n[FateFollow], OutOfScope: n[FateScope], TooDeep: n[FateDepth], NoFollow: n[FateNoFollow],
		Resource: n[FateResource], Invalid: n[FateInvalid], Trap: n[FateTrap], Limit: n[FateLimit], Full: n[FateFull],
	}
	for _, k := range n {
		c.Found += k
	}
	return c
}
