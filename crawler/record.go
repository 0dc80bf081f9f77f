package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// record returns v in the form that the sinks take.
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
		rec.Usage = append(rec.Usage, sink.Usage{Use: s.Use, Signal: s.Signal.String(), Origin: string(s.Origin), Value: s.Value})
	}
	// An answer that the page's own signal keeps us from taking is not archived.
	if v.Outcome != Refused && v.Reason != reasonType {
		rec.Exchange = exchange(v.Page, "")
	}
	rec.Rendered = v.Rendered.record()
	rec.Directives, rec.Data = v.Directives.Terms(), v.data
	if d := v.Doc; d != nil {
		rec.Title, rec.Canonical = d.Title, d.Canonical
		if v.Canonical().IsZero() { // it may contain a password
			rec.Canonical = weburl.Redact(d.Canonical)
		}
		rec.Links = v.countLinks()
	}
	return rec
}

// record returns r in the form that the sinks take.
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
		s.Requests = append(s.Requests, sink.RenderRequest{
			URL: weburl.Redact(q.URL), Kind: string(q.Kind), Method: q.Method, Status: q.Status, Refused: q.Refused,
		})
	}
	for _, to := range r.Routes {
		s.Routes = append(s.Routes, sink.RenderRoute{URL: to.URL.String(), How: string(to.How)})
	}
	return s
}

// maxFragment is the length in bytes up to which the fragment of a link is written.
const maxFragment = 256

// outlinks returns the links of the page in the form that the sinks take. They share no memory with the page.
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

// exchange returns a request with its answer as archives store them, nil without a recording.
func exchange(p *fetcher.Page, purpose string) *sink.Exchange {
	if p == nil || p.Raw == nil {
		return nil
	}
	return &sink.Exchange{
		URL: p.URL.String(), Addr: p.Addr, Started: p.Written, Ended: p.Ended, Protocol: p.Proto, Purpose: purpose,
		Request: p.Raw.Request, Head: p.Raw.Head, Body: p.Raw.Body, Truncated: p.Truncated,
	}
}
