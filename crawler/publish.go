package crawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/amble-crawler/amble/sink"
)

// publish makes a visit known: to the report, the sinks, the trace and the loop over Pages.
func (r *run) publish(ctx context.Context, v *Visit) error {
	v.Ended = time.Now()
	if len(r.cfg.Sinks) > 0 {
		if err := r.write(ctx, v.record()); err != nil {
			return err
		}
	}
	r.tally.visit(v)
	r.cfg.Trace.visited(v)
	if r.deliver != nil {
		r.deliver(v)
	}
	return nil
}

func (r *run) write(ctx context.Context, rec *sink.Record) error {
	r.sinkMu.Lock()
	defer r.sinkMu.Unlock()
	for _, s := range r.cfg.Sinks {
		if err := s.Append(context.WithoutCancel(ctx), rec); err != nil {
			return err
		}
	}
	return nil
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
		sum := sha256.Sum256(p.Body)
		rec.SHA256 = hex.EncodeToString(sum[:])
	}
	if d := v.Doc; d != nil {
		rec.Title, rec.Canonical, rec.Directives = d.Title, d.Canonical, v.Directives.Terms()
		rec.Links = countLinks(v.links)
	}
	return rec
}

func countLinks(links []Link) *sink.LinkCount {
	n := &sink.LinkCount{Found: len(links)}
	at := map[Fate]*int{
		FateFollow: &n.Follow, FateScope: &n.OutOfScope, FateDepth: &n.TooDeep, FateNoFollow: &n.NoFollow,
		FateResource: &n.Resource, FateInvalid: &n.Invalid, FateTrap: &n.Trap, FateLimit: &n.Limit,
	}
	for i := range links {
		*at[links[i].Fate]++
	}
	return n
}
