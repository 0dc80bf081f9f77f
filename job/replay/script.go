package replay

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// script is a frontier that hands out URLs in the order of the recorded visits, regardless of hosts and priorities. So a single worker
// repeats the crawl of many: when a visit begins, the links of all visits that ended before it are queued, as in the recorded crawl.
type script struct {
	next    func() (*sink.Record, error, bool)
	key     func(weburl.URL) weburl.Key
	skipped func(v *sink.Record) bool          // reports whether a visit is taken from the record instead of repeated
	lost    func(v *sink.Record, why string)   // called for a visit that cannot be repeated
	begun   func(url string) (time.Time, bool) // returns when the recorded visit of a URL began

	mu     sync.Mutex
	urls   map[weburl.Key]*entry
	queued int
	now    time.Time    // time in the recorded crawl: the end of the last visit
	want   *sink.Record // the visit being repeated
	again  bool         // the claim of want was put back
	draws  bool         // the crawl draws a sample, and has not done so yet
	held   bool         // want was not handed out, because the sample must be drawn first
	ready  time.Time    // time until which the URL that was put back has to wait
	err    error        // error of reading the visits
}

// entry is a queued URL.
type entry struct {
	frontier.Request
	early *frontier.Request // the Request before its last change; nil unless the recorded crawl may have claimed the URL before that change
	done  bool
	named bool // queued by byRobots: only the record shows that a robots.txt named the URL, because the file has not been read again yet
}

// slack is the time after the end of a visit within which its links may have been queued.
const slack = 2 * time.Second

// Add implements frontier.Frontier.
func (s *script) Add(_ context.Context, rs ...frontier.Request) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(rs), nil
}

// add queues URLs as the job's queue did.
func (s *script) add(rs []frontier.Request) (added int) {
	for _, r := range rs {
		k := s.key(r.URL)
		e := s.urls[k]
		switch {
		case e == nil:
			s.urls[k] = &entry{Request: r}
			s.queued++
			added++
		case e.named:
			e.named = false
		case s.final(e):
		case r.Priority > e.Priority && r.Plain() && e.Plain():
			r.Depth = min(r.Depth, e.Depth)
			s.change(e, r)
		case r.Depth < e.Depth:
			deeper := e.Request
			deeper.Depth = r.Depth
			s.change(e, deeper)
		}
	}
	return added
}

// change replaces a queued URL, and keeps the old value if the recorded crawl may have claimed it just before.
func (s *script) change(e *entry, r frontier.Request) {
	was := e.Request
	if e.Request, e.early = r, nil; s.beganBefore(e, s.now.Add(slack)) {
		e.early = &was
	}
}

// final reports whether a URL had left the queue at this point of the recorded crawl: its visit had ended or was in flight.
func (s *script) final(e *entry) bool {
	return e.done || s.beganBefore(e, s.now)
}

func (s *script) beganBefore(e *entry, t time.Time) bool {
	at, ok := s.begun(e.URL.String())
	return ok && at.Before(t)
}

// Rescore implements frontier.Frontier: the recorded visits are the order, whatever the scores.
func (*script) Rescore(context.Context, func(frontier.Request) float64) (int, error) { return 0, nil }

// Known implements frontier.Frontier.
func (s *script) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		e := s.urls[k]
		known[i] = e != nil && (s.final(e) || e.Depth <= depth && (e.Priority >= priority || !e.Plain()))
	}
}

// Claim implements frontier.Frontier.
func (s *script) Claim(ctx context.Context) (c frontier.Claim, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		put := s.again
		if put {
			s.wait(ctx)
		}
		if s.again = false; !put && !s.held && !s.advance() {
			return c, frontier.ErrDrained
		}
		s.held = false
		u, err := weburl.Parse(s.want.URL)
		e := s.urls[s.key(u)]
		if e == nil && err == nil {
			e = s.byRobots(u)
		}
		switch {
		case err != nil:
			s.lost(s.want, "its URL cannot be read")
		case e == nil && s.draws: // tell the crawler that the queue is empty, so that it draws the sample
			s.draws, s.held = false, true
			return c, frontier.ErrDrained
		case e == nil:
			s.lost(s.want, "nothing led to it again")
		case !put && s.skipped(s.want):
			s.done(e)
		default:
			if e.early != nil && e.early.Depth == s.want.Depth {
				e.Request = *e.early
			}
			c.Request, c.ID = e.Request, 1
			return c, nil
		}
		s.want = nil
	}
}

// byRobots queues the wanted sitemap if a robots.txt named it, and returns nil otherwise. The visit of the sitemap may be recorded before
// the visit of the URL for which the robots.txt was requested: that URL had to wait, and the host was free for the sitemap first.
func (s *script) byRobots(u weburl.URL) *entry {
	via, err := weburl.Parse(s.want.Via)
	if err != nil || via != via.RobotsURL() {
		return nil
	}
	e := &entry{Request: frontier.Request{URL: u, Via: via, Kind: frontier.KindSitemap}, named: true}
	s.urls[s.key(u)] = e
	s.queued++
	return e
}

// unnamed returns the URLs that were named by a robots.txt only according to their record.
func (s *script) unnamed() (urls []string) {
	for _, e := range s.urls {
		if e.named {
			urls = append(urls, e.URL.String())
		}
	}
	slices.Sort(urls)
	return urls
}

// wait waits until the URL that was put back may be claimed.
func (s *script) wait(ctx context.Context) {
	t := time.NewTimer(time.Until(s.ready))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// advance moves to the next recorded visit.
func (s *script) advance() bool {
	v, err, ok := s.next()
	s.err = err
	if !ok || err != nil {
		return false
	}
	s.want = v
	return true
}

func (s *script) done(e *entry) {
	if !e.done {
		s.queued--
	}
	e.done = true
	if s.want.Ended.After(s.now) {
		s.now = s.want.Ended
	}
}

// Settle implements frontier.Frontier.
func (s *script) Settle(_ context.Context, c frontier.Claim, end frontier.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end.Again != nil {
		s.again, s.ready = true, maxTime(end.ReadyAt, end.Again.NotBefore)
		s.add(end.Links)
		return nil
	}
	s.now = maxTime(s.now, s.want.Ended) // the recorded time moves on to the end of this visit, and never back
	if e := s.urls[s.key(c.URL)]; e != nil {
		s.done(e)
	}
	s.add(end.Links)
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Close implements frontier.Frontier.
func (*script) Close() error { return nil }

// Stats implements frontier.Frontier.
func (s *script) Stats() frontier.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return frontier.Stats{Queued: s.queued, Done: len(s.urls) - s.queued}
}

// Room implements frontier.Frontier: whatever the recorded crawl queued has room.
func (*script) Room(string) (urls int, bytes int64) { return math.MaxInt, math.MaxInt64 }

// HostPending implements frontier.Frontier.
func (*script) HostPending(string) int { return 1 }

// left returns URLs that were queued and have no visit, at most the number most, and their total number.
func (s *script) left(most int) (some []string, all int) {
	for _, e := range s.urls {
		if !e.done {
			some = append(some, e.URL.String())
		}
	}
	slices.Sort(some)
	return some[:min(most, len(some))], len(some)
}

// pull makes a function of a sequence; stop must be called.
func pull(seq iter.Seq2[*sink.Record, error]) (next func() (*sink.Record, error, bool), stop func()) {
	return iter.Pull2(seq)
}
