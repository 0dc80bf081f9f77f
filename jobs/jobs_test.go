package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// site serves pages that form a chain, and records the times of requests.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	inFlight int
	most     int
	ended    time.Time
	least    time.Duration  // shortest pause between two requests so far
	seen     map[string]int // requests by path
	hold     chan struct{}  // if not nil, pages are not answered until it is closed
	held     chan struct{}  // gets a value when a page begins to wait
}

func newSite(t *testing.T, pages int) *site {
	s := &site{least: time.Hour, seen: map[string]int{}, held: make(chan struct{}, 1)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.inFlight++
		s.most = max(s.most, s.inFlight)
		if !s.ended.IsZero() {
			s.least = min(s.least, time.Since(s.ended))
		}
		s.seen[r.URL.Path]++
		hold := s.hold
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.inFlight--
			s.ended = time.Now()
		}()
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if hold != nil {
			select {
			case s.held <- struct{}{}:
			default:
			}
			<-hold
		}
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.Header().Set("Content-Type", "text/html")
		if n+1 < pages {
			fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) request() Request {
	return Request{Seeds: []string{s.URL + "/0"}, Settings: map[string]any{"delay": "1ms", "depth": "none"}}
}

func open(t *testing.T, dir string, c Config) *Manager {
	t.Helper()
	if c.State == "" {
		c.State = filepath.Join(dir, "state")
	}
	m, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, m) })
	return m
}

func closeNow(t *testing.T, m *Manager) {
	t.Helper()
	if err := m.Close(context.Background()); err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func start(t *testing.T, m *Manager, q Request) Info {
	t.Helper()
	info, err := m.Start(q)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func wait(t *testing.T, m *Manager, id string, want State) Info {
	t.Helper()
	info, err := m.Wait(t.Context(), id)
	if err != nil || info.State != want {
		t.Fatalf("%+v, %v; want %s", info, err, want)
	}
	return info
}

// urls returns the URLs of results, and checks that the results are numbered without gaps.
func urls(t *testing.T, m *Manager, id string, from int64) (all []string) {
	t.Helper()
	for r, err := range m.Results(t.Context(), id, from) {
		if err != nil {
			t.Fatal(err)
		}
		var v struct{ URL string }
		if err := json.Unmarshal(r.Visit, &v); err != nil {
			t.Fatal(err)
		}
		if all = append(all, v.URL); r.N != from+int64(len(all)) {
			t.Errorf("result %d has the number %d", from+int64(len(all)), r.N)
		}
	}
	return all
}

func TestJobsOnOneHostAreAsPoliteAsOne(t *testing.T) {
	const delay = 20 * time.Millisecond
	s := newSite(t, 5)
	m := open(t, t.TempDir(), Config{Running: 3})
	var ids []string
	for range 6 {
		q := s.request()
		q.Settings["delay"] = delay.String()
		ids = append(ids, start(t, m, q).ID)
	}
	for _, id := range ids {
		if info := wait(t, m, id, Done); info.Pages != 5 || info.Finish != crawler.FinishDone {
			t.Errorf("%+v", info)
		}
		if got := urls(t, m, id, 0); len(got) != 5 {
			t.Errorf("results: %q", got)
		}
		if got := urls(t, m, id, 3); !slices.Equal(got, []string{s.URL + "/3", s.URL + "/4"}) {
			t.Errorf("results after the third: %q", got)
		}
	}
	if s.most != 1 || s.least < delay-time.Millisecond {
		t.Errorf("%d requests in flight, a pause of %v; want 1 and %v", s.most, s.least, delay)
	}
}

func TestRequestWithAKeyStartsOneJob(t *testing.T) {
	s := newSite(t, 1)
	dir := t.TempDir()
	m := open(t, dir, Config{})
	q := s.request()
	q.Key = "customer 7"
	first := start(t, m, q)
	wait(t, m, first.ID, Done)
	closeNow(t, m)
	m = open(t, dir, Config{})
	if again := start(t, m, q); again.ID != first.ID || again.State != Done {
		t.Errorf("%+v, want job %s", again, first.ID)
	}
	q.Priority = 1
	if _, err := m.Start(q); !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), first.ID) {
		t.Errorf("another request with the key: %v", err)
	}
	if all := m.All(); len(all) != 1 {
		t.Errorf("%d jobs", len(all))
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	m := open(t, t.TempDir(), Config{Programs: map[string]Program{"prices": func(json.RawMessage, *job.Config) error { return errors.New("no shop") }}})
	for want, q := range map[string]Request{
		"without seeds":                  {},
		`seed "nonsense"`:                {Seeds: []string{"nonsense"}},
		"deelay":                         {Seeds: []string{"http://127.0.0.1/"}, Settings: map[string]any{"deelay": "1s"}},
		"soon":                           {Seeds: []string{"http://127.0.0.1/"}, Settings: map[string]any{"delay": "soon"}},
		"seeds are no setting":           {Seeds: []string{"http://127.0.0.1/"}, Settings: map[string]any{"urls": "http://127.0.0.1/"}},
		`"price": want one of ["prices"`: {Seeds: []string{"http://127.0.0.1/"}, Program: "price"},
		"program prices: no shop":        {Seeds: []string{"http://127.0.0.1/"}, Program: "prices"},
		"nested deeper than 32":          {Seeds: []string{"http://127.0.0.1/"}, Args: json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))},
		"job.json may have up to 16 MiB": {Seeds: slices.Repeat([]string{"http://127.0.0.1/" + strings.Repeat("x", 2000)}, 9000)},
	} {
		if _, err := m.Start(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if all := m.All(); len(all) != 0 {
		t.Errorf("jobs: %d", len(all))
	}
}

func TestJobThatCannotRunFails(t *testing.T) {
	m := open(t, t.TempDir(), Config{})
	info := start(t, m, Request{Seeds: []string{"https://site.test/"}}) // the request has no contact
	if info = wait(t, m, info.ID, Failed); !strings.Contains(info.Error, "contact") {
		t.Errorf("%+v", info)
	}
	if got := urls(t, m, info.ID, 0); got != nil {
		t.Errorf("results: %q", got)
	}
}

// When the directory is opened again, a paused job stays paused, and a running job continues.
func TestPausedJobsStayPausedAndOthersGoOn(t *testing.T) {
	s := newSite(t, 6)
	s.hold = make(chan struct{})
	dir := t.TempDir()
	m := open(t, dir, Config{Running: 1})
	paused, other := start(t, m, s.request()), start(t, m, s.request())
	<-s.held
	if err := m.Pause(paused.ID); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, paused.ID, infoName)) // the pause is stored already, in case of a kill
	if err != nil || !strings.Contains(string(b), `"state": "paused"`) {
		t.Errorf("%s, %v", b, err)
	}
	close(s.hold)
	wait(t, m, other.ID, Done) // it starts when the paused job frees its slot
	if info, err := m.Info(paused.ID); err != nil || info.State != Paused {
		t.Fatalf("%+v, %v", info, err)
	}
	running := start(t, m, s.request())
	closeNow(t, m)

	m = open(t, dir, Config{Running: 1})
	wait(t, m, running.ID, Done)
	if info, err := m.Info(paused.ID); err != nil || info.State != Paused {
		t.Errorf("opened again: %+v, %v", info, err)
	}
	if err := m.Resume(paused.ID); err != nil {
		t.Fatal(err)
	}
	if info := wait(t, m, paused.ID, Done); info.Pages != 6 {
		t.Errorf("resumed: %+v", info)
	}
	if err := m.Pause(paused.ID); !errors.Is(err, ErrState) {
		t.Errorf("paused what is done: %v", err)
	}
}

