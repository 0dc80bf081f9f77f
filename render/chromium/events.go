package chromium

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// handlers has the functions that handle the events of a page. Events without a function are dropped when they arrive.
var handlers = map[string]func(*tab, *message){
	target.AttachedToTarget.Method:            on((*tab).attached),
	target.DetachedFromTarget.Method:          on((*tab).detached),
	fetch.RequestPaused.Method:                on((*tab).paused),
	inspector.TargetCrashed.Method:            (*tab).crashed,
	emulation.VirtualTimeBudgetExpired.Method: func(t *tab, _ *message) { t.slicing = false },
	page.FrameNavigated.Method:                on((*tab).navigatedTo),
	page.FrameRequestedNavigation.Method:      on((*tab).wantsAway),
	page.WindowOpen.Method:                    on((*tab).opensWindow),
	page.JavascriptDialogOpening.Method:       on((*tab).dialog),
	runtime.ExecutionContextCreated.Method:    on((*tab).hasContext),
	runtime.BindingCalled.Method:              on((*tab).told),
	runtime.ConsoleAPICalled.Method:           on((*tab).logs),
	runtime.ExceptionThrown.Method:            on((*tab).throws),
}

// on makes a handler from a function with a decoded event. The handler drops invalid events.
func on[E any](f func(*tab, *message, *E)) func(*tab, *message) {
	return func(t *tab, m *message) {
		var e E
		if jsonv2.Unmarshal(m.Params, &e, lenient) == nil {
			f(t, m, &e)
		}
	}
}

// handle processes a message that the page has received.
func (t *tab) handle(m *message) {
	if m.ID != 0 {
		if _, awaited := t.replies[m.ID]; awaited {
			t.replies[m.ID] = m
		}
		return
	}
	if h := handlers[m.Method]; h != nil {
		h(t, m)
	}
}

// maxWorkers limits the workers of a page. A page that starts more ends with CutFlood: the page's clock stops while a worker waits to
// begin, so the page could occupy its tab without using processor time.
const maxWorkers = 50

func (t *tab) attached(_ *message, e *target.EventAttachedToTarget) {
	switch kind := e.TargetInfo.Type; {
	case kind == "page" && t.session == "" && e.TargetInfo.OpenerID == "":
		t.session = e.SessionID
	case kind == "page":
		t.windows[cdp.FrameID(e.TargetInfo.TargetID)] = true
		// While the worker waits to be prepared, its opener may wait, too, because both have the same thread.
		_, _ = send(t.b.conn, nil, e.SessionID, runtime.RunIfWaitingForDebugger, cdp.Empty{})
		_, _ = send(t.b.conn, nil, "", target.CloseTarget, target.CloseTargetParams{TargetID: e.TargetInfo.TargetID})
	case kind != "worker" && kind != "shared_worker":
	case len(t.workers) < maxWorkers:
		t.workers, t.employs = append(t.workers, e.SessionID), true
		t.prepareWorker(e.SessionID)
	default:
		t.broken = errFlood
	}
}

func (t *tab) detached(_ *message, e *target.EventDetachedFromTarget) {
	if i := slices.Index(t.workers, e.SessionID); i >= 0 {
		t.workers = slices.Delete(t.workers, i, i+1)
	}
	if e.SessionID == t.session {
		t.broken = errCrashed
	}
}

func (t *tab) crashed(m *message) {
	if m.Session == t.session {
		t.broken = errCrashed
	}
}

// main reports whether a frame is the main frame of the page.
func (t *tab) main(f cdp.FrameID) bool { return string(f) == string(t.target) }

func (t *tab) navigatedTo(_ *message, e *page.EventFrameNavigated) {
	if e.Frame == nil || !t.main(e.Frame.ID) || e.Frame.LoaderID == t.loader {
		return
	}
	if t.loader != "" {
		t.broken = errLeft
		return
	}
	if t.answered {
		t.loader = e.Frame.LoaderID
	}
}

func (t *tab) hasContext(m *message, e *runtime.EventExecutionContextCreated) {
	var aux struct {
		FrameID cdp.FrameID `json:"frameId"`
	}
	if e.Context == nil || e.Context.Name != world || m.Session != t.session {
		return
	}
	if jsonv2.Unmarshal(e.Context.AuxData, &aux, lenient) == nil && t.main(aux.FrameID) {
		t.world = e.Context.UniqueID
	}
}

