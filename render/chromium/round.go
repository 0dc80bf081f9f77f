package chromium

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/headlessexperimental"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// A page's clock runs for sliceLength (in ms) at a time, and then a frame is drawn. The end of a slice, and its distance to other ends,
// must not be a whole number of ms: a timer that is due exactly then might run before or after. In all slices that a page can have, the
// fraction stays between a fifth and seven tenths of a ms, so that rounding in the browser does not change the number of whole ms.
const (
	sliceLength   = 250.012
	firstFraction = 0.2
)

// budget returns the virtual time of a slice, in ms. Slices are counted from 1.
func budget(slice int) float64 {
	if slice == 1 {
		return math.Trunc(sliceLength) + firstFraction
	}
	return sliceLength
}

// starvation limits the tasks that run while a page's clock stands still. After that the clock advances, so that a page that keeps sending
// messages to itself ends.
const starvation = 2_000

// Real times for recognizing an idle page.
const (
	quiet       = 4 * time.Millisecond   // time without a request, between two replies
	stillQuiet  = 40 * time.Millisecond  // time without a request, before answers count as missing
	firstFrame  = 250 * time.Millisecond // time without a request, before the first frame of a browser
	promptReply = 5 * time.Millisecond   // maximum reply time of an idle page
	heldUp      = time.Second            // time without a reply, after which a script is considered to wait for one of its requests
	idleTries   = 8
)

// errMissing ends a round in which the page cannot continue.
var errMissing = errors.New("render: answers are missing")

// run runs the page to its end, or until it cannot continue because answers are missing. After errMissing it can be called again, with a
// new task.Have.
func (t *tab) run(ctx context.Context) error {
	if t.navigated == 0 {
		if err := t.navigate(ctx); err != nil {
			return err
		}
	}
	for !t.hurried {
		if err := t.settle(ctx); err != nil {
			return err
		}
		switch {
		case t.slicing:
			err := t.watch(ctx, func() bool { return !t.slicing || len(t.requests) > 0 })
			if errors.Is(err, errStuck) {
				t.halt()
			} else if err != nil {
				return err
			}
		case !t.drawn:
			if err := t.draw(ctx); err != nil {
				return err
			}
		case t.done():
			return t.capture(ctx)
		default:
			t.slice()
		}
	}
	return t.capture(ctx)
}

// navigate loads the document and waits until the browser shows it.
func (t *tab) navigate(ctx context.Context) (err error) {
	t.navigated, err = tell(t, t.session, page.Navigate, page.NavigateParams{URL: t.task.URL.String()})
	if err != nil {
		return err
	}
	t.drawn = true // the new page has no frame to draw yet
	shown := func() bool { return t.loader != "" && t.world != "" || failed(t.replies[t.navigated]) }
	if err := t.wait(ctx, replyLimit, shown); err != nil {
		return err
	}
	if failed(t.replies[t.navigated]) {
		return errShown
	}
	_, err = ask(ctx, t, t.session, page.ResetNavigationHistory, cdp.Empty{}) // the history is empty, so scripts cannot go back
	return err
}

// failed reports whether the reply to a navigation means that there is no document.
func failed(m *message) bool {
	if m == nil {
		return false
	}
	var r page.NavigateResult
	return m.Error != nil || jsonv2.Unmarshal(m.Result, &r, lenient) != nil || r.ErrorText != "" || r.IsDownload
}

// slice lets the page's clock run for a slice. The clock stops by itself while a request of the document waits for an answer.
func (t *tab) slice() {
	t.slices++
	budget := budget(t.slices)
	t.slicing, t.drawn, t.frames = true, false, 0
	t.policy(emulation.SetVirtualTimePolicyParams{
		Policy: emulation.VirtualTimePolicyPauseIfNetworkFetchesPending,
		Budget: &budget, MaxVirtualTimeTaskStarvationCount: starvation,
	})
}

