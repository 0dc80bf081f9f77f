package crawler

import (
	"context"
	"sync"
)

// inflight bounds the memory that pages take from their first byte until they have been read: if pages are huge, the crawl waits instead
// of using more memory. Memory is reserved in parts, as pages grow. If all of it is reserved, one page at a time may exceed the limit, so
// that one page can always be completed.
type inflight struct {
	most int64

	mu     sync.Mutex
	room   *sync.Cond
	used   int64
	beyond *share // the one reservation that may exceed the limit; nil if there is none
}

// share is the memory that one page has reserved from an inflight.
type share struct {
	of   *inflight
	held int64
}

func newInflight(most int64) *inflight {
	f := &inflight{most: most}
	f.room = sync.NewCond(&f.mu)
	return f
}

// take blocks until n more bytes are reserved. If ctx ends first, it returns the error of ctx and reserves nothing.
func (s *share) take(ctx context.Context, n int) error {
	f := s.of
	defer context.AfterFunc(ctx, f.wake)()
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.used+int64(n) > f.most && f.beyond != nil && f.beyond != s {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f.room.Wait()
	}
	if f.used += int64(n); f.used > f.most {
		f.beyond = s
	}
	s.held += int64(n)
	return nil
}

// charge reserves n more bytes without blocking, even beyond the limit. It is for callers that other callers of take may be waiting for,
// and which would deadlock if they blocked.
func (s *share) charge(n int) {
	f := s.of
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used += int64(n)
	s.held += int64(n)
	if f.used > f.most && f.beyond == nil {
		f.beyond = s
	}
}

// wake wakes all waiters. It takes the lock, so that no waiter is between its check of ctx and its Wait.
func (f *inflight) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room.Broadcast()
}

// end frees all memory of the share.
func (s *share) end() {
	f := s.of
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= s.held
	s.held = 0
	if f.beyond == s {
		f.beyond = nil
	}
	f.room.Broadcast()
}

// shareKey is the context key of the share that the fetcher uses for a request.
type shareKey struct{}

// withShare returns ctx with a share for the requests made with it.
func withShare(ctx context.Context, s *share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// largePage is the body size from which the memory for parsing a page is reserved, too.
const largePage = 64 << 10

// reserve implements fetcher.Config.Reserve.
func reserve(ctx context.Context, n int) error {
	if s, ok := ctx.Value(shareKey{}).(*share); ok {
		return s.take(ctx, n)
	}
	return nil
}
