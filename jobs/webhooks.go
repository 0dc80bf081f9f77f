package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Event is the body of a request to a webhook: a job has reached a state.
type Event struct {
	State State     `json:"state"` // Paused, Done, Stopped or Failed
	Time  time.Time `json:"time"`
	Job   Info      `json:"job"` // state of the job when the event is sent
}

// Times for webhooks.
const (
	firstRetry = 10 * time.Second // delay after the first failure; the delay doubles with each further failure
	maxRetry   = time.Hour
	maxUntold  = 24 * time.Hour // time after which an event is dropped
)

// pendingEvent is an event that a webhook has not acknowledged. It is stored atomically with the state of its job.
type pendingEvent struct {
	URL   string    `json:"url"`
	State State     `json:"state"`
	Time  time.Time `json:"time"`
}

// attempt holds the time of an event's next attempt. A new process sends it at once.
type attempt struct {
	at    time.Time
	pause time.Duration
}

// maxOwed limits the stored events of a job. The oldest are dropped first.
const maxOwed = 100

// owe queues events about the state of a job for its webhooks. The caller must hold the lock, and save the job.
func (m *Manager) owe(e *entry) {
	e.pending = m.events(e, e.info.State)
	m.ringHooks()
}

// events returns the events for the webhooks of a job that has entered a state.
func (m *Manager) events(e *entry, s State) []pendingEvent {
	if m.config.Send == nil || s != Paused && !s.Ended() {
		return e.pending
	}
	all := slices.Clone(e.pending)
	for _, url := range e.info.Webhooks {
		all = append(all, pendingEvent{url, s, stamp()})
	}
	return all[max(0, len(all)-maxOwed):]
}

// ringHooks wakes the sender of events.
func (m *Manager) ringHooks() {
	select {
	case m.hooks <- struct{}{}:
	default: // the channel still has a signal for the sender
	}
}

// maxCalls limits the webhooks that are called at a time.
const maxCalls = 8

// calls holds the state of the webhooks of a process. It is guarded by Manager.mu.
type calls struct {
	tries map[pendingEvent]attempt
	busy  map[string]bool // webhooks that are being called
}

// send sends events until the Manager is closed: to each webhook one at a time, and the events of a job in order.
func (m *Manager) send() {
	c := &calls{map[pendingEvent]attempt{}, map[string]bool{}}
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		id, what, event, wait := m.next(c)
		if id != "" {
			sending.Go(func() { m.call(c, id, what, event) })
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-m.hooks:
		case <-timer.C:
		case <-m.ending.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// call sends an event to a webhook that next has made busy.
func (m *Manager) call(c *calls, id string, what pendingEvent, event *Event) {
	defer m.ringHooks()
	body, err := json.Marshal(event)
	if err == nil {
		err = m.config.Send(m.ending, what.URL, body)
	}
	if m.ending.Err() != nil {
		return // the next process sends the event
	}
	old := time.Since(what.Time) >= maxUntold
	if err != nil && old {
		m.note(id, fmt.Sprintf("the webhook %s was not notified that it is %s, and will not be: %v", what.URL, what.State, err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(c.busy, what.URL)
	if err != nil && !old {
		t := c.tries[what]
		t.pause = min(max(firstRetry, 2*t.pause), maxRetry)
		t.at = time.Now().Add(t.pause)
		c.tries[what] = t
		return
	}
	delete(c.tries, what)
	m.told(id, what)
}

// next returns an event that is due, and makes its webhook busy. If none is due, it returns the time until one is.
func (m *Manager) next(c *calls) (id string, what pendingEvent, event *Event, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = maxRetry
	if len(c.busy) == maxCalls {
		return "", what, nil, wait
	}
	now := time.Now()
	for id, e := range m.jobs {
		seen := map[string]bool{} // webhooks with an event before this one, which must be sent first
		for _, u := range e.pending {
			if seen[u.URL] || c.busy[u.URL] {
				continue
			}
			seen[u.URL] = true
			if d := c.tries[u].at.Sub(now); d > 0 {
				wait = min(wait, d)
				continue
			}
			c.busy[u.URL] = true
			return id, u, &Event{u.State, u.Time, e.info}, 0
		}
	}
	return "", what, nil, wait
}

// told records that a webhook has acknowledged an event. The caller must hold the lock.
func (m *Manager) told(id string, what pendingEvent) {
	e := m.jobs[id]
	if e == nil {
		return
	}
	if at := slices.Index(e.pending, what); at >= 0 {
		e.pending = slices.Delete(e.pending, at, at+1)
	}
	if err := m.save(e); err != nil {
		m.note(id, err.Error())
	}
}

// stopHooks ends the sender of events.
func (m *Manager) stopHooks() {
	m.end()
	m.sender.Wait()
}
