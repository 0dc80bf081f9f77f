package job

import (
	"context"
	"errors"
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/sink"
)

// TextReader reads the main text of a visit's page during the crawl: see [Config.Text]. It returns a function that is called when the
// visit's record is complete and returns the line of [TextName], with its end; or nil if the visit has no text. The function must not
// use the visit. A TextReader is called concurrently for different visits. After an error, which should be the error of ctx, the visit
// is treated as after an error of a [crawler.Handler].
type TextReader func(ctx context.Context, v *crawler.Visit) (line func(r *sink.Record) ([]byte, error), err error)

// textKeeper reads texts as a Handler, concurrently, and writes them as a sink, in the order of the visits.
type textKeeper struct {
	*sink.JSONL
	read TextReader
	next crawler.Handler // handler of the program; may be nil

	mu    sync.Mutex
	lines map[string]func(*sink.Record) ([]byte, error) // by URL, for visits that have not reached the sinks
}

// openText opens the file with the texts, and has the crawl read them.
func (o *outputs) openText(read TextReader, cfg *crawler.Config) error {
	k := &textKeeper{read: read, next: cfg.Handler, lines: map[string]func(*sink.Record) ([]byte, error){}}
	_, err := kept(o, TextName, func(f *segmented) (_ sink.Sink, err error) {
		k.JSONL, err = sink.AppendLines(f, f.Name(), k.line)
		return k.JSONL, err
	})
	if err != nil {
		return err
	}
	cfg.Handler = k
	o.keep(k)
	return nil
}

// Handle implements [crawler.Handler].
func (k *textKeeper) Handle(ctx context.Context, v *crawler.Visit) (answer error) {
	if k.next != nil {
		answer = k.next.Handle(ctx, v)
	}
	if errors.As(answer, new(*crawler.RetryError)) { // the visit is discarded
		return answer
	}
	line, err := k.read(ctx, v)
	if err != nil {
		return errors.Join(answer, err)
	}
	if line != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lines[v.URL.String()] = line
	}
	return answer
}

// line appends the text line of a record, if its visit has a text.
func (k *textKeeper) line(b []byte, r *sink.Record) ([]byte, error) {
	k.mu.Lock()
	line := k.lines[r.URL]
	delete(k.lines, r.URL)
	k.mu.Unlock()
	if line == nil {
		return b, nil
	}
	text, err := line(r)
	return append(b, text...), err
}