func TestStoppedJobCanBeResumed(t *testing.T) {
	s := newSite(t, 4)
	s.hold = make(chan struct{})
	m := open(t, t.TempDir(), Config{Running: 1})
	first, second := start(t, m, s.request()), start(t, m, s.request())
	<-s.held
	if err := errors.Join(m.Stop(first.ID), m.Stop(second.ID)); err != nil {
		t.Fatal(err)
	}
	wait(t, m, second.ID, Stopped) // the second job had not started
	close(s.hold)
	if info := wait(t, m, first.ID, Stopped); info.Pages != 1 {
		t.Errorf("stopped: %+v", info)
	}
	if err := m.Resume(first.ID); err != nil {
		t.Fatal(err)
	}
	wait(t, m, first.ID, Done)
	if got := urls(t, m, first.ID, 0); len(got) != 4 {
		t.Errorf("results: %q", got)
	}
	if lines := m.jobs[first.ID].lines; lines != 4 {
		t.Errorf("%d results are final, want 4", lines)
	}
	for path, n := range s.seen {
		if n > 1 && path != "/robots.txt" {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
}

func TestQueueRunsByPriority(t *testing.T) {
	s := newSite(t, 1)
	s.hold = make(chan struct{})
	m := open(t, t.TempDir(), Config{Running: 1, Queued: 3})
	start(t, m, s.request())
	var ids []string
	for _, priority := range []int{0, -1, 5} {
		q := s.request()
		q.Priority = priority
		ids = append(ids, start(t, m, q).ID)
	}
	if _, err := m.Start(s.request()); !errors.Is(err, ErrFull) {
		t.Errorf("a fourth job that waits: %v", err)
	}
	close(s.hold)
	var started []time.Time
	for _, id := range []string{ids[2], ids[0], ids[1]} {
		started = append(started, wait(t, m, id, Done).Started)
	}
	if !slices.IsSortedFunc(started, time.Time.Compare) {
		t.Errorf("started at %v", started)
	}
}

func TestRemovedJobLeavesNothing(t *testing.T) {
	s := newSite(t, 1)
	s.hold = make(chan struct{})
	dir := t.TempDir()
	m := open(t, dir, Config{})
	q := s.request()
	q.Key = "once"
	info := start(t, m, q)
	if err := m.Remove(info.ID); !errors.Is(err, ErrState) {
		t.Errorf("removed a job that runs: %v", err)
	}
	close(s.hold)
	wait(t, m, info.ID, Done)
	if err := m.Remove(info.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, info.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
	if _, err := m.Info(info.ID); !errors.Is(err, ErrNoJob) {
		t.Errorf("its description: %v", err)
	}
	if again := start(t, m, q); again.ID == info.ID {
		t.Error("its key is still taken")
	}
}

func TestDirectoryIsOpenedOnce(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, Config{})
	if _, err := Open(dir, Config{}); !errors.Is(err, ErrHeld) {
		t.Errorf("opened twice: %v", err)
	}
	closeNow(t, m)
	if _, err := m.Start(Request{Seeds: []string{"http://127.0.0.1:1/"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("started after Close: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x", infoName)
	if err := os.WriteFile(path, []byte(`{"id":"y"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Config{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a job that describes another one: %v", err)
	}
}
