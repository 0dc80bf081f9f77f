package chromium

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// browser is a running browser: it knows which of its events belong to which page.
type browser struct {
	*conn
	process    *process
	version    string
	told       bool          // frames are drawn on command
	stuckAfter time.Duration // stuckLimit, but in tests
	drawing    chan struct{} // has an element while a frame is drawn
	opening    chan struct{} // holds an element while a page is being opened
	ended      chan struct{} // closed when the goroutine that reads has ended
	weighed    chan struct{} // closed when the goroutine that watches its memory and its pages' processor time has ended
	drew       atomic.Bool   // a frame, on command
	over       atomic.Bool   // a process of it was killed for its memory
	ending     sync.Once
	endErr     error

	mu       sync.Mutex
	contexts map[cdp.BrowserContextID]*tab
	sessions map[target.SessionID]*tab
	ids      map[string]*tab // by target, frame and worker
	orphans  []orphan        // requests that belong to no page that is known yet
}

// orphan is a request whose page is not known yet: that of a worker's worker can come before its announcement.
type orphan struct {
	m     *message
	id    string // of the frame or worker
	since time.Time
}

// Bounds of orphans. One that nobody claims is refused.
const (
	maxOrphans  = 1000
	maxOrphaned = time.Second
)

// attach starts to read from a process. The browser must be ended.
func attach(p *process, told bool, maxMemory int64) *browser {
	b := &browser{
		process: p, told: told, stuckAfter: stuckLimit, drawing: make(chan struct{}, 1), opening: make(chan struct{}, 1), ended: make(chan struct{}), weighed: make(chan struct{}),
		contexts: map[cdp.BrowserContextID]*tab{}, sessions: map[target.SessionID]*tab{}, ids: map[string]*tab{},
	}
	b.conn = newConn(p, b.route)
	go func() {
		defer close(b.ended)
		b.read()
		b.lose()
	}()
	go func() {
		defer close(b.weighed)
		b.weigh(2 * maxMemory)
	}()
	return b
}

// weighing is how often a browser's memory, and the processor time of its pages, are looked at.
const weighing = 250 * time.Millisecond

// weigh kills the largest process of a browser that uses too much memory, which is that of the page at fault. It ends pages
// that have used up their processor time.
func (b *browser) weigh(limit int64) {
	tick := time.NewTicker(weighing)
	defer tick.Stop()
	for {
		select {
		case <-b.process.gone:
			return
		case <-tick.C:
		}
		if total, largest, _ := memory(b.process.cmd.Process.Pid); total > limit && largest > 0 {
			b.over.Store(true)
			if p, err := os.FindProcess(largest); err == nil {
				_ = p.Kill()
			}
		}
		b.endSpent()
	}
}

// dead reports whether the browser has ended.
func (b *browser) dead() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// end kills the browser and waits until nothing is left of it. It may be called more than once.
func (b *browser) end() error {
	b.ending.Do(func() { b.endErr = b.process.end() }) // closes the pipes, which ends reading
	<-b.ended
	<-b.weighed
	return b.endErr
}

// lose tells every page that nothing will come any more.
func (b *browser) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.sessions {
		t.box.close()
	}
	for _, t := range b.contexts {
		t.box.close()
	}
}

// enter makes a page known by its context, from which all else follows.
func (b *browser) enter(id cdp.BrowserContextID, t *tab) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contexts[id] = t
}

// leave forgets a page.
func (b *browser) leave(t *tab) {
	b.mu.Lock()
	defer b.mu.Unlock()
	drop(b.contexts, t)
	drop(b.sessions, t)
	drop(b.ids, t)
}

func drop[K comparable](m map[K]*tab, t *tab) {
	for k, v := range m {
		if v == t {
			delete(m, k)
		}
	}
}

