package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
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

// send sends events until the Manager is closed: one at a time, and the events of a job in order.
func (m *Manager) send() {
	tries := map[pendingEvent]attempt{}
	for {
		id, what, event, wait := m.next(tries)
		if id == "" {
			timer := time.NewTimer(wait)
			select {
			case <-m.hooks:
			case <-timer.C:
			case <-m.ending.Done():
				timer.Stop()
				return
			}
			timer.Stop()
			continue
		}
		body, err := json.Marshal(event)
		if err == nil {
			err = m.config.Send(m.ending, what.URL, body)
		}
		if m.ending.Err() != nil {
			return // the next process sends the event
		}
		old := time.Since(what.Time) >= maxUntold
		if err != nil && !old {
			t := tries[what]
			t.pause = min(max(firstRetry, 2*t.pause), maxRetry)
			t.at = time.Now().Add(t.pause)
			tries[what] = t
			continue
		}
		if err != nil {
			m.note(id, fmt.Sprintf("the webhook %s was not notified that it is %s, and will not be: %v", what.URL, what.State, err))
		}
		delete(tries, what)
		m.told(id, what)
	}
}

// next returns an event that is due, or the time until one is.
func (m *Manager) next(tries map[pendingEvent]attempt) (id string, what pendingEvent, event *Event, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = maxRetry
	now := time.Now()
	for id, e := range m.jobs {
		seen := map[string]bool{} // webhooks with an event before this one, which must be sent first
		for _, u := range e.pending {
			if seen[u.URL] {
				continue
			}
			seen[u.URL] = true
			if d := tries[u].at.Sub(now); d > 0 {
				wait = min(wait, d)
				continue
			}
			return id, u, &Event{u.State, u.Time, e.info}, 0
		}
	}
	return "", what, nil, wait
}

// told records that a webhook has acknowledged an event.
func (m *Manager) told(id string, what pendingEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
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