// policy sets how the page's clock runs. The reply contains the time base of the clock; it is read when a frame needs it.
func (t *tab) policy(p emulation.SetVirtualTimePolicyParams) {
	delete(t.replies, t.timed)
	t.timed, _ = tell(t, t.session, emulation.SetVirtualTimePolicy, p) // the next command reports an error
}

// begun reads, from the reply, the browser's time at which the page's clock became virtual.
func (t *tab) begun(m *message) {
	var r emulation.SetVirtualTimePolicyResult
	if m.Error == nil && jsonv2.Unmarshal(m.Result, &r, lenient) == nil {
		t.base = r.VirtualTimeTicksBase
	}
}

// ticks returns the time of the next frame by the browser's own clock: that of the end of the last slice. Without it, the browser would use
// the real time, which is ahead of the page's clock when the machine is busy, and animations would jump.
func (t *tab) ticks() float64 {
	if m := t.take(t.timed); m != nil {
		t.begun(m)
	}
	if t.base == 0 {
		return 0
	}
	t.frames++ // so that all frames have distinct times
	return t.base + math.Trunc(sliceLength) + firstFraction + float64(t.slices-1)*sliceLength + float64(t.frames-1)*0.01
}

// halt stops the page's clock, and thus most of its activity.
func (t *tab) halt() {
	t.slicing = false
	t.policy(emulation.SetVirtualTimePolicyParams{Policy: emulation.VirtualTimePolicyPause})
}

// draw draws a frame after a time slice. This also runs layout, animations and what depends on them.
func (t *tab) draw(ctx context.Context) error {
	if pause := t.settling(); pause > 0 {
		if err := t.rest(ctx, pause); err != nil || len(t.requests) > 0 {
			return err
		}
	}
	if _, answered, err := t.ping(ctx); err != nil || !answered || t.hurried {
		return err
	}
	t.drawn = true
	if t.changed {
		t.active, t.changed = t.now, false
	}
	if !t.b.told {
		return t.realFrame(ctx)
	}
	yes := true
	_, err := t.frame(ctx, headlessexperimental.BeginFrameParams{NoDisplayUpdates: &yes})
	if err == nil {
		t.b.drew.Store(true)
	}
	return err
}

// settling returns the real time without a request that must pass before the next frame is drawn. In this time, things may begin that the
// browser does not report: a worker replies before its script has begun, and the browser replies to a command to draw before it can draw a
// page, which takes longest for the first page. Without the wait, the frame would be missing.
func (t *tab) settling() time.Duration {
	switch {
	case t.b.told && !t.b.drew.Load():
		return firstFrame
	case t.employs || t.slices == 1:
		return stillQuiet
	}
	return 0
}

// frame draws a frame on command, only one at a time: a browser crashes if it draws two at once, even of different pages.
func (t *tab) frame(ctx context.Context, p headlessexperimental.BeginFrameParams) (r headlessexperimental.BeginFrameResult, err error) {
	select {
	case t.b.drawing <- struct{}{}:
		defer func() { <-t.b.drawing }()
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
	p.FrameTimeTicks = t.ticks()
	id, err := tell(t, t.session, headlessexperimental.BeginFrame, p)
	if err != nil {
		return r, err
	}
	m, err := t.finish(ctx, id)
	if err == nil {
		err = jsonv2.Unmarshal(m.Result, &r, lenient)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", headlessexperimental.BeginFrame.Method, err)
	}
	return r, nil
}

// realFrame waits briefly for a frame, in a browser that draws frames by itself. Such a browser draws no frame if nothing has changed.
func (t *tab) realFrame(ctx context.Context) error {
	if t.active < t.now && t.now > 2*sliceLength {
		return nil
	}
	yes := true
	id, err := tell(t, t.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: "new Promise(requestAnimationFrame)", UniqueContextID: t.world, AwaitPromise: &yes,
	})
	if err == nil {
		err = t.wait(ctx, stillQuiet, func() bool { return t.replies[id] != nil })
		delete(t.replies, id)
	}
	if errors.Is(err, errTimeout) {
		return nil
	}
	return err
}

