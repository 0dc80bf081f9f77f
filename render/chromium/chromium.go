// Package chromium renders pages in Chromium without a network.
//
// A [Renderer] starts browsers, controls them with the Chrome DevTools Protocol over pipes, and runs the rounds of package render. The
// browser's processes are in separate namespaces, in which no network interface is up. Every request of a page is intercepted in the
// browser, and is answered with what the caller has, or fails.
//
// # Isolation
//
// By default a browser runs in new user, network and process namespaces. This needs Linux but no privileges; if root starts it, it runs as
// user 65534. Before the first page, the Renderer checks from outside, in /proc, that the browser's network namespace is not its own, that
// it has no interface but a loopback that is down, and that it has no route. Chromium's own sandbox is always on. Where namespaces are
// unavailable, [Flags] uses settings of the browser instead: connections that are not intercepted go to a listener, which counts and closes
// them. Flags must be selected explicitly.
//
// No process outlives a Renderer. When the browser's first process dies, the kernel ends all others in the namespace, and the first process
// is killed with the thread that started it.
//
// # Rounds
//
// A page's clock is virtual: it stops while a request waits for an answer, however long, and otherwise jumps from timer to timer. Random
// numbers come from the Task's seed. Frames are drawn on the Renderer's command. Answers are delivered in batches: when the page can do
// nothing more without them, it gets all at once, in the order of its requests. So the result of a round depends only on its Task, except
// for what workers do among themselves.
package chromium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/amble-crawler/amble/render"
)

// Isolation is the method of keeping a browser off the network.
type Isolation string

// The kinds of isolation.
const (
	// Namespace puts a browser into user, network and process namespaces. It needs Linux.
	Namespace Isolation = "namespace"
	// Flags makes a browser send its connections to a listener that closes them, by settings of the browser. It is weaker than Namespace,
	// because it relies on the browser.
	Flags Isolation = "flags"
)

// Defaults of Config.
const (
	defaultMaxPages  = 500
	defaultMaxMemory = 1 << 30
)

// roundLimit limits the real time of a round, which begins when the round has a tab.
const roundLimit = 3 * time.Minute

// Config configures rendering. The zero value of each field means its default.
type Config struct {
	// Browser is the path or name of a browser. "": the first of the usual names that is in PATH; see Find.
	Browser string
	// Isolation is the method of keeping the browser off the network. "": Namespace.
	Isolation Isolation
	// Tabs is the maximum number of concurrent rounds; hosts take turns. 0: half the number of processors, at least 1.
	Tabs int
	// Parked is the maximum number of stopped pages that are kept between two rounds, so that they need not run again from the start. It does
	// not affect results. 0: twice Tabs; negative: none.
	Parked int
	// TempDir is the directory for the browsers' directories. "": TMPDIR, or /tmp.
	TempDir string
	// MaxPages is the number of pages after which a browser is replaced. 0: 500.
	MaxPages int
	// MaxMemory limits the memory of a browser's processes, in bytes. A browser that exceeds it after a page is replaced. If a browser exceeds
	// twice the limit while pages run, its largest process is killed. 0: 1 GiB.
	MaxMemory int64
}

// Renderer runs rounds in browsers. It is safe for concurrent use. Close must be called to end the browsers.
type Renderer struct {
	cfg     Config
	path    string
	trap    *trap
	tabs    *turns
	stopped *pageCache

	starting sync.Mutex // held while a browser starts: only one starts at a time

	mu      sync.Mutex
	fleet   []*host // all running browsers
	told    bool    // whether browsers draw frames only on command
	version string
	pages   int
	closed  bool
}

// Info describes a Renderer, for the records of a crawl.
type Info struct {
	Browser   string    `json:"browser"`         // path of the browser
	Version   string    `json:"version"`         // version as the browser reports it
	Isolation Isolation `json:"isolation"`       // method of isolation
	Stopped   int64     `json:"escapes_stopped"` // connections that browsers tried to make; counted only with Flags, not with Namespace
	Browsers  int       `json:"browsers"`        // number of browsers running now
	Pages     int       `json:"pages"`           // number of pages opened so far
}