// route hands an event to the page it belongs to. It runs in the goroutine that reads.
func (b *browser) route(m *message) {
	if m.Session == "" {
		b.routeBrowser(m)
		return
	}
	b.mu.Lock()
	t := b.sessions[m.Session]
	b.mu.Unlock()
	if t == nil {
		return
	}
	switch m.Method {
	case target.AttachedToTarget.Method:
		b.attached(m, t)
	case page.FrameAttached.Method:
		var e page.EventFrameAttached
		if jsonv2.Unmarshal(m.Params, &e, lenient) == nil {
			b.claim(string(e.FrameID), t)
		}
	case network.RequestWillBeSent.Method: // of workers alone: the script of a worker's worker
		var e struct {
			RequestID network.RequestID `json:"requestId"`
		}
		if jsonv2.Unmarshal(m.Params, &e, lenient) == nil {
			b.claim(string(e.RequestID), t)
		}
	default:
		if handlers[m.Method] != nil {
			t.box.push(m)
		}
	}
}

// routeBrowser handles the events of the browser's own session: requests, and targets that belong to no other.
func (b *browser) routeBrowser(m *message) {
	switch m.Method {
	case target.AttachedToTarget.Method:
		b.attached(m, nil)
	case fetch.RequestPaused.Method:
		var e fetch.EventRequestPaused
		if jsonv2.Unmarshal(m.Params, &e, lenient) != nil {
			return
		}
		b.mu.Lock()
		t := b.ids[string(e.FrameID)]
		full := len(b.orphans) >= maxOrphans
		if t == nil && !full {
			b.orphans = append(b.orphans, orphan{m, string(e.FrameID), time.Now()})
		}
		b.mu.Unlock()
		if t != nil {
			t.box.push(m)
		} else if full {
			b.refuse(e.RequestID)
		}
	}
}

// attached makes a target's session known as its page's. The page that the browser shows at its start, and
// whatever else belongs to nobody, is closed.
func (b *browser) attached(m *message, parent *tab) {
	var e target.EventAttachedToTarget
	if jsonv2.Unmarshal(m.Params, &e, lenient) != nil || e.TargetInfo == nil {
		return
	}
	b.mu.Lock()
	t := parent
	if t == nil {
		t = b.contexts[e.TargetInfo.BrowserContextID]
	}
	if t != nil {
		b.sessions[e.SessionID] = t
	}
	b.mu.Unlock()
	if t == nil {
		return
	}
	b.claim(string(e.TargetInfo.TargetID), t)
	t.box.push(m)
}

// claim makes a frame or worker known as a page's, and hands it the requests that have waited for that.
func (b *browser) claim(id string, t *tab) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.claims++; t.claims > maxClaims {
		return
	}
	b.ids[id] = t
	rest := b.orphans[:0]
	for _, o := range b.orphans {
		if o.id == id {
			t.box.push(o.m)
		} else {
			rest = append(rest, o)
		}
	}
	b.orphans = rest
}

// maxClaims bounds the frames, workers and requests of workers of a page. What comes after them is refused.
const maxClaims = 10_000

// refuseOrphans refuses the requests that no page has claimed for some time, and reports whether any still wait.
func (b *browser) refuseOrphans(now time.Time) bool {
	b.mu.Lock()
	rest := b.orphans[:0]
	var late []orphan
	for _, o := range b.orphans {
		if now.Sub(o.since) > maxOrphaned {
			late = append(late, o)
		} else {
			rest = append(rest, o)
		}
	}
	b.orphans = rest
	b.mu.Unlock()
	for _, o := range late {
		var e fetch.EventRequestPaused
		if jsonv2.Unmarshal(o.m.Params, &e, lenient) == nil {
			b.refuse(e.RequestID)
		}
	}
	return len(rest) > 0
}

// refuse lets a request fail.
func (b *browser) refuse(id fetch.RequestID) {
	_, _ = send(b.conn, nil, "", fetch.FailRequest, fetch.FailRequestParams{
		RequestID: id, ErrorReason: network.ErrorReasonBlockedByClient,
	})
}
