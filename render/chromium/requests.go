package chromium

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// request is a request of a page that the browser holds.
type request struct {
	id        fetch.RequestID
	want      render.Want
	reason    network.ErrorReason // browser error used if the request is refused
	origin    string              // origin of the page, if known
	fate      int                 // index in result.Requests; -1: not listed
	refused   string              // reason code if the request is refused
	answer    *render.Answer      // nil before the request is answered
	preflight bool
	holds     bool // the script that made the request blocks until the request is answered
}

// maxMade limits the requests of a page, including preflights and refused ones.
const maxMade = 1000

// decided reports whether the request has an answer or is refused.
func (r *request) decided() bool { return r.answer != nil || r.refused != "" }

// paused handles a request that the browser holds.
func (t *tab) paused(_ *message, e *fetch.EventRequestPaused) {
	if e.Request == nil {
		return
	}
	if t.made++; t.made > maxMade {
		t.broken = errFlood
		return
	}
	document := e.ResourceType == network.ResourceTypeDocument && t.main(e.FrameID)
	switch {
	case document && !t.answered:
		t.answered = true
		t.fulfill(e.RequestID, document200(&t.task.Document))
	case document: // a navigation: the page keeps its document, and the target becomes a Route
		if e.Request.Method != http.MethodGet {
			t.fate(render.Fate{
				URL: e.Request.URL, Method: e.Request.Method, Kind: string(render.KindOther), Refused: render.ReasonMethod,
			})
		}
		t.fail(e.RequestID, network.ErrorReasonAborted)
	default:
		t.requests = append(t.requests, t.request(e))
	}
}

// request makes a request from an event. It refuses the request if that can be decided without Have.
func (t *tab) request(e *fetch.EventRequestPaused) *request {
	r := &request{
		id: e.RequestID, reason: network.ErrorReasonBlockedByClient, origin: header(e, "Origin"), fate: -1,
		want: render.Want{Method: e.Request.Method, Kind: kind(e), Accept: cut(header(e, "Accept"), render.MaxAccept)},
	}
	// Among XHRs and scripts, only synchronous XMLHttpRequest and importScripts have this priority.
	r.holds = e.Request.InitialPriority == network.ResourcePriorityVeryHigh &&
		(e.ResourceType == network.ResourceTypeXHR || e.ResourceType == network.ResourceTypeScript)
	if e.ResourceType == network.ResourceTypeDocument {
		r.reason = network.ErrorReasonAborted // if the request is refused, the frame stays empty
	}
	if e.Request.Method == http.MethodOptions && header(e, "Access-Control-Request-Method") != "" {
		r.preflight, r.answer = true, preflight(e)
		return r
	}
	var err error
	switch r.want.URL, err = weburl.Parse(e.Request.URL); {
	case t.windows[e.FrameID]:
		r.want.Kind, r.refused = render.KindWindow, render.ReasonKind
	case err != nil:
		r.refused = cmp.Or(weburl.ReasonOf(err), weburl.ReasonSyntax)
	case r.want.Kind == render.KindBeacon, r.want.Kind == render.KindOther:
		r.refused = render.ReasonKind
	case r.want.Method != http.MethodGet:
		r.refused = render.ReasonMethod
	}
	r.fate = t.fate(render.Fate{URL: e.Request.URL, Method: other(r.want.Method), Kind: string(r.want.Kind), Refused: r.refused})
	return r
}

// other returns a method if it is not GET, otherwise "".
func other(method string) string {
	if method == http.MethodGet {
		return ""
	}
	return cut(method, 20)
}

// maxFateURL limits the URL in a Fate, in bytes.
const maxFateURL = 2048

// fate adds a request to the result's list and returns its index; -1 if the list is full.
func (t *tab) fate(f render.Fate) int {
	if len(t.result.Requests) >= render.MaxFates {
		t.result.Dropped++
		return -1
	}
	f.URL = cut(f.URL, maxFateURL)
	t.result.Requests = append(t.result.Requests, f)
	return len(t.result.Requests) - 1
}

