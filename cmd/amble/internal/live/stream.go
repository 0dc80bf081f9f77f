package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxReaders limits the number of concurrent viewers.
const maxReaders = 8

// patience limits the time that a viewer may take to receive a snapshot. Slow viewers miss some snapshots.
const patience = 10 * time.Second

var errTooMany = errors.New("too many readers: eight may watch at the same time")

// stream distributes the latest snapshot to viewers.
type stream struct {
	mu      sync.Mutex
	readers int
	latest  []byte
	changed chan struct{} // closed when there is a new snapshot
	closed  bool
}

func (s *stream) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers > 0
}

func (s *stream) publish(html []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = html
	close(s.changed)
	s.changed = make(chan struct{})
}

// close ends the streams of all readers.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.changed)
	s.changed = make(chan struct{})
}

// enter adds a reader, or returns an error if there are too many.
func (s *stream) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers >= maxReaders {
		return errTooMany
	}
	s.readers++
	return nil
}

func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
}

// next waits for the next snapshot. It returns nil if there will be none.
func (s *stream) next(ctx context.Context) []byte {
	s.mu.Lock()
	changed, closed := s.changed, s.closed
	s.mu.Unlock()
	if closed {
		return nil
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.latest
}

// events serves snapshots as server-sent events, compressed if possible, because consecutive snapshots are similar.
func (l *Live) events(w http.ResponseWriter, r *http.Request) { l.stream.serve(w, r, l.render) }

// serve serves the snapshots. The first one is made by render.
func (s *stream) serve(w http.ResponseWriter, r *http.Request, render func(time.Time) ([]byte, error)) {
	if err := s.enter(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	out := flusher{w, func() error { return control.Flush() }}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // cannot fail: the level is valid
		out = flusher{z, func() error { return errors.Join(z.Flush(), control.Flush()) }}
	}
	html, err := render(time.Now())
	for ; err == nil && html != nil; html = s.next(r.Context()) {
		if err = control.SetWriteDeadline(time.Now().Add(patience)); err == nil || errors.Is(err, http.ErrNotSupported) {
			err = out.send(html)
		}
	}
	if err == nil && r.Context().Err() == nil {
		_, _ = out.Write([]byte("event: over\ndata: over\n\n"))
		_ = out.flush()
	}
}

type flusher struct {
	io.Writer
	flush func() error
}

// send sends an event.
func (f flusher) send(data []byte) error {
	var b bytes.Buffer
	b.Grow(len(data) + len(data)/8) // lines are long, so their prefixes add little
	for line := range bytes.Lines(data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if _, err := f.Write(b.Bytes()); err != nil {
		return err
	}
	return f.flush()
}