// means maps a browser's reason for a navigation to the How of a Route. Other reasons make no Route: a reload leads to the same page, and a
// form with method POST is not a link.
var means = map[page.ClientNavigationReason]render.How{
	page.ClientNavigationReasonAnchorClick:       render.HowLocation,
	page.ClientNavigationReasonScriptInitiated:   render.HowLocation,
	page.ClientNavigationReasonOther:             render.HowLocation,
	page.ClientNavigationReasonMetaTagRefresh:    render.HowRefresh,
	page.ClientNavigationReasonHTTPHeaderRefresh: render.HowRefresh,
	page.ClientNavigationReasonFormSubmissionGet: render.HowForm,
}

func (t *tab) wantsAway(_ *message, e *page.EventFrameRequestedNavigation) {
	if how, ok := means[e.Reason]; ok && t.main(e.FrameID) {
		if e.Disposition != page.ClientNavigationDispositionCurrentTab {
			how = render.HowOpen
		}
		t.route(e.URL, how)
	}
}

func (t *tab) opensWindow(_ *message, e *page.EventWindowOpen) { t.route(e.URL, render.HowOpen) }

// route records a URL to which a script tried to navigate.
func (t *tab) route(address string, how render.How) {
	u, err := weburl.Parse(address)
	r := render.Route{URL: u, How: how}
	if err == nil && len(t.result.Routes) < render.MaxRoutes && !slices.Contains(t.result.Routes, r) {
		t.result.Routes = append(t.result.Routes, r)
	}
}

// told handles an event that the prelude has reported.
func (t *tab) told(_ *message, e *runtime.EventBindingCalled) {
	what, text, _ := strings.Cut(e.Payload, " ")
	switch {
	case e.Name != binding:
	case what == "change":
		t.changed = true
	case what == "socket":
		t.fate(render.Fate{URL: text, Kind: string(render.KindSocket), Refused: render.ReasonKind})
	case what == string(render.HowPush), what == string(render.HowReplace), what == string(render.HowOpen):
		t.route(text, render.How(what))
	}
}

func (t *tab) dialog(m *message, e *page.EventJavascriptDialogOpening) {
	t.result.Dialogs++
	_, _ = send(t.b.conn, nil, m.Session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{
		Accept: true, PromptText: e.DefaultPrompt,
	})
}

func (t *tab) logs(_ *message, e *runtime.EventConsoleAPICalled) {
	var b strings.Builder
	b.WriteString(string(e.Type))
	b.WriteByte(':')
	for _, a := range e.Args {
		b.WriteByte(' ')
		b.WriteString(text(a))
		if b.Len() > render.MaxLine {
			break
		}
	}
	t.line(b.String())
}

// text formats a JavaScript value as on a console.
func text(o *runtime.RemoteObject) string {
	var s string
	switch {
	case o == nil:
		return ""
	case o.Type == "string" && jsonv2.Unmarshal(o.Value, &s, lenient) == nil:
		return s
	case o.Description != "":
		return o.Description
	case o.Subtype != "":
		return string(o.Subtype)
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return string(o.Type)
}

func (t *tab) throws(_ *message, e *runtime.EventExceptionThrown) {
	if d := e.ExceptionDetails; d != nil {
		t.line("exception: " + strings.TrimSpace(d.Text+" "+text(d.Exception)))
	}
}

func (t *tab) line(s string) {
	if len(t.result.Console) < render.MaxConsole {
		t.result.Console = append(t.result.Console, cut(s, render.MaxLine))
	}
}

// cut shortens text to at most n bytes, without cutting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

const (
	binding = "__amble" // binding with which the prelude reports events; the prelude removes it from the page
	world   = "amble"   // JavaScript world in which the document is serialized
)

//go:embed prelude.js
var preludeSource string

//go:embed serialize.js
var serializeSource string

// prelude returns the script that runs before the scripts of a page, with this seed for random numbers.
func prelude(seed uint64) string {
	a, b := mix(&seed), mix(&seed)
	words := fmt.Sprintf("[%d,%d,%d,%d]", int32(a), int32(a>>32), int32(b), int32(b>>32))
	return strings.NewReplacer("%NAME%", binding, "%SEED%", words).Replace(preludeSource)
}

// mix is splitmix64: it spreads the bits of a seed.
func mix(s *uint64) uint64 {
	*s += 0x9e3779b97f4a7c15
	z := *s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// serialize returns a JavaScript expression that serializes the document, up to limit.
func serialize(limit int) string { return fmt.Sprintf("(%s)(%d)", serializeSource, limit) }
