// Package render is the contract between a crawler and a browser without a network.
//
// A page whose content exists only after its scripts have run is rendered in rounds. A round is a pure function of a document, the answers
// that are known, a clock and a seed. Its result is either the rendered document, or the list of the answers that are missing. It makes no
// request. Missing answers are prerequisites of the page, like robots.txt: the crawler requests them with a permit, or is refused, and the
// next round has their answers.
//
//   - [Task], [Want], [Decision] and [Result] are one round as a renderer sees it. Package render/chromium has
//     a renderer that drives Chromium, package render/rendertest a scripted one for tests.
//   - [Policy] says which pages are rendered and which of their requests are always refused.
//   - [Rendering] is the rendering of one page from its first round to its last, kept between them as a few
//     hundred bytes of state.
//   - [Store] keeps answers, so that resources of many pages are requested once.
//
// The package starts no process or goroutine, and is independent of the crawler.
package render

import (
	"net/http"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Task is one round of the rendering of a page. Rounds with equal fields, and with Have functions that return the same decisions, have
// equal results.
type Task struct {
	// URL is the URL of Document, after all redirects.
	URL weburl.URL
	// Document is the page as it was fetched. Its body must be HTML.
	Document Answer
	// Agent is the value of navigator.userAgent.
	Agent string
	// Time is the page's clock at the start: the time at which Document was fetched. It must be the
	// same in every round of a page.
	Time time.Time
	// Seed determines the page's random numbers. It must be the same in every round of a page.
	Seed uint64
	// Have is called for every request of the page that the renderer does not refuse by itself, in the order of the page's requests, and one
	// call at a time. It must not block. Once it has returned an answer or a refusal for a Want, it must return the same decision in all later
	// rounds of the page.
	Have func(Want) Decision
	// Screenshot asks for a picture of the rendered page.
	Screenshot bool
	// MaxProcessor limits the processor time of the round; 0: no limit. A page that exceeds it ends with CutStuck.
	MaxProcessor time.Duration
	// Stop is the time by the page's clock at which the run ends; 0: the page runs to its end.
	Stop time.Duration
}

// Answer is a response to a request of a page, or the page's document itself.
type Answer struct {
	// Status is the HTTP status. A redirect is an answer, too: the browser follows it with another request.
	Status int
	// Header is the response's header.
	Header http.Header
	// Body is the response's content, without content codings. It must not be changed.
	Body []byte
	// Truncated is the reason why Body is incomplete, as a code of the fetcher; "" if it is complete.
	Truncated string
}

// Want is a request that a page makes.
type Want struct {
	// URL is the requested URL.
	URL weburl.URL
	// Method is the HTTP method. A renderer asks Have for GET requests only.
	Method string
	// Kind is the purpose of the request.
	Kind Kind
	// Accept is the request's Accept header, at most 256 bytes. Other headers of a page are not sent.
	Accept string
}

// Decision is the known outcome of a Want. The zero Decision means that the answer is missing.
type Decision struct {
	// Answer is the response, if there is one.
	Answer *Answer
	// Refuse is the reason code if there will never be an answer. The code is one of the Policy (see Fate), the fetcher or the gate. For the
	// page, the request fails.
	Refuse string
}

// Result is the outcome of a round. Cut is "" or one of these codes, stable across versions:
//
//	render_time      the page still changed at MaxVirtual: the DOM is that of this moment
//	render_dom       the DOM is longer than MaxDOM: it ends there
//	render_rounds    the page wanted more rounds than the Policy allows: requests were refused
//	render_wait      the answers took longer than the Policy allows: requests were refused
//	render_stuck     a script did not end, or the page exceeded its processor time: the DOM is partial or nil
//	render_flood     the page made too many requests, events or workers: no DOM
//	render_memory    the page took more memory than a browser may have: no DOM
//	render_crashed   the browser crashed twice on it: no DOM
//	render_left      the document was replaced by another one, such as a blob: no DOM
//	render_document  the browser does not show the document, because of its type: no DOM
type Result struct {
	// Missing lists in order the requests without whose answers the page cannot continue. If it is not empty, the fields below may change.
	Missing []Want
	// Processor is the processor time of the round, as far as the system reports it.
	Processor time.Duration
	// DOM is the rendered document as HTML in UTF-8, whatever charset it declares in a meta element. Shadow roots are written as <template
	// shadowrootmode>. DOM is nil if Cut means that there is no document.
	DOM []byte
	// URL is the final URL of the document, which scripts can change within its origin. Relative links are resolved against it.
	URL weburl.URL
	// Routes are the URLs to which scripts tried to navigate. They count as links of the page. The browser has followed none of them.
	Routes []Route
	// Requests lists the page's requests in order, at most MaxFates of them.
	Requests []Fate
	// Dropped counts the requests that did not fit in Requests.
	Dropped int
	// Console has the first lines written to the page's console, at most MaxConsole.
	Console []string
	// Dialogs counts the dialogs that the page opened. All were accepted.
	Dialogs int
	// Screenshot is a PNG of the viewport, if the Task wants one.
	Screenshot []byte
	// Virtual is the time for which the page has run, by its virtual clock.
	Virtual time.Duration
	// Cut is the code of the reason why the page was not rendered to its end; "" if it was.
	Cut string
}

// Route is a URL to which a script of a page tried to navigate.
type Route struct {
	// URL is the address.
	URL weburl.URL
	// How is the means that the script used.
	How How
}

// How names the browser feature with which a script tried to navigate.
type How string

// Browser features of a Route, stable across versions.
const (
	HowPush     How = "push"     // history.pushState
	HowReplace  How = "replace"  // history.replaceState
	HowOpen     How = "open"     // window.open, or a click on a link with a target
	HowLocation How = "location" // an assignment to location, a click on a link, a reload
	HowRefresh  How = "refresh"  // a meta refresh
	HowForm     How = "form"     // the submission of a form with method GET
)

// Limits of a Result.
const (
	MaxFates      = 256 // maximum number of Requests
	MaxConsole    = 50  // maximum number of lines in Console
	MaxRoutes     = 1000
	MaxLine       = 500 // maximum bytes of a line in Console
	MaxAccept     = 256 // maximum bytes of an Accept header
	MaxDOM        = 16 << 20
	MaxVirtual    = 10 * time.Second // maximum time by a page's clock
	QuietVirtual  = 5 * time.Second  // the page ends after this time without a request or a change
	ViewportWide  = 1280             // pixels
	ViewportHigh  = 800              // pixels
	MaxAnswerBody = 5 << 20          // maximum bytes of a resource that a crawler should fetch
)

// Codes of [Result].Cut.
const (
	CutTime     = "render_time"
	CutDOM      = "render_dom"
	cutRounds   = "render_rounds"
	cutWait     = "render_wait"
	CutStuck    = "render_stuck"
	CutFlood    = "render_flood"
	CutMemory   = "render_memory"
	CutCrashed  = "render_crashed"
	CutLeft     = "render_left"
	CutDocument = "render_document"
)
