package chromium

import (
	"context"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
)

// meter measures the processor time of a page, by the processes that show only this page. The goroutine of a round changes it while it
// holds the browser's lock.
type meter struct {
	pids  []int
	began time.Duration // processor time of pids when the round began
	limit time.Duration // limit for the round; 0: none
}

// reading returns the processor time of the page's processes that still run.
func (m *meter) reading() (d time.Duration) {
	for _, pid := range m.pids {
		d += max(0, cpu(pid))
	}
	return d
}

// taken returns the processor time of the round so far.
func (m *meter) taken() time.Duration { return max(0, m.reading()-m.began) }

// measure starts the measurement of a round. limit is the limit of the round's processor time; 0: none.
func (t *tab) measure(limit time.Duration) {
	m := meter{t.meter.pids, t.meter.reading(), limit}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.meter = m
}

// measured ends the measurement of a round and records its processor time. Then the page can be closed or parked.
func (t *tab) measured() {
	t.result.Processor = t.meter.taken()
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.meter.limit = 0
	t.box.spend(false)
}

// endSpent ends rounds that have used up their processor time. The goroutine of weigh calls it.
func (b *browser) endSpent() {
	b.mu.Lock()
	meters := map[cdp.BrowserContextID]meter{}
	for id, t := range b.contexts {
		if t.meter.limit > 0 {
			meters[id] = t.meter
		}
	}
	b.mu.Unlock()
	for id, m := range meters {
		if m.taken() < m.limit {
			continue
		}
		b.mu.Lock()
		if t := b.contexts[id]; t != nil && t.meter.limit == m.limit && t.meter.began == m.began {
			t.box.spend(true)
		}
		b.mu.Unlock()
	}
}

// alone calls open while no other page is opened in the browser. Processes that start meanwhile belong to this page, because browser
// contexts do not share processes.
func (t *tab) alone(ctx context.Context, open func() error) error {
	select {
	case t.b.opening <- struct{}{}:
		defer func() { <-t.b.opening }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pid := t.b.process.cmd.Process.Pid
	before := renderers(pid)
	if err := open(); err != nil {
		return err
	}
	own := slices.DeleteFunc(renderers(pid), func(pid int) bool { return slices.Contains(before, pid) })
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.meter.pids = own
	return nil
}
