package disk

import (
	"errors"
	"slices"
	"sync"
)

// writer turns the ops of all callers into batches. Ops that arrive while a batch is built and applied form the next batch: the busier
// the store, the more ops share a sync. The writer has two goroutines: run builds and applies batches, sync waits for the disk and
// publishes their effects. Only run writes, so data that run has read does not change.
type writer struct {
	c       Config
	t       tuning
	engine  *engine
	lanes   *lanes
	known   *known
	offsets *offsets

	stored stored // only run uses it
	last   *lastWrite

	wake   chan struct{} // wakes run; holds one signal
	groups chan *group   // groups that run has applied, in order, for sync
	work   sync.WaitGroup

	mu         sync.Mutex
	inbox      []*op // ops that run has not begun
	unanswered map[*op]struct{}
	stopped    bool // run ends when the inbox is empty
}

func newWriter(c Config, t tuning) *writer {
	return &writer{c: c, t: t, wake: make(chan struct{}, 1), groups: make(chan *group), unanswered: map[*op]struct{}{}}
}

func (w *writer) start() {
	w.work.Go(w.run)
	w.work.Go(w.sync)
}

// stop ends the writer after it has written all its ops.
func (w *writer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.look()
}

// look wakes run.
func (w *writer) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// write writes o and waits until it is durable.
func (w *writer) write(o *op) error {
	if err := w.submit(o); err != nil {
		return err
	}
	<-o.over
	return o.err
}

func (w *writer) submit(o *op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.engine.failure.err(); err != nil {
		return err
	}
	o.over = make(chan struct{})
	w.unanswered[o] = struct{}{}
	w.inbox = append(w.inbox, o)
	w.look()
	return nil
}

// answer ends the calls of those ops that have not ended yet.
func (w *writer) answer(ops []*op, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range ops {
		w.answerOne(o, err)
	}
}

func (w *writer) answerOne(o *op, err error) {
	if _, waiting := w.unanswered[o]; waiting {
		delete(w.unanswered, o)
		o.err = err
		close(o.over)
	}
}

// refuse ends the calls of all ops that run has not begun. If the engine hangs, refuse ends the calls of all other ops, too, because run
// may never return.
func (w *writer) refuse(err error, hangs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.inbox {
		w.answerOne(o, err)
	}
	w.inbox = nil
	if hangs {
		for o := range w.unanswered {
			w.answerOne(o, err)
		}
	}
}

// take waits for ops and returns as many as fit into one group, or none if the writer must end. While it waits, it loads waiting URLs.
func (w *writer) take() []*op {
	for {
		if w.lanes.loadLow() {
			continue
		}
		if ops, stopped := w.takeInbox(); len(ops) > 0 || stopped {
			return ops
		}
		<-w.wake
	}
}

func (w *writer) takeInbox() (ops []*op, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, links, bytes := 0, 0, 0
	for n < len(w.inbox) && n < w.t.ops {
		links += w.inbox[n].links
		bytes += w.inbox[n].bytes
		if n > 0 && (links > w.t.links || bytes > groupBytes) {
			break
		}
		n++
	}
	ops = slices.Clone(w.inbox[:n])
	w.inbox = slices.Delete(w.inbox, 0, n)
	return ops, w.stopped
}

// run builds and applies one group after the other until the writer is stopped.
func (w *writer) run() {
	var g *group
	defer func() {
		if g != nil { // the engine has ended this goroutine
			w.publish(g, errors.New("the engine gave up"))
		}
		w.lanes.stopLoading()
		close(w.groups)
	}()
	for {
		ops := w.take()
		if len(ops) == 0 {
			return
		}
		g = w.newGroup(ops)
		if err := w.apply(g); err != nil {
			w.publish(g, err)
		} else {
			w.cacheFits()
			large := g.batch.Len() > w.c.MemTableSize/2
			w.groups <- g
			if large {
				w.engine.flush()
			}
		}
		g = nil
	}
}

// apply builds the batch of a group and makes the batch visible to readers of the disk.
func (w *writer) apply(g *group) error {
	if err := w.engine.failure.err(); err != nil {
		return err
	}
	if err := g.build(); err != nil {
		return err
	}
	if err := w.c.journaled(w.engine.failure.dir, g.batch); err != nil {
		return err
	}
	return w.engine.apply(g.batch, w.c.Journal == nil)
}

// cacheFits adapts the size of the cache to the number of known URLs.
func (w *writer) cacheFits() { w.engine.cache.fit(w.stored.urls()) }

// sync waits until each group is durable and publishes it.
func (w *writer) sync() {
	for g := range w.groups {
		err := g.batch.SyncWait()
		if err == nil && w.last != nil {
			w.last.note(g.wrote)
		}
		w.publish(g, err)
		_ = g.batch.Close()
	}
}

// publish makes the effects of a group visible and ends the calls of its ops. If err is not nil, the group has no effects.
func (w *writer) publish(g *group, err error) {
	if err != nil {
		err = w.engine.failure.fail(err)
	} else {
		w.known.noteGroup(g)
		w.offsets.publish(g.ops)
	}
	w.lanes.publish(g, err == nil)
	w.answer(g.ops, err)
}
