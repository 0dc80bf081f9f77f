package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// receiver represents a webhook that returns errors until the test tells it to succeed.
type receiver struct {
	mu     sync.Mutex
	works  bool
	at     []time.Duration // times of calls, counted from began
	states []State         // states of acknowledged events
	began  time.Time
}

func (r *receiver) send(_ context.Context, _ string, event []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, time.Since(r.began))
	if !r.works {
		return errors.New("it does not answer")
	}
	var e Event
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	r.states = append(r.states, e.State)
	return nil
}

// failing is a request for a job that fails at once, because it has no contact.
var failing = Request{Seeds: []string{"https://site.test/"}, Webhooks: []string{"https://hooks.test/"}}

func TestWebhookIsRetriedUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, r := t.TempDir(), &receiver{began: time.Now()}
		c := Config{State: filepath.Join(dir, "state"), Send: r.send}
		m := open(t, dir, c)
		start(t, m, failing)
		time.Sleep(75 * time.Second)
		synctest.Wait()
		if want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second}; !slices.Equal(r.at, want) {
			t.Errorf("called after %v, want %v", r.at, want)
		}
		closeNow(t, m)
		time.Sleep(time.Hour)
		r.works, r.at = true, nil
		m = open(t, dir, c)
		synctest.Wait()
		closeNow(t, m)
		m = open(t, dir, c)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(r.at) != 1 || !slices.Equal(r.states, []State{Failed}) {
			t.Errorf("after a restart: %d calls, states %v", len(r.at), r.states)
		}
		closeNow(t, m)
	})
}

// TestWebhookThatHangsDelaysNoOther checks that an event is sent while the call of another webhook hangs.
func TestWebhookThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered []time.Duration
		began := time.Now()
		m := open(t, t.TempDir(), Config{Send: func(ctx context.Context, url string, _ []byte) error {
			if strings.Contains(url, "hangs") {
				<-ctx.Done()
				return ctx.Err()
			}
			answered = append(answered, time.Since(began))
			return nil
		}})
		q := failing
		q.Webhooks = []string{"https://hangs.test/", "https://hooks.test/"}
		start(t, m, q)
		start(t, m, q)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(answered) != 2 || answered[1] != 0 {
			t.Errorf("called after %v", answered)
		}
		closeNow(t, m)
	})
}

func TestWebhookThatNeverAnswersIsGivenUpAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, r, notes := t.TempDir(), &receiver{began: time.Now()}, []string{}
		m := open(t, dir, Config{State: filepath.Join(dir, "state"), Send: r.send, Note: func(_, text string) { notes = append(notes, text) }})
		start(t, m, failing)
		time.Sleep(72 * time.Hour)
		synctest.Wait()
		closeNow(t, m)
		last := r.at[len(r.at)-1]
		if last < 24*time.Hour || last > 25*time.Hour || len(notes) != 1 || !strings.Contains(notes[0], "https://hooks.test/") {
			t.Errorf("called for the last time after %v; notes: %q", last, notes)
		}
	})
}

func TestWebhookGetsEachStateInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, r := t.TempDir(), &receiver{began: time.Now()}
		m := open(t, dir, Config{State: filepath.Join(dir, "state"), Send: r.send, Running: 1})
		info := start(t, m, failing)
		synctest.Wait()
		err := errors.Join(m.Stop(info.ID), m.Resume(info.ID))
		synctest.Wait()
		if err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		r.works = true
		r.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []State{Failed, Stopped, Failed}; !slices.Equal(r.states, want) {
			t.Errorf("told %v, want %v", r.states, want)
		}
		closeNow(t, m)
	})
}

// The event of an order to pause a job is stored at once: the process may be killed before the requests in flight have ended.
func TestWebhookEventIsDurableFromThePauseOn(t *testing.T) {
	s := newSite(t, 2)
	s.hold = make(chan struct{})
	dir, r := t.TempDir(), &receiver{began: time.Now()}
	m := open(t, dir, Config{Send: r.send})
	q := s.request()
	q.Webhooks = failing.Webhooks
	info := start(t, m, q)
	<-s.held
	if err := m.Pause(info.ID); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, info.ID, infoName))
	if err != nil || strings.Count(string(b), `"url": "https://hooks.test/"`) != 1 {
		t.Errorf("%s, %v", b, err)
	}
	close(s.hold)
}
