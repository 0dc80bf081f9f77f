package chromium

import (
	"context"
	"slices"
	"sync"
)

// turns assigns tabs to rounds. Waiting hosts take turns, so that the slow pages of one host delay a page of another only by a few rounds.
type turns struct {
	mu      sync.Mutex
	free    int
	hosts   []string                   // hosts with waiting rounds, in the order in which they get a tab
	waiting map[string][]chan struct{} // waiting rounds by host; a channel is closed when its round gets a tab
}

func newTurns(tabs int) *turns { return &turns{free: tabs, waiting: map[string][]chan struct{}{}} }

// take waits for a tab. If the context ends before, it returns the context's error and no tab.
func (t *turns) take(ctx context.Context, host string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if t.waiting[host] == nil {
		t.hosts = append(t.hosts, host)
	}
	t.waiting[host] = append(t.waiting[host], mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		if !t.leave(host, mine) {
			t.give() // the round got a tab meanwhile: pass it on
		}
		return context.Cause(ctx)
	}
}

// give returns a tab, which the next waiting host gets.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.hosts) == 0 {
		t.free++
		return
	}
	host := t.hosts[0]
	next := t.waiting[host][0]
	t.remove(host, next)
	if t.waiting[host] != nil { // further rounds of the host wait until the other hosts have had a turn
		t.hosts = append(t.hosts[1:], host)
	}
	close(next)
}

// leave ends the wait of a round. It returns false if the round already has a tab.
func (t *turns) leave(host string, mine chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(host, mine)
}

// remove removes a waiting round, and reports whether it was waiting. The caller must hold the lock.
func (t *turns) remove(host string, mine chan struct{}) bool {
	i := slices.Index(t.waiting[host], mine)
	if i < 0 {
		return false
	}
	t.waiting[host] = slices.Delete(t.waiting[host], i, i+1)
	if len(t.waiting[host]) == 0 {
		delete(t.waiting, host)
		t.hosts = slices.DeleteFunc(t.hosts, func(h string) bool { return h == host })
	}
	return true
}
