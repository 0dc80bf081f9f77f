package crawler

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
)

// output passes visits to the sinks, one at a time.
type output struct {
	sinks     []sink.Sink
	exchanges []sink.ExchangeSink // the sinks that archive exchanges
	links     bool                // one of the sinks stores links
	failed    func(error)         // called when an exchange could not be stored, with mu held

	mu sync.Mutex // the order of records is the order of ends in a durable frontier
}

func newOutput(sinks []sink.Sink, failed func(error)) *output {
	o := &output{sinks: sinks, failed: failed}
	for _, s := range sinks {
		if x, ok := s.(sink.ExchangeSink); ok {
			o.exchanges = append(o.exchanges, x)
		}
		if l, ok := s.(sink.LinkSink); ok && l.KeepsLinks() {
			o.links = true
		}
	}
	return o
}

// record returns v as a record for the sinks, nil if there are none.
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

// append is write for callers that hold the lock.
func (o *output) append(ctx context.Context, rec *sink.Record) error {
	for _, s := range o.sinks {
		if err := s.Append(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// archive stores an exchange that is not a visit: one for a robots.txt, or an attempt that is repeated.
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

// sync makes the sinks durable and returns the length of each.
func (o *output) sync() (map[string]int64, error) {
	offsets := make(map[string]int64, len(o.sinks))
	for i, s := range o.sinks {
		offset, err := s.Sync()
		if err != nil {
			return nil, err
		}
		offsets[sinkName(s, i)] = offset
	}
	return offsets, nil
}

// errForeignOutput is wrapped by Run's error when a sink contains something that this crawl did not write.
var errForeignOutput = errors.New("holds records that the crawl in this frontier has not written: give it a place of its own")

// restore cuts every sink back to what was committed.
func (o *output) restore(offsets map[string]int64) error {
	for i, s := range o.sinks {
		name := sinkName(s, i)
		offset, known := offsets[name]
		if known {
			if err := s.Restore(offset); err != nil {
				return fmt.Errorf("sink %s: cutting it back to what was committed: %w", name, err)
			}
			continue
		}
		if at, err := s.Sync(); err != nil || at != 0 {
			return fmt.Errorf("sink %s: %w", name, errors.Join(err, errForeignOutput))
		}
	}
	return nil
}

// checkNames returns an error if sinks could not be distinguished after a crash.
func (o *output) checkNames() error {
	seen := map[string]bool{}
	for i, s := range o.sinks {
		name := sinkName(s, i)
		if seen[name] {
			return fmt.Errorf("crawler: Config.Sinks: two are named %s; in a crawl with a durable frontier each needs its own name (sink.Named)", name)
		}
		seen[name] = true
	}
	return nil
}

// sinkName returns the name under which a sink's offset is stored.
func sinkName(s sink.Sink, i int) string {
	if n, ok := s.(sink.Named); ok {
		return n.Name()
	}
	return fmt.Sprintf("sink-%d", i)
}
