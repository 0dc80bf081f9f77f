package chromium

import (
	"context"
	"errors"
	"fmt"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/amble-crawler/amble/render"
)

// tab is one page in a browser. It has a separate browser context, without data of other pages. Only one goroutine at a time uses it, that
// of a round.
type tab struct {
	b      *browser
	box    *mailbox
	task   render.Task
	meter  meter
	claims int // number of frames and workers; guarded by the browser's lock

	context cdp.BrowserContextID
	target  target.ID
	session target.SessionID // "" until the target is attached
	windows map[cdp.FrameID]bool
	workers []target.SessionID
	employs bool               // whether the page has or had a worker
	replies map[int64]*message // replies by command number; nil while a reply is awaited

	loader    cdp.LoaderID // ID of the loaded document
	world     string       // execution context in which the document is serialized
	answered  bool         // whether the request for the document was answered
	now       float64      // time by the page's clock, in ms
	changed   bool         // whether something has changed or was answered since the last slice
	active    float64      // time of the last change, by the page's clock
	slices    int          // number of slices begun
	frames    int          // number of frames drawn since the last slice
	base      float64      // time by the browser's own clock, in ms, when the page's clock became virtual
	timed     int64        // number of the last command whose reply contains base
	slicing   bool         // whether the page's clock is running
	drawn     bool         // whether the frame after the last slice was drawn
	stops     int          // number of terminated scripts
	made      int          // number of requests made
	requests  []*request   // requests that are not delivered yet
	result    render.Result
	broken    error // error that ended the page
	hurried   bool  // whether the DOM must be captured in its present state
	navigated int64 // number of the command that loads the document
}

// Limits for the responses of a page. Where the system reports processor time, the wait is repeated, up to patience times in total, until
// the browser has had a processor for half of the limit, so that a busy machine does not cut pages earlier.
const (
	replyLimit = 30 * time.Second // limit for replies that a script cannot block
	stuckLimit = 5 * time.Second  // limit for actions that a script may block; after this time, the script is terminated
	stopLimit  = 2 * time.Second  // limit for a terminated script to end
	patience   = 6                // maximum number of periods
	maxStops   = 2
)

var errTimeout = errors.New("render: the browser does not answer")

// open opens a page for a task in the browser. After an error the page is closed.
func (b *browser) open(ctx context.Context, task *render.Task) (*tab, error) {
	t := &tab{
		b: b, box: newMailbox(), task: *task,
		windows: map[cdp.FrameID]bool{}, replies: map[int64]*message{},
	}
	if err := t.alone(ctx, func() error { return t.create(ctx) }); err != nil {
		_ = t.close(ctx)
		return nil, err
	}
	return t, nil
}

func (t *tab) create(ctx context.Context) error {
	yes := true
	c, err := ask(ctx, t, "", target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: &yes})
	if err != nil {
		return err
	}
	t.context = c.BrowserContextID
	t.b.enter(t.context, t)
	_, err = ask(ctx, t, "", cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: t.context,
	})
	if err != nil {
		return err
	}
	p := target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: t.context, Width: render.ViewportWide, Height: render.ViewportHigh,
	}
	if t.b.told {
		p.EnableBeginFrameControl = &yes
	}
	made, err := ask(ctx, t, "", target.CreateTarget, p)
	if err != nil {
		return err
	}
	t.target = made.TargetID
	if err := t.wait(ctx, replyLimit, func() bool { return t.session != "" }); err != nil {
		return err
	}
	return t.configure(ctx)
}

// configure prepares the page, which waits for this, and then lets the page run with its clock stopped.
func (t *tab) configure(ctx context.Context) error {
	var w work
	also(&w, t, t.session, target.SetAutoAttach, autoAttach())
	also(&w, t, t.session, page.Enable, page.EnableParams{})
	also(&w, t, t.session, runtime.AddBinding, runtime.AddBindingParams{Name: binding})
	also(&w, t, t.session, runtime.Enable, cdp.Empty{})
	also(&w, t, t.session, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: prelude(t.task.Seed),
	})
	also(&w, t, t.session, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: "0", WorldName: world,
	})
	also(&w, t, t.session, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: t.task.Agent})
	also(&w, t, t.session, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: render.ViewportWide, Height: render.ViewportHigh, DeviceScaleFactor: 1,
	})
	t.policy(emulation.SetVirtualTimePolicyParams{
		Policy:             emulation.VirtualTimePolicyPause,
		InitialVirtualTime: cdp.TimeSinceEpoch(float64(t.task.Time.UnixMilli()) / 1000),
	})
	also(&w, t, t.session, runtime.RunIfWaitingForDebugger, cdp.Empty{})
	if err := w.await(ctx, t); err != nil {
		return err
	}
	m, err := t.reply(ctx, t.timed, replyLimit)
	if err != nil {
		return fmt.Errorf("%s: %w", emulation.SetVirtualTimePolicy.Method, err)
	}
	t.begun(m)
	return nil
}

// close removes the page from the browser. An error means that the browser no longer responds.
func (t *tab) close(ctx context.Context) error {
	defer t.b.leave(t)
	if t.context == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyLimit)
	defer cancel()
	t.replies = map[int64]*message{}
	t.broken = nil
	_, err := ask(ctx, t, "", target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: t.context})
	return err
}

