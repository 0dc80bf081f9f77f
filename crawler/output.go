package crawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// output passes visits to the sinks, one at a time.
type output struct {
	sinks     []sink.Sink
	exchanges []sink.Sink // the elements of sinks that archive exchanges
	links     bool        // at least one sink stores links
	failed    func(error) // called when an exchange could not be stored, with mu held

	mu sync.Mutex // held also while a durable frontier gets the visit's end: records and ends have the same order
}

func newOutput(sinks []sink.Sink, failed func(error)) *output {
	o := &output{sinks: sinks, failed: failed}
	for _, s := range sinks {
		needs := s.Needs()
		if needs.Exchanges {
			o.exchanges = append(o.exchanges, s)
		}
		o.links = o.links || needs.Links
	}
	return o
}

// record returns the record of v for the sinks, or nil if there are no sinks.
func (o *output) record(v *Visit) *sink.Record {
	if len(o.sinks) == 0 {
		return nil
	}
	rec := v.record()
	if o.links {
		rec.Outlinks = v.outlinks()
	}
	return rec
}

// write appends a record to the sinks.
func (o *output) write(ctx context.Context, rec *sink.Record) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.append(context.WithoutCancel(ctx), rec)
}

// append is like write, for callers that hold the lock.
func (o *output) append(ctx context.Context, rec *sink.Record) error {
	for _, s := range o.sinks {
		if err := s.Append(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// archive stores an exchange that is not a visit: a request for a robots.txt, or an attempt after which the URL is requested again.
func (o *output) archive(ctx context.Context, p *fetcher.Page, purpose string) {
	if x := exchange(p, purpose); x != nil && len(o.exchanges) > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.appendExchange(ctx, x)
	}
}

// appendExchange stores an exchange. The caller holds the lock.
func (o *output) appendExchange(ctx context.Context, x *sink.Exchange) {
	for _, s := range o.exchanges {
		if err := s.AppendExchange(context.WithoutCancel(ctx), x); err != nil {
			o.failed(err)
		}
	}
}

// sync makes the sinks durable and returns the offset of each.
func (o *output) sync(ctx context.Context) (map[string]int64, error) {
	offsets := make(map[string]int64, len(o.sinks))
	for i, s := range o.sinks {
		offset, err := s.Sync(ctx)
		if err != nil {
			return nil, err
		}
		offsets[sinkName(s, i)] = offset
	}
	return offsets, nil
}

// errForeignOutput is wrapped by Run's error if a sink has records that this crawl did not write.
var errForeignOutput = errors.New("holds records of another crawl: use a separate output for each crawl")

// restore cuts every sink back to its committed offset.
func (o *output) restore(ctx context.Context, offsets map[string]int64) error {
	for i, s := range o.sinks {
		name := sinkName(s, i)
		offset, known := offsets[name]
		if known {
			if err := s.Restore(ctx, offset); err != nil {
				return fmt.Errorf("sink %s: cutting it back to what was committed: %w", name, err)
			}
			continue
		}
		if at, err := s.Sync(ctx); err != nil || at != 0 {
			return fmt.Errorf("sink %s: %w", name, errors.Join(err, errForeignOutput))
		}
	}
	return nil
}

// checkNames returns an error if two sinks have the same name, because they could not be distinguished after a crash.
func (o *output) checkNames() error {
	seen := map[string]bool{}
	for i, s := range o.sinks {
		name := sinkName(s, i)
		if seen[name] {
			return fmt.Errorf("crawler: Config.Sinks: two are named %s; in a crawl with a durable frontier each needs its own name (Sink.Name)", name)
		}
		seen[name] = true
	}
	return nil
}

// sinkName returns the name under which a sink's offset is stored.
func sinkName(s sink.Sink, i int) string {
	if name := s.Name(); name != "" {
		return name
	}
	return fmt.Sprintf("sink-%d", i)
}

// record returns the record of v for the sinks.
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
		rec.SHA256, rec.Cached = v.hash(), p.Cached
	}
	rec.SameAs, rec.NearOf = v.SameAs, v.NearOf
	for _, s := range v.Usage.Statements {
		rec.Usage = append(rec.Usage, sink.Usage{Use: s.Use, Signal: s.Signal.String(), Origin: string(s.Origin), Value: s.Value})
	}
	rec.Terms = v.Terms.Terms()
	// A response that is refused, or excluded by its type, is not archived.
	if v.Outcome != Refused && v.Reason != reasonType {
		rec.Exchange = exchange(v.Page, "")
	}
	rec.Rendered = v.Rendered.record()
	rec.Directives, rec.Data = v.Directives.Terms(), v.data
	if d := v.Doc; d != nil {
		rec.Title, rec.Canonical = d.Title, d.Canonical
		if v.Canonical().IsZero() { // not a valid URL, so Redact removes a password
			rec.Canonical = weburl.Redact(d.Canonical)
		}
		rec.Links = v.countLinks()
	}
	return rec
}

// record returns the record of r for the sinks.
func (r *Rendered) record() *sink.Rendered {
	if r == nil {
		return nil
	}
	s := &sink.Rendered{
		Why: r.Why, Cut: r.Cut, Rounds: r.Rounds, Millis: int(r.Virtual.Milliseconds()), Bytes: len(r.DOM), Dropped: r.Dropped,
		Console: r.Console, Dialogs: r.Dialogs, DOM: r.DOM, Screenshot: r.Screenshot,
	}
	if r.DOM != nil {
		sum := sha256.Sum256(r.DOM)
		s.SHA256 = hex.EncodeToString(sum[:])
	}
	for _, q := range r.Requests {
		q.URL = weburl.Redact(q.URL)
		s.Requests = append(s.Requests, q)
	}
	for _, to := range r.Routes {
		s.Routes = append(s.Routes, sink.RenderRoute{URL: to.URL.String(), How: string(to.How)})
	}
	return s
}

// maxFragment limits the length of recorded link fragments, in bytes.
const maxFragment = 256

// outlinks returns the page's links for the sinks. They share no memory with the page.
func (v *Visit) outlinks() []sink.Outlink {
	links := v.Links()
	list := make([]sink.Outlink, len(links))
	for i := range links {
		l := &links[i]
		list[i] = sink.Outlink{
			From: v.URL.String(), To: l.URL.String(), Text: strings.Clone(l.Text), Kind: l.Kind.String(), Rel: strings.Fields(l.Rel.String()),
			Fate: string(l.Fate), Rule: l.Rule,
		}
		if list[i].To == "" {
			list[i].Ref = weburl.Redact(strings.Clone(l.Ref))
			continue
		}
		if _, fragment, _ := strings.Cut(l.Ref, "#"); len(fragment) <= maxFragment {
			list[i].Fragment = strings.Clone(fragment)
		}
	}
	return list
}

// countLinks counts the visit's links by fate.
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

// exchange returns a request and its response for archives, or nil if they were not recorded.
func exchange(p *fetcher.Page, purpose string) *sink.Exchange {
	if p == nil || p.Raw == nil {
		return nil
	}
	return &sink.Exchange{
		URL: p.URL.String(), Addr: p.Addr, Started: p.Written, Ended: p.Ended, Protocol: p.Proto, Purpose: purpose,
		Request: p.Raw.Request, Head: p.Raw.Head, Body: p.Raw.Body, Truncated: p.Truncated,
	}
}