// decide asks Have about requests that are not decided yet, and reports whether answers are still missing.
func (t *tab) decide() (missing bool) {
	for _, r := range t.requests {
		if r.decided() {
			continue
		}
		d := t.task.Have(r.want)
		r.answer, r.refused = d.Answer, d.Refuse
		if r.refused != "" {
			r.answer = nil
		}
		if r.answer != nil && (r.answer.Status < 200 || r.answer.Status > 599) {
			r.answer, r.refused = nil, fmt.Sprintf("http_%d", r.answer.Status) // a page can use only a final status
		}
		if r.fate >= 0 && r.decided() {
			f := &t.result.Requests[r.fate]
			if f.Refused = r.refused; r.answer != nil {
				f.Status = r.answer.Status
			}
		}
		missing = missing || !r.decided()
	}
	return missing
}

// deliver sends the decided answers to the page, in the order of the page's requests.
func (t *tab) deliver() {
	for _, r := range t.requests {
		if r.answer == nil {
			t.fail(r.id, r.reason)
		} else if r.preflight {
			t.fulfill(r.id, r.answer)
		} else {
			t.changed = true
			t.employs = t.employs || r.want.Kind == render.KindWorker
			t.fulfill(r.id, resource(r.answer, r.origin))
		}
	}
	t.requests = nil
}

// missing returns the requests that are not decided.
func (t *tab) missing() []render.Want {
	var list []render.Want
	for _, r := range t.requests {
		if !r.decided() {
			list = append(list, r.want)
		}
	}
	return list
}

// fail makes a request fail.
func (t *tab) fail(id fetch.RequestID, reason network.ErrorReason) {
	_, _ = send(t.b.conn, nil, "", fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: reason})
}

// fulfill answers a request. If the page has cancelled the request meanwhile, the browser returns an error, which is harmless.
func (t *tab) fulfill(id fetch.RequestID, a *render.Answer) {
	_, _ = send(t.b.conn, nil, "", fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: id, ResponseCode: int64(a.Status), BinaryResponseHeaders: headerBlock(a.Header), Body: a.Body,
	})
}

// kinds maps the browser's resource types to kinds, if there is one that corresponds.
var kinds = map[network.ResourceType]render.Kind{
	network.ResourceTypeDocument:           render.KindFrame,
	network.ResourceTypeScript:             render.KindScript,
	network.ResourceTypeXHR:                render.KindFetch,
	network.ResourceTypeFetch:              render.KindFetch,
	network.ResourceTypeStylesheet:         render.KindStyle,
	network.ResourceTypeImage:              render.KindImage,
	network.ResourceTypeFont:               render.KindFont,
	network.ResourceTypeMedia:              render.KindMedia,
	network.ResourceTypeTextTrack:          render.KindMedia,
	network.ResourceTypeManifest:           render.KindManifest,
	network.ResourceTypePrefetch:           render.KindPrefetch,
	network.ResourceTypeEventSource:        render.KindEvents,
	network.ResourceTypePing:               render.KindBeacon,
	network.ResourceTypeCSPViolationReport: render.KindBeacon,
}

// kind returns the purpose of a request, as far as the browser reports it. In its own session the browser reports an EventSource as XHR,
// and scripts of workers, preloads and JSON modules as "Other".
func kind(e *fetch.EventRequestPaused) render.Kind {
	accept := header(e, "Accept")
	switch k, ok := kinds[e.ResourceType]; {
	case header(e, "Sec-Purpose") != "" || header(e, "Purpose") != "":
		return render.KindPrefetch
	case header(e, "Service-Worker") != "":
		return render.KindOther
	case accept == "text/event-stream":
		return render.KindEvents
	case ok:
		return k
	case e.ResourceType != network.ResourceTypeOther:
		return render.KindOther
	case strings.HasPrefix(accept, "image/"):
		return render.KindIcon
	case strings.HasPrefix(accept, "application/json"):
		return render.KindScript
	case e.Request.InitialPriority == network.ResourcePriorityVeryLow && e.Request.ReferrerPolicy == network.RequestReferrerPolicyNoReferrer:
		return render.KindPrefetch // may be a worker's script: on a page with this policy, both look the same
	case e.Request.InitialPriority == network.ResourcePriorityVeryLow:
		return render.KindWorker
	case accept == "*/*":
		return render.KindFetch
	}
	return render.KindOther
}

// header returns a header field of a request. The browser may give names in any case.
func header(e *fetch.EventRequestPaused, name string) string {
	for k, v := range e.Request.Headers {
		if strings.EqualFold(k, name) {
			s, _ := v.(string)
			return s
		}
	}
	return ""
}