// New finds a browser, starts it, checks that it is isolated, and renders a small built-in page. So these errors appear before any page of
// a crawl is rendered. The error is an *Error with advice, or the context's.
func New(ctx context.Context, c Config) (*Renderer, error) {
	path, err := Find(c.Browser)
	if err != nil {
		return nil, err
	}
	c.Isolation = cmp.Or(c.Isolation, Namespace)
	if c.Isolation != Namespace && c.Isolation != Flags {
		return nil, &Error{reasonIsolation, fmt.Sprintf("isolation is %q: it can be namespace or flags", c.Isolation), nil}
	}
	c.Tabs = cmp.Or(max(c.Tabs, 0), max(1, runtime.NumCPU()/2))
	c.Parked = max(0, cmp.Or(c.Parked, 2*c.Tabs))
	c.MaxPages = cmp.Or(c.MaxPages, defaultMaxPages)
	c.MaxMemory = cmp.Or(c.MaxMemory, defaultMaxMemory)
	r := &Renderer{cfg: c, path: path, tabs: newTurns(c.Tabs), stopped: newPageCache(c.Parked), told: true}
	if r.trap, err = newTrap(ctx, c.Isolation); err != nil {
		return nil, err
	}
	if err := r.prove(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Info describes the Renderer.
func (r *Renderer) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Info{r.path, r.version, r.cfg.Isolation, r.trap.stopped(), len(r.fleet), r.pages}
}

// Close ends the browsers and waits until they have ended. Running rounds return ErrClosed; later ones do not begin.
func (r *Renderer) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stopped.take(func(*parked) bool { return true })
	var err error
	for _, h := range r.retireAll() {
		err = errors.Join(err, h.end())
	}
	r.trap.close()
	return err
}

// Round runs one round of a page's rendering. Faults of the page are reported in the Result: Cut is set if the page was not rendered to its
// end. The error is ErrTask, ErrClosed, the context's, or an *Error if there is no usable browser any more: then a crawler uses the page as
// fetched.
func (r *Renderer) Round(ctx context.Context, task render.Task) (*render.Result, error) {
	if task.URL.IsZero() || task.Have == nil {
		return nil, ErrTask
	}
	if err := r.tabs.take(ctx, task.URL.Host()); err != nil {
		return nil, err
	}
	defer r.tabs.give()
	page := r.stopped.resume(&task)
	res, err := r.attempt(ctx, &task, page)
	if errors.Is(err, errCrashed) || err != nil && page != nil {
		res, err = r.attempt(ctx, &task, nil) // once more from the start, in another browser
	}
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.verdict(res, err)
}

// cuts maps errors that end a page to Cut codes.
var cuts = []struct {
	err error
	cut string
}{
	{errMemory, render.CutMemory}, {errFlood, render.CutFlood}, {errLeft, render.CutLeft}, {errShown, render.CutDocument},
	{errCrashed, render.CutCrashed}, {errStuck, render.CutStuck}, {errTimeout, render.CutStuck},
	{context.DeadlineExceeded, render.CutStuck},
}

// verdict returns the result of a round whose page ended with an error: the partial result with a Cut code, or the error.
func (r *Renderer) verdict(res *render.Result, err error) (*render.Result, error) {
	if errors.Is(err, ErrClosed) {
		return nil, ErrClosed
	}
	for _, c := range cuts {
		if errors.Is(err, c.err) {
			res.DOM, res.Cut = nil, c.cut
			return res, nil
		}
	}
	var e *Error
	if !errors.As(err, &e) {
		err = &Error{reasonBrowser, "the browser " + r.path + " (" + r.version + ") failed", err}
	}
	return nil, err
}

// Codes of [Error].
const (
	reasonBrowser   = "render_browser"
	reasonIsolation = "render_isolation"
)

// Error reports that nothing can be rendered, with advice. Its reasons are stable across versions:
//
//	render_browser    there is no usable browser
//	render_isolation  the browser cannot be kept from the network
type Error struct {
	Reason string // stable reason code
	Text   string // a sentence for a person
	Err    error  // the cause; nil if there is none
}

func (e *Error) Error() string {
	s := "render: " + e.Text
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Errors of Round.
var (
	// ErrClosed means that the Renderer was closed.
	ErrClosed = errors.New("render: the renderer is closed")
	// ErrTask means that the Task has no URL or no Have.
	ErrTask = errors.New("render: a Task needs a URL and Have")
)

// Errors that end a page early. They are internal to the package.
var (
	errCrashed = errors.New("render: the page or its browser crashed")
	errMemory  = errors.New("render: the page took too much memory")
	errFlood   = errors.New("render: the page sent too much data")
	errStuck   = errors.New("render: the page does not respond")
	errLeft    = errors.New("render: the document was replaced")
	errShown   = errors.New("render: the browser does not show the document")
)
