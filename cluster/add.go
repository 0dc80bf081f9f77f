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

// Adder adds requests to a job from outside, such as seeds that become known while it runs. A shard queues what it does not know yet, as
// it does with links: what is added again, by whomever, is not requested again. Its methods are not safe for concurrent use.
type Adder struct {
	engine  Engine
	job     Job
	waiting map[int][]frontier.Request // to be sent, by shard
	sizes   map[int]int                // of their texts, in bytes
	size    int                        // of all
	held    time.Time                  // when the end was held last
}

// addSize limits what an Adder keeps, in bytes of texts.
const addSize = 16 << 20

// addAtOnce limits the messages that an Adder sends at the same time.
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

// Add takes a request to send. From time to time it calls [Adder.Flush], whose error it returns.
func (a *Adder) Add(ctx context.Context, r frontier.Request) error {
	shard, n := a.job.Shard(r.URL.Host()), linkSize(&r)
	if a.sizes[shard]+n > offerSize { // a message is no larger
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

// Flush sends what is waiting. When it returns nil, all requests that were added are durable, and the job does not end before their
// shards have queued them, unless by a limit or an order. The error wraps ErrOver if the job has ended: then what was sent is queued when
// the job goes on, and it is not known what was. Otherwise it is the engine's, after a TTL in which sending has failed, or the context's:
// Flush can be called again.
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

// hold makes attempts to end the job fail that did not see what was sent until now. The error is ErrOver if one has succeeded.
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
