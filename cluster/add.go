package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Adder adds requests to a running job from outside, such as new seeds. As with links, a shard queues only URLs that it does not know:
// adding a URL again has no effect. Its methods are not safe for concurrent use.
type Adder struct {
	engine  Engine
	job     Job
	waiting map[int][]frontier.Request // requests not sent yet, by shard
	sizes   map[int]int                // bytes of the requests' URLs and other texts, by shard
	size    int                        // sum of all sizes
	held    time.Time                  // last time at which the method hold made attempts to end the job fail
}

// addSize limits the bytes of texts that an Adder buffers.
const addSize = 16 << 20

// addAtOnce limits the concurrent messages of an Adder.
const addAtOnce = 16

// NewAdder returns an Adder for the job of an engine. The error wraps ErrOver or ErrNoJob, or is the engine's.
func NewAdder(ctx context.Context, e Engine) (*Adder, error) {
	j, err := LoadJob(ctx, e)
	if err != nil {
		return nil, err
	}
	a := &Adder{engine: e, job: j, waiting: map[int][]frontier.Request{}, sizes: map[int]int{}}
	return a, a.hold(ctx)
}

// Add buffers a request. From time to time it calls [Adder.Flush], whose error it returns.
func (a *Adder) Add(ctx context.Context, r frontier.Request) error {
	shard, n := a.job.Shard(r.URL.Host()), linkSize(&r)
	if a.sizes[shard]+n > offerSize { // offerSize is the maximum size of a message
		if err := a.Flush(ctx); err != nil {
			return err
		}
	}
	a.waiting[shard] = append(a.waiting[shard], r)
	a.sizes[shard] += n
	a.size += n
	if a.size > addSize || time.Since(a.held) > a.job.TTL/12 {
		return a.Flush(ctx)
	}
	return nil
}

// Flush sends the buffered requests. When it returns nil, all requests that were added are durable, and the job does not end before their
// shards have queued them, unless a limit or an order ends the job. The error wraps ErrOver if the job has ended: then it is unknown which
// requests were sent; those are queued if the job is resumed. Any other error is the context's, or the engine's after Flush has repeated
// the sending for the job's TTL: then Flush can be called again.
func (a *Adder) Flush(ctx context.Context) error {
	var calls sync.WaitGroup
	var mu sync.Mutex
	var failed error
	turns := make(chan struct{}, addAtOnce)
	for _, shard := range slices.Collect(maps.Keys(a.waiting)) {
		turns <- struct{}{}
		calls.Go(func() {
			defer func() { <-turns }()
			m, began := message{from: shard, links: a.waiting[shard]}, time.Now()
			if err := m.send(ctx, a.engine, shard, func() bool { return time.Since(began) >= a.job.TTL }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	calls.Wait()
	if failed != nil {
		return failed
	}
	clear(a.waiting)
	clear(a.sizes)
	a.size = 0
	return a.hold(ctx)
}

// hold makes pending attempts to end the job fail, since they may not have seen all requests sent so far. ErrOver: the job has ended.
func (a *Adder) hold(ctx context.Context) error {
	for {
		end, rev, err := a.engine.Load(ctx, registerEnd)
		if err != nil {
			return err
		}
		if len(end) > 0 {
			return fmt.Errorf("%w (%s)", ErrOver, end)
		}
		if _, err = a.engine.Store(ctx, registerEnd, nil, rev); !errors.Is(err, ErrConflict) {
			a.held = time.Now()
			return err
		}
	}
}