// autoAttach makes the browser hold each target that another target starts, until the new target is prepared.
func autoAttach() target.SetAutoAttachParams {
	yes := true
	return target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes}
}

// work is a group of commands whose replies are awaited together.
type work struct {
	ids   []int64
	names []string
	err   error
}

// also sends a command at once, and adds it to the group.
func also[P, R any](w *work, t *tab, s target.SessionID, cmd cdp.Command[P, R], params P) {
	id, err := tell(t, s, cmd, params)
	w.err = errors.Join(w.err, err)
	w.ids, w.names = append(w.ids, id), append(w.names, cmd.Method)
}

// await waits for all replies of the group.
func (w *work) await(ctx context.Context, t *tab) error {
	if w.err != nil {
		return w.err
	}
	for i, id := range w.ids {
		if _, err := t.reply(ctx, id, replyLimit); err != nil {
			return fmt.Errorf("%s: %w", w.names[i], err)
		}
	}
	return nil
}

// tell sends a command. The reply is kept for t.reply.
func tell[P, R any](t *tab, s target.SessionID, cmd cdp.Command[P, R], params P) (int64, error) {
	id, err := send(t.b.conn, t.box, s, cmd, params)
	if err == nil {
		t.replies[id] = nil
	}
	return id, err
}

// ask sends a command that a script cannot block, and waits for its reply.
func ask[P, R any](ctx context.Context, t *tab, s target.SessionID, cmd cdp.Command[P, R], params P) (r R, err error) {
	id, err := tell(t, s, cmd, params)
	if err != nil {
		return r, err
	}
	m, err := t.reply(ctx, id, replyLimit)
	if err == nil {
		err = jsonv2.Unmarshal(m.Result, &r, lenient)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", cmd.Method, err)
	}
	return r, nil
}

// reply waits for the reply to a command, at most for limit.
func (t *tab) reply(ctx context.Context, id int64, limit time.Duration) (*message, error) {
	err := t.wait(ctx, limit, func() bool { return t.replies[id] != nil })
	m := t.replies[id]
	delete(t.replies, id)
	switch {
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, m.Error
	}
	return m, nil
}

// wait handles the browser's messages until done returns true, or the time limit has passed: then the error is errTimeout.
func (t *tab) wait(ctx context.Context, limit time.Duration, done func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for !done() {
		m, err := t.box.pop()
		switch {
		case err != nil:
			return err
		case m != nil:
			t.handle(m)
		case t.broken != nil:
			return t.broken
		default:
			select {
			case <-t.box.wake:
			case <-timer.C:
				return errTimeout
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// watch is like wait, but for actions that a script may block. A script that does not end is terminated; scripts of workers come first. The
// error is errStuck if the action is still blocked. If a script of the page was terminated, the page must be captured in its present state.
func (t *tab) watch(ctx context.Context, done func() bool) error {
	limit := t.b.stuckAfter
	for {
		err := t.lookOn(ctx, limit, done)
		if !errors.Is(err, errTimeout) {
			return err
		}
		workers := len(t.workers)
		if err := t.pingWorkers(ctx); err != nil {
			return err
		}
		if len(t.workers) < workers {
			continue
		}
		if t.stops >= maxStops {
			return errStuck
		}
		t.stop()
		limit = stopLimit
	}
}

// lookOn is like wait, but the browser must have had a processor for half of the time limit. To read the processor time, each process must
// be examined, so it is not read in the first tenth of the time: nearly always, the wait ends before.
func (t *tab) lookOn(ctx context.Context, limit time.Duration, done func() bool) error {
	unseen := limit / 10
	if err := t.wait(ctx, unseen, done); !errors.Is(err, errTimeout) {
		return err
	}
	limit -= unseen
	before := cpu(t.b.process.cmd.Process.Pid)
	for range patience {
		err := t.wait(ctx, limit, done)
		if !errors.Is(err, errTimeout) {
			return err
		}
		if now := cpu(t.b.process.cmd.Process.Pid); now < 0 || now-before >= limit/2 {
			break
		}
	}
	return errTimeout
}

// stop terminates the page's running script.
func (t *tab) stop() {
	t.stops++
	t.hurried = true
	t.terminate(t.session)
}

func (t *tab) terminate(s target.SessionID) {
	_, _ = send(t.b.conn, nil, s, runtime.TerminateExecution, cdp.Empty{})
}

// prepareWorker prepares a worker, which waits for this, and lets it run.
func (t *tab) prepareWorker(s target.SessionID) {
	zero := int64(0)
	_, _ = send(t.b.conn, nil, s, target.SetAutoAttach, autoAttach())
	_, _ = send(t.b.conn, nil, s, network.Enable, network.EnableParams{MaxTotalBufferSize: &zero, MaxResourceBufferSize: &zero})
	_, _ = send(t.b.conn, nil, s, runtime.Evaluate, runtime.EvaluateParams{Expression: prelude(t.task.Seed)})
	_, _ = send(t.b.conn, nil, s, runtime.RunIfWaitingForDebugger, cdp.Empty{})
}
