package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/amble-crawler/amble/internal/durable"
)

// Pause makes a job do nothing until Resume. Requests in flight end first; until then its state is Running.
func (m *Manager) Pause(id string) error { return m.ask(id, Paused, Queued, Running) }

// Stop ends a job cleanly, as if it had nothing left to do. Requests in flight end first; until then its state is Running.
func (m *Manager) Stop(id string) error { return m.ask(id, Stopped, Queued, Running, Paused, Failed) }

// Resume queues a job that is Paused, Stopped or Failed. It continues where it stopped.
func (m *Manager) Resume(id string) error { return m.ask(id, Queued, Paused, Stopped, Failed, Running) }

// ask changes the state of a job from one of several states. A job that already has the state is left unchanged. The error wraps
// ErrNoJob, ErrState or ErrClosed.
func (m *Manager) ask(id string, to State, from ...State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.entry(id)
	switch {
	case err != nil:
		return err
	case m.closed:
		return ErrClosed
	case e.info.State == to:
		return nil
	case !slices.Contains(from, e.info.State):
		return fmt.Errorf("%w: job %s is %s", ErrState, id, e.info.State)
	case e.info.State != Running:
		e.info.State = to
		m.owe(e)
	case to == Queued: // the job is stopping: once it has stopped, it is queued again
		e.asked = ""
	default:
		e.asked = to
		e.halt()
	}
	err = m.save(e)
	m.fill()
	return err
}

// Remove removes a job that is not running, with all its files. The error wraps ErrNoJob, ErrState or ErrClosed.
func (m *Manager) Remove(id string) error {
	m.mu.Lock()
	e, err := m.entry(id)
	switch {
	case err != nil:
	case m.closed:
		err = ErrClosed
	case e.info.State == Running:
		err = fmt.Errorf("%w: job %s is running: stop it first", ErrState, id)
	}
	gone := filepath.Join(m.dir, newPrefix+"gone-"+id)
	if err == nil {
		err = os.Rename(filepath.Join(m.dir, id), gone)
	}
	if err != nil {
		m.mu.Unlock()
		return err
	}
	delete(m.jobs, id)
	if m.keys[e.info.Key] == e {
		delete(m.keys, e.info.Key)
	}
	e.wake()
	m.mu.Unlock()
	return errors.Join(durable.Dir(m.dir), os.RemoveAll(gone))
}
