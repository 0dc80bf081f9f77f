package chromium

import (
	"context"
	"errors"
	"fmt"
	"slices"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/target"

	"github.com/amble-crawler/amble/render"
)

// host is a browser with the numbers of its users and pages. The Renderer's lock guards its fields.
type host struct {
	*browser
	users   int // number of rounds running in the browser
	pages   int // number of pages opened in the browser
	retired bool
}

// attempt runs a round, in the parked page p if that is not nil, and then closes or parks the page. If there is an error, the Result has
// what was completed.
func (r *Renderer) attempt(ctx context.Context, task *render.Task, p *parked) (*render.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	if p == nil {
		h, err := r.board(ctx)
		if err != nil {
			return &render.Result{}, err
		}
		t, err := h.open(ctx, task)
		if err != nil {
			r.leave(h, err)
			return &render.Result{}, err
		}
		p = &parked{tab: t, in: h}
	} else {
		r.enter(p.in)
		p.tab.task.Have = task.Have
	}
	p.tab.measure(task.MaxProcessor)
	err := p.tab.run(ctx)
	p.tab.measured()
	if errors.Is(err, errMissing) {
		return r.hold(ctx, task, p), nil
	}
	if errors.Is(err, errCrashed) && p.in.over.Swap(false) {
		err = errMemory
	}
	r.leave(p.in, errors.Join(p.tab.close(ctx), fatal(err)))
	return &p.tab.result, err
}

// fatal returns err if it means that the browser cannot be used any more, otherwise nil.
func fatal(err error) error {
	if errors.Is(err, errTimeout) {
		return err
	}
	return nil
}

// hold parks a page that waits for answers. It closes a page that has workers, because their clocks do not stop.
func (r *Renderer) hold(ctx context.Context, task *render.Task, p *parked) *render.Result {
	res := p.tab.result
	res.Missing = p.tab.missing()
	res.Requests = slices.Clone(res.Requests)
	res.Console, res.Routes = slices.Clone(res.Console), slices.Clone(res.Routes)
	out := []*parked{p}
	if len(p.tab.workers) == 0 && r.cfg.Parked > 0 {
		p.key = identify(task)
		out = r.stopped.park(p)
	}
	for _, old := range out {
		if old == p {
			r.leave(p.in, p.tab.close(ctx))
		} else {
			r.enter(old.in)
			r.leave(old.in, old.tab.close(ctx))
		}
	}
	if !slices.Contains(out, p) {
		r.leave(p.in, nil)
	}
	return &res
}

// board returns a browser for one more page. If necessary, it starts one. The caller must call leave.
func (r *Renderer) board(ctx context.Context) (*host, error) {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.bury()
	r.mu.Lock()
	for _, h := range r.fleet {
		if !h.retired {
			h.users++
			h.pages++
			r.pages++
			r.mu.Unlock()
			return h, nil
		}
	}
	told := r.told
	r.mu.Unlock()
	b, err := r.start(ctx, told)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	h := &host{browser: b, users: 1, pages: 1}
	closed := r.closed
	if !closed {
		r.fleet = append(r.fleet, h)
		r.pages++
		r.version = b.version
	}
	r.mu.Unlock()
	if closed {
		return nil, errors.Join(ErrClosed, b.end())
	}
	return h, nil
}

// bury removes browsers that have ended while no round used them.
func (r *Renderer) bury() {
	r.mu.Lock()
	var dead []*host
	r.fleet = slices.DeleteFunc(r.fleet, func(h *host) bool {
		if h.dead() {
			h.retired = true
			if h.users == 0 {
				dead = append(dead, h)
			}
		}
		return h.retired && h.users == 0
	})
	r.mu.Unlock()
	for _, h := range dead {
		r.stopped.take(func(p *parked) bool { return p.in == h })
		_ = h.end()
	}
}

// enter adds a user to a browser in which the user's page is already open. The caller must call leave.
func (r *Renderer) enter(h *host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.users++
}

// leave ends one use of a browser. The browser is retired after an error, after its maximum number of pages, or if it has grown too large.
// The last user of a retired browser closes it.
func (r *Renderer) leave(h *host, err error) {
	size := int64(0)
	if h.process != nil {
		size, _, _ = memory(h.process.cmd.Process.Pid)
	}
	r.mu.Lock()
	h.users--
	h.retired = h.retired || err != nil || h.pages >= r.cfg.MaxPages || size > r.cfg.MaxMemory
	retired, last := h.retired, h.retired && h.users == 0
	if last {
		r.fleet = slices.DeleteFunc(r.fleet, func(x *host) bool { return x == h })
	}
	r.mu.Unlock()
	if retired {
		r.stopped.take(func(p *parked) bool { return p.in == h })
	}
	if last {
		_ = h.end() // files that are left are removed at the next start of a browser
	}
}

// start starts a browser and prepares it. Afterwards the browser holds every request and every new target until it is handled.
func (r *Renderer) start(ctx context.Context, told bool) (*browser, error) {
	p, err := start(r.path, told, r.trap.port(), r.cfg.Isolation, r.cfg.TempDir)
	if err != nil {
		return nil, err
	}
	b := attach(p, told, r.cfg.MaxMemory)
	if err := b.prepare(ctx, r.cfg.Isolation); err != nil {
		ended := b.end() // also completes the browser's output, which the error quotes
		return nil, errors.Join(r.unusable(ctx, err, b.version, p.said.String()), ended)
	}
	return b, nil
}

// prepare checks that the browser is isolated, and configures it.
func (b *browser) prepare(ctx context.Context, iso Isolation) error {
	desk := &tab{b: b, box: newMailbox(), replies: map[int64]*message{}}
	v, err := ask(ctx, desk, "", cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	b.version = v.Product
	if err := confined(b.process.cmd.Process.Pid, iso); err != nil {
		return &Error{reasonIsolation, "the browser is not kept from the network", err}
	}
	_, err = ask(ctx, desk, "", fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*"}}})
	if err != nil {
		return err
	}
	_, err = ask(ctx, desk, "", target.SetAutoAttach, autoAttach())
	if err != nil {
		return err
	}
	_, err = ask(ctx, desk, "", cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny,
	})
	return err
}

// unusable returns the error that explains why a browser cannot be used; said is the browser's error output.
func (r *Renderer) unusable(ctx context.Context, err error, version, said string) error {
	var own *Error
	var refused *protocolError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return err
	case errors.As(err, &refused) && refused.Code == methodNotFound:
		return &Error{reasonBrowser, fmt.Sprintf("the browser %s (%s) is too old for rendering, or no Chromium; install"+
			" a current chromium-headless-shell or chromium", r.path, version), err}
	case said != "":
		said = "; it said: " + said
	}
	return &Error{reasonBrowser, "the browser " + r.path + " does not work" + said, err}
}
