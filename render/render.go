// Package render is the contract between a crawler and a browser that has no network.
//
// A page whose content exists only after its scripts have run is rendered in rounds. A round is a pure
// function: from a document, the answers that are known, a clock and a seed it makes either the rendered
// document or the list of the answers that are missing. It makes no request. What is missing is a
// prerequisite of the page, as robots.txt is one: the crawler requests it with a permit, or is refused, and
// the next round knows more.
//
//   - [Task], [Want], [Decision] and [Result] are one round as a renderer sees it. Package render/chromium has
//     a renderer that drives Chromium, package render/rendertest a scripted one for tests.
//   - [Policy] says which pages are rendered and which of their requests are refused without asking anybody.
//   - [Rendering] is the rendering of one page from its first round to its last, kept between them as a few
//     hundred bytes of state.
//   - [Store] keeps answers, so that what many pages load is requested once.
//
// Nothing here starts a process or a goroutine, and nothing knows the crawler.
package render

import (
	"net/http"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Task is one round of the rendering of a page. Two rounds with equal fields, whose Have answers alike, have
// equal results.
type Task struct {
	// URL is where Document was fetched from, after all redirects.
	URL weburl.URL
	// Document is the page as it was fetched. Its body must be HTML.
	Document Answer
	// Agent is the value of navigator.userAgent.
	Agent string
	// Time is the page's clock at the start: the time at which Document was fetched. It must be the
	// same in every round of a page.
	Time time.Time
	// Seed decides the page's random numbers. It must be the same in every round of a page.
	Seed uint64
	// Have is called for every request of the page that the renderer does not refuse by itself, in the order
	// in which the page made them, one call at a time. It must not block, and must give a Want that it has
	// answered or refused the same decision in every later round of the page.
	Have func(Want) Decision
	// Screenshot asks for a picture of the rendered page.
	Screenshot bool
	// MaxProcessor limits the processor time of the round; 0: no limit. A page that exceeds it ends with CutStuck.
	MaxProcessor time.Duration
	// Stop ends the page's run when its clock has run so long, whatever it is at; 0 lets it come to its end.
	Stop time.Duration
}

// Answer is a response to a request of a page, or the page's document itself.
type Answer struct {
	// Status is the HTTP status. Redirects are answers: the browser follows them with another request.
	Status int
	// Header is the response's header.
	Header http.Header
	// Body is the response's content, content codings removed. It must not be changed.
	Body []byte
	// Truncated is why Body ends early, in the fetcher's codes; "" if it is whole.
	Truncated string
}

// Want is a request that a page makes.
type Want struct {
	// URL is requested.
	URL weburl.URL
	// Method is the HTTP method. A renderer asks Have for GET requests only.
	Method string
	// Kind says what the answer is for.
	Kind Kind
	// Accept is the request's Accept header, at most 256 bytes. No other header of a page is sent on.
	Accept string
}

// Decision is the outcome of a Want so far. The zero Decision means that the answer is not there yet.
type Decision struct {
	// Answer is the response, if there is one.
	Answer *Answer
	// Refuse is the reason code if there will never be an answer: of the Policy, see Fate, of the fetcher or of
	// the gate. The page sees a failed request.
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
	// Missing lists the requests without which the page cannot continue, in the order in which it made them.
	// If it is not empty, the fields below are not final.
	Missing []Want
	// Processor is the processor time that the round has taken, as far as the system tells.
	Processor time.Duration
	// DOM is the rendered document as HTML in UTF-8, whatever a meta element in it says, with shadow roots as
	// <template shadowrootmode>. It is nil if Cut says that there is none.
	DOM []byte
	// URL is the document's address in the end, which scripts can change within its origin: the base of its
	// relative links.
	URL weburl.URL
	// Routes are the addresses to which scripts tried to go. They are links of the page. The browser has
	// followed none of them.
	Routes []Route
	// Requests lists what the page requested, in the order in which it did, at most MaxFates of them.
	Requests []Fate
	// Dropped counts the requests that Requests has no room for.
	Dropped int
	// Console has the first lines that the page wrote to its console, at most MaxConsole.
	Console []string
	// Dialogs counts the dialogs that the page opened. Each was accepted.
	Dialogs int
	// Screenshot is a PNG of the viewport, if the Task wants one.
	Screenshot []byte
	// Virtual is the time that the page has run by its virtual clock.
	Virtual time.Duration
	// Cut is why the page was not rendered to its end, one of the Cut codes; "" if it was.
	Cut string
}

// Route is an address to which a script of a page tried to go.
type Route struct {
	// URL is the address.
	URL weburl.URL
	// How says by what means.
	How How
}

// How names the means that a script used to go to an address.
type How string

// The means, stable across versions.
const (
	HowPush     How = "push"     // history.pushState
	HowReplace  How = "replace"  // history.replaceState
	HowOpen     How = "open"     // window.open, or a click on a link with a target
	HowLocation How = "location" // an assignment to location, a click on a link, a reload
	HowRefresh  How = "refresh"  // a meta refresh
	HowForm     How = "form"     // the submission of a form with method GET
)

// Bounds of a Result.
const (
	MaxFates      = 256 // requests listed
	MaxConsole    = 50  // lines of the console
	MaxRoutes     = 1000
	MaxLine       = 500 // bytes of a line of the console
	MaxAccept     = 256 // bytes of an Accept header
	MaxDOM        = 16 << 20
	MaxVirtual    = 10 * time.Second // of a page's clock
	QuietVirtual  = 5 * time.Second  // without a request or a change: the page is done
	ViewportWide  = 1280             // pixels
	ViewportHigh  = 800              // pixels
	MaxAnswerBody = 5 << 20          // bytes of a resource that a crawler should fetch
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