// done reports whether the page has reached its end.
func (t *tab) done() bool {
	if stop := t.task.Stop; stop > 0 && t.now >= float64(stop.Milliseconds()) {
		return true
	}
	if t.now-t.active >= float64(render.QuietVirtual.Milliseconds()) {
		return true
	}
	if t.now >= float64(render.MaxVirtual.Milliseconds()) {
		t.result.Cut = render.CutTime
		return true
	}
	return false
}

// settle delivers answers until no request is waiting. The error is errMissing if a request cannot be answered yet.
func (t *tab) settle(ctx context.Context) error {
	for len(t.requests) > 0 && !t.hurried {
		if err := t.idle(ctx, quiet); err != nil {
			return err
		}
		before := t.made
		if t.decide() {
			if err := t.idle(ctx, stillQuiet); err != nil {
				return err
			}
			if before == t.made {
				return errMissing
			}
			continue
		}
		t.deliver()
	}
	return nil
}

// idle waits until the page is idle, so that its requests can be answered: it replies at once, and makes no request between two replies. A
// page that waits for a synchronous request is idle, too, but does not reply.
func (t *tab) idle(ctx context.Context, pause time.Duration) error {
	for range idleTries {
		made := t.made
		if _, _, err := t.ping(ctx); err != nil || t.hurried {
			return err
		}
		if err := t.rest(ctx, pause); err != nil {
			return err
		}
		took, _, err := t.ping(ctx)
		if err != nil || t.hurried {
			return err
		}
		if took < promptReply && made == t.made && !t.b.refuseOrphans(time.Now()) {
			return nil
		}
	}
	return nil
}

