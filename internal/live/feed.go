package live

import (
	"bytes"
	"sync"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Source is where the facts about a crawl come from: a job.Follower, or a [Feed].
type Source interface {
	// Poll calls line and visit with what is new since the last call.
	Poll(line func(*ledger.Entry), visit func(*sink.Record)) error
}

// Feed is the Source of a crawl that is not kept in a directory: the crawl writes to it, and Poll takes what was written. Poll
// must not be called concurrently.
type Feed struct {
	Ledger, Visits Buffer

	lines  ledger.Parser
	visits sink.Parser
}

// Buffer keeps what is written until it is taken.
type Buffer struct {
	mu    sync.Mutex
	b     []byte
	taken []byte // whose memory is used again
}

// mostSpare is how much memory a Buffer keeps to use it again, in bytes.
const mostSpare = 4 << 20

// Write keeps whole lines.
func (f *Buffer) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.b = append(f.b, b...)
	return len(b), nil
}

// take returns what was written since the last call. It is valid until the next call.
func (f *Buffer) take() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cap(f.taken) > mostSpare {
		f.taken = nil
	}
	f.b, f.taken = f.taken[:0], f.b
	return f.taken
}

// Poll implements [Source].
func (f *Feed) Poll(line func(*ledger.Entry), visit func(*sink.Record)) error {
	var e ledger.Entry
	var v sink.Record
	for b := range bytes.Lines(f.Ledger.take()) {
		if err := f.lines.Parse(bytes.TrimSuffix(b, []byte("\n")), &e); err != nil {
			return err
		}
		line(&e)
	}
	for b := range bytes.Lines(f.Visits.take()) {
		if err := f.visits.Parse(b, &v); err != nil {
			return err
		}
		visit(&v)
	}
	return nil
}
