package live

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Source supplies the facts about a crawl: a job.Follower, or a [Feed].
type Source interface {
	// Poll calls line and visit with everything that is new since the last call.
	Poll(line func(*ledger.Entry), visit func(*sink.Record)) error
}

// Feed is the Source of a crawl that is not kept in a directory. It collects entries and visits until Poll takes them. It implements
// [ledger.Recorder] and [sink.Sink]. Poll must not be called concurrently.
type Feed struct {
	sink.Base

	// Full is called by goroutines of the crawl when enough items were collected. It must not wait for these goroutines. Set it before the
	// crawl begins. nil: items are kept until Poll is called.
	Full func()

	mu     sync.Mutex
	lines  batch[ledger.Entry]
	visits batch[sink.Record]
}

// batch collects items until they are taken. It reuses the memory of items taken earlier.
type batch[T any] struct{ given, taken []T }

const (
	enough   = 256  // number of visits after which Full is called: few enough for the processor's caches
	many     = 1024 // number of lines after which Full is called, if there are few visits
	maxSpare = 4096 // maximum number of items whose memory is reused
)

// next adds an item and returns a pointer to it. The item has old contents.
func (b *batch[T]) next() *T {
	if len(b.given) < cap(b.given) {
		b.given = b.given[:len(b.given)+1]
	} else {
		var zero T
		b.given = append(b.given, zero)
	}
	return &b.given[len(b.given)-1]
}

// take returns the items added since the last call. They are valid until the next call.
func (b *batch[T]) take() []T {
	if cap(b.taken) > maxSpare {
		b.taken = nil
	}
	b.given, b.taken = b.taken[:0], b.given
	return b.taken
}

// Record implements [ledger.Recorder]. It rarely calls Full: the goroutine that writes a request has a small stack, which would have to
// grow again after each garbage collection that shrinks it. So Append calls Full for most items.
func (f *Feed) Record(e *ledger.Entry) error {
	f.mu.Lock()
	line := f.lines.next()
	clauses := append(line.Clauses[:0], e.Clauses...)
	*line = *e
	line.Clauses = clauses
	full := len(f.lines.given)%many == 0
	f.mu.Unlock()
	f.tell(full)
	return nil
}

// Append implements [sink.Sink].
func (f *Feed) Append(_ context.Context, r *sink.Record) error {
	f.mu.Lock()
	v := f.visits.next()
	*v = *r
	v.Usage = slices.Clone(r.Usage)
	v.Hops, v.Directives, v.Data, v.Links, v.WARC, v.Outlinks, v.Exchange = nil, nil, nil, nil, nil, nil, nil // not shown by the page
	full := len(f.visits.given)%enough == 0
	f.mu.Unlock()
	f.tell(full)
	return nil
}

func (f *Feed) tell(full bool) {
	if full && f.Full != nil {
		f.Full()
	}
}

// Poll implements [Source].
func (f *Feed) Poll(line func(*ledger.Entry), visit func(*sink.Record)) error {
	f.mu.Lock()
	lines, visits := f.lines.take(), f.visits.take()
	f.mu.Unlock()
	for i := range lines {
		line(&lines[i])
	}
	for i := range visits {
		visit(&visits[i])
	}
	return nil
}

// Write implements [ledger.Recorder]. It is never called, because Record is.
func (f *Feed) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Name implements [sink.Sink].
func (f *Feed) Name() string { return "page" }

// Sync implements [sink.Sink]. Nothing is durable.
func (f *Feed) Sync(_ context.Context) (int64, error) { return 0, nil }

// Restore implements [sink.Sink]. It always fails: a crawl that is not kept cannot be resumed.
func (f *Feed) Restore(context.Context, int64) error { return sink.ErrNotCuttable }

// Close implements [sink.Sink].
func (f *Feed) Close(_ context.Context) error { return nil }