// rest handles messages until no request has arrived for the time pause.
func (t *tab) rest(ctx context.Context, pause time.Duration) error {
	for {
		made := t.made
		err := t.wait(ctx, pause, func() bool { return t.made != made })
		if errors.Is(err, errTimeout) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ping asks the page for its time. It returns how long the reply took, and whether there was one. There may be none while the page waits
// for requests. If it waits for none and does not reply, its script is terminated.
func (t *tab) ping(ctx context.Context) (took time.Duration, answered bool, err error) {
	if t.held() {
		return 0, false, nil
	}
	began := time.Now()
	yes := true
	id, err := tell(t, t.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: "performance.now()", UniqueContextID: t.world, ReturnByValue: &yes,
	})
	if err != nil {
		return 0, false, err
	}
	if err := t.pingWorkers(ctx); err != nil {
		return 0, false, err
	}
	if len(t.requests) == 0 {
		err = t.watch(ctx, func() bool { return t.replies[id] != nil || t.held() })
	} else if err = t.wait(ctx, heldUp, func() bool { return t.replies[id] != nil || t.held() }); errors.Is(err, errTimeout) {
		err = nil
	}
	m := t.take(id)
	if err != nil || m == nil {
		return 0, false, err
	}
	var r runtime.EvaluateResult
	if m.Error == nil && jsonv2.Unmarshal(m.Result, &r, lenient) == nil && r.Result != nil {
		_ = jsonv2.Unmarshal(r.Result.Value, &t.now) // t.now is unchanged if a script was terminated
	}
	return time.Since(began), true, nil
}

// held reports whether one of the page's requests blocks the script that made it.
func (t *tab) held() bool {
	return slices.ContainsFunc(t.requests, func(r *request) bool { return r.holds })
}

// pingWorkers waits until every worker has completed its present task, or until the page has a request for which a worker may wait. If no
// worker completes its task in time, all busy workers are terminated, and no longer waited for.
func (t *tab) pingWorkers(ctx context.Context) error {
	pings := map[target.SessionID]int64{}
	for _, s := range t.workers {
		id, err := tell(t, s, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"})
		if err != nil {
			return err
		}
		pings[s] = id
		defer delete(t.replies, id)
	}
	busy := func() (some []target.SessionID) {
		for _, s := range t.workers {
			if id, asked := pings[s]; asked && t.replies[id] == nil {
				some = append(some, s)
			}
		}
		return some
	}
	for n := len(busy()); n > 0 && len(t.requests) == 0; n = len(busy()) {
		err := t.wait(ctx, t.b.stuckAfter, func() bool { return len(busy()) < n || len(t.requests) > 0 })
		if errors.Is(err, errTimeout) {
			for _, s := range busy() {
				t.terminate(s)
				t.forget(s)
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (t *tab) forget(s target.SessionID) {
	if i := slices.Index(t.workers, s); i >= 0 {
		t.workers = slices.Delete(t.workers, i, i+1)
	}
}

// take removes and returns a reply that has arrived.
func (t *tab) take(id int64) *message {
	m := t.replies[id]
	delete(t.replies, id)
	return m
}

// finish waits for the reply to a command that a script may block.
func (t *tab) finish(ctx context.Context, id int64) (*message, error) {
	if err := t.watch(ctx, func() bool { return t.replies[id] != nil }); err != nil {
		return nil, err
	}
	m := t.take(id)
	if m.Error != nil {
		return nil, m.Error
	}
	return m, nil
}

// capture serializes the document. If a script was terminated, it may try twice: the end of that script may make the first attempt fail.
func (t *tab) capture(ctx context.Context) error {
	if t.hurried && t.result.Cut == "" {
		t.result.Cut = render.CutStuck
	}
	err := t.write(ctx)
	if err != nil && t.hurried && t.broken == nil {
		err = t.write(ctx)
	}
	if err == nil && t.task.Screenshot {
		err = t.picture(ctx)
	}
	t.result.Virtual = time.Duration(t.now * float64(time.Millisecond))
	return err
}

func (t *tab) write(ctx context.Context) error {
	yes := true
	id, err := tell(t, t.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: serialize(render.MaxDOM), UniqueContextID: t.world, ReturnByValue: &yes,
	})
	if err != nil {
		return err
	}
	m, err := t.finish(ctx, id)
	if err != nil {
		return err
	}
	var r runtime.EvaluateResult
	var doc struct {
		HTML  string `json:"html"`
		Whole bool   `json:"whole"`
		URL   string `json:"url"`
	}
	if err := jsonv2.Unmarshal(m.Result, &r, lenient); err != nil || r.Result == nil || r.ExceptionDetails != nil {
		return fmt.Errorf("render: the document could not be written out: %w", errors.Join(err, errStuck))
	}
	if err := jsonv2.Unmarshal(r.Result.Value, &doc, lenient); err != nil {
		return fmt.Errorf("render: the document could not be written out: %w", err)
	}
	t.result.DOM, t.result.URL = []byte(doc.HTML), t.task.URL
	if u, err := weburl.Parse(doc.URL); err == nil && u.Origin() == t.task.URL.Origin() {
		t.result.URL = u
	}
	if !doc.Whole {
		t.result.Cut = render.CutDOM
	}
	return nil
}

// picture takes the screenshot.
func (t *tab) picture(ctx context.Context) error {
	if !t.b.told {
		shot, err := ask(ctx, t, t.session, page.CaptureScreenshot, page.CaptureScreenshotParams{})
		t.result.Screenshot = shot.Data
		return err
	}
	for range 2 { // the first frame of a browser may come without a picture
		r, err := t.frame(ctx, headlessexperimental.BeginFrameParams{
			Screenshot: &headlessexperimental.ScreenshotParams{Format: headlessexperimental.ScreenshotParamsFormatPng},
		})
		if err != nil {
			return err
		}
		if t.result.Screenshot = r.ScreenshotData; len(r.ScreenshotData) > 0 {
			return nil
		}
	}
	return nil
}
