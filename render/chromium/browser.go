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

// browser is a running browser. It dispatches the browser's events to pages.
type browser struct {
	*conn
	process    *process
	version    string
	told       bool          // whether frames are drawn only on command
	stuckAfter time.Duration // stuckLimit, except in tests
	drawing    chan struct{} // has an element while a frame is drawn
	opening    chan struct{} // has an element while a page is being opened
	ended      chan struct{} // closed when the reading goroutine has ended
	weighed    chan struct{} // closed when the goroutine that measures memory and processor time has ended
	drew       atomic.Bool   // whether a frame was drawn on command
	over       atomic.Bool   // whether a process of the browser was killed because of its memory
	ending     sync.Once
	endErr     error

	mu       sync.Mutex
	contexts map[cdp.BrowserContextID]*tab
	sessions map[target.SessionID]*tab
	ids      map[string]*tab // pages by ID of target, frame or worker
	orphans  []orphan        // requests of which the page is not known yet
}

// orphan is a request whose page is not known yet: the request may arrive before the event that announces the nested worker that makes it.
type orphan struct {
	m     *message
	id    string // ID of the frame or worker
	since time.Time
}

// Limits of orphans: their number, and the time after which an orphan that no page claims is refused.
const (
	maxOrphans  = 1000
	maxOrphaned = time.Second
)

// attach starts reading the messages of a browser's process. The caller must end the browser.
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

// weighing is the interval at which a browser's memory, and the processor time of its pages, are measured.
const weighing = 250 * time.Millisecond

// weigh kills the largest process of a browser that uses too much memory: that process belongs to the page at fault. It also ends the
// rounds of pages that have used up their processor time.
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

// end kills the browser and waits until all its processes have ended. It may be called more than once.
func (b *browser) end() error {
	b.ending.Do(func() { b.endErr = b.process.end() }) // closes the pipes, which ends the reading goroutine
	<-b.ended
	<-b.weighed
	return b.endErr
}

// lose tells all pages that the browser has ended.
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

// enter registers a page under its browser context, which identifies the page's targets.
func (b *browser) enter(id cdp.BrowserContextID, t *tab) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contexts[id] = t
}

// leave unregisters a page.
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

// route passes an event to its page. It runs in the reading goroutine.
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
	case network.RequestWillBeSent.Method: // of a worker: the request for the script of a nested worker
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

// routeBrowser handles the events of the browser's own session: intercepted requests, and targets without a parent.
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

// attached registers the session of a target for the target's page. It ignores targets of no page, such as the browser's initial page.
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

// claim registers a frame or worker for a page, and passes on the requests among the orphans that belong to it.
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

// maxClaims limits the frames, workers and requests of workers of a page. Requests of any further ones are refused.
const maxClaims = 10_000

// refuseOrphans refuses requests that no page has claimed in time, and reports whether any others are still waiting.
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

// refuse makes a request fail.
func (b *browser) refuse(id fetch.RequestID) {
	_, _ = send(b.conn, nil, "", fetch.FailRequest, fetch.FailRequestParams{
		RequestID: id, ErrorReason: network.ErrorReasonBlockedByClient,
	})
}
