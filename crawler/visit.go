package crawler

import (
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Outcome is the final outcome of a URL.
type Outcome string

// The outcomes of URLs, stable across versions.
const (
	Fetched    Outcome = "fetched"      // a response of any status that is not a redirect
	Redirected Outcome = "redirected"   // a redirect; its target is a separate URL
	Refused    Outcome = "refused"      // a rule forbids it, or the response is a challenge of a bot wall (politeness.ReasonChallenge)
	OutOfScope Outcome = "out_of_scope" // a seed or redirect target outside the scope
	Deferred   Outcome = "deferred"     // not forbidden, but not available in this crawl
	Failed     Outcome = "failed"       // no usable response, after all attempts
	Trapped    Outcome = "trapped"      // looks like an endless space of URLs
	Duplicate  Outcome = "duplicate"    // the same body as too many earlier URLs
	// NotModified is the outcome of a page that has not changed since an earlier crawl: see History.
	NotModified Outcome = "not_modified"
)

// Values of Visit.Reason on which callers may base decisions, and one of Rendered.Cut, stable across versions. The crawler's other
// reasons are
//
//	scope            a scope rule
//	type             a scope rule for media types
//	redirect_limit   a chain longer than Config.Limits.Redirects
//	redirect_bad     a redirect without a usable Location
//	retry_budget     the URL failed, and its host or the crawl has used up its retries: see RetriesPerHost
//	trap_path        path segments repeat, or are too many
//	trap_calendar    a generated calendar, years ahead
//	trap_query       too many query variants of one path
//	trap_directory   too many URLs in one directory
//	trap_session     variants of one URL that differ in a session identifier
//	same_body        Config.Duplicates.Same reached
//	soft_404         Config.Duplicates.Soft reached: one page under many URLs of a host
//
// Further reasons come from weburl (url_…), politeness (robots_disallow, …) and fetcher (dns_…, connect_…, …).
const (
	ReasonRedirectLoop  = "redirect_loop"   // a redirect to the URL itself or to one that led to it
	ReasonHostBudget    = "host_budget"     // Config.Limits.PagesPerHost reached
	ReasonSitemapBudget = "sitemap_budget"  // Config.Limits.Sitemaps reached
	ReasonRobotsBudget  = "robots_budget"   // Config.Limits.Robots reached
	ReasonHandler       = "handler_error"   // the Handler returned an error
	ReasonFetcher       = "fetcher_error"   // an error of a Fetcher that is not a *fetcher.Error
	ReasonExtractor     = "extractor_error" // the Extractor returned an error
	ReasonLoggedOut     = "logged_out"      // Config.LoggedOut still returns true after MaxLogins logins
	ReasonPayment       = "payment"         // the response demands a payment (402) or a licence (401), which a crawl does not provide
	ReasonPanic         = "panic"           // the Handler, the Extractor, Config.Priority or Config.Score panicked
	ReasonSample        = "sample"          // with Config.Sample: the URL is a robots.txt that stands for a seed and names the sitemaps

	CutHost = "render_host" // three consecutive renderings of the page's host were stuck (render.CutStuck): no DOM

	reasonScope         = "scope"
	reasonType          = "type"
	reasonRedirectLimit = "redirect_limit"
	reasonRedirectBad   = "redirect_bad"
	reasonRetryBudget   = "retry_budget"
	reasonTrapPath      = "trap_path"
	reasonTrapCalendar  = "trap_calendar"
	reasonTrapQuery     = "trap_query"
	reasonTrapDirectory = "trap_directory"
	reasonTrapSession   = "trap_session"
	reasonSame          = "same_body"
	reasonSoft404       = "soft_404"
	reasonResources     = "render_resources" // for a resource: Config.Limits.Resources reached

	cutRenderer = "render_failed"
	cutStore    = "render_no_room"
	cutGain     = "render_no_gain"
)

// Visit is the outcome of one URL: fetched, redirected, refused, out of scope, deferred or failed, with a stable reason code and the rule
// that decided. A Handler, the sinks and [Crawler.Pages] all see the same visits. Links that the scope rejects never enter the crawl and
// get no Visit: [Visit.Links] of their page lists them, with the rule.
//
// A Handler must not keep a Visit after it returns unless it copies the data that it needs: Page.Body is reused.
type Visit struct {
	URL      weburl.URL
	Via      weburl.URL // the page or redirect that led to the URL; zero for a seed
	Depth    int        // number of links from a seed to the URL
	Hops     []string   // the redirects that led to the URL, oldest first
	Kind     frontier.Kind
	Priority int8    // priority in the queue: from Config.Priority, a seed or Enqueue
	Score    float64 // score in the queue: from Config.Score, a seed or Enqueue; rounded to about five digits
	Attempt  int     // 0 if the first attempt was final
	Beyond   int     // links followed since the last page in scope, with Config.Scope.Beyond
	Meta     []byte  // metadata of the URL's Request

	Outcome Outcome
	Reason  string // stable code; "" for an ordinary Fetched
	Rule    string // the deciding rule of scope or robots.txt, as written
	Detail  string // further information, one sentence, or ""
	Err     error  // the cause, with Failed

	Page       *fetcher.Page      // nil without a response
	Doc        *extract.Document  // the parsed page, rendered if it was; nil if the page was not parsed
	Rendered   *Rendered          // nil if the page was not to be rendered: see Config.Render
	Directives robots.Directives  // directives in META elements and header fields
	Usage      robots.Usage       // the site's preferences about uses of the page; neither a permission nor a refusal
	Terms      *Usage             // the site's statements, with the verdict for the purposes of the crawl; nil if there are none
	SHA256     [32]byte           // hash of the decoded body; zero if there is none
	Validators fetcher.Validators // validators for a later conditional request; see Config.Since
	NearOf     string             // with Config.Duplicates.NearBits: an earlier page that is nearly the same
	SameAs     string             // the first URL that had the same body; "" if this is the first
	Location   weburl.URL         // target of a redirect; zero if it is not a redirect or its target is invalid

	Queued  time.Time
	Started time.Time // start of the request of the last attempt; zero if none was made
	Ended   time.Time

	linker *linker      // the linker that read Doc; valid as long as the Visit is
	counts map[Fate]int // number of links by fate

	shown   *fetcher.Page     // copy of Page with the rendered body; nil if the page was not rendered
	address weburl.URL        // the address that scripts gave the document; set with shown
	work    *work             // additions of the Handler; nil without a Handler
	data    []json.RawMessage // results that were emitted, set when they are final
	results any               // result of Collect's function
	path    []pathValue       // values of the placeholders in the Mux's pattern
	broken  error             // set if Config.Priority or Config.Score panicked
	tree    *tree             // nil before the first call of Tree
	listed  listed            // URLs that a sitemap lists, with Config.Sample
}

// ofSeed reports whether the visit is that of a seed or of a seed's redirect target.
func (v *Visit) ofSeed() bool {
	return v.Kind == frontier.KindSeed || v.Kind == frontier.KindRedirect && v.Depth == 0
}

// wall reports whether a bot wall kept the URL from being fetched. name is the wall's name, or "" if it is unknown.
func (v *Visit) wall() (name string, is bool) {
	var cause *wallError
	switch {
	case errors.As(v.Err, &cause):
		return cause.wall, true
	case v.Reason != politeness.ReasonChallenge:
		return "", false
	case v.Page != nil:
		return v.Page.Wall, true
	}
	return "", true
}

// Fate is the decision about a link.
type Fate string

// The fates of links, stable across versions.
const (
	FateFollow   Fate = "follow"       // in scope: queued, unless the URL is known
	FateScope    Fate = "out_of_scope" // a scope rule rejected the URL
	FateDepth    Fate = "too_deep"
	FateNoFollow Fate = "nofollow" // the page or the link has nofollow
	FateResource Fate = "resource" // an image, style sheet or other part of the page
	FateInvalid  Fate = "invalid"  // not a URL that can be requested
	FateTrap     Fate = "trap"
	FateLimit    Fate = "link_limit" // beyond Config.Limits.LinksPerPage
	FateFull     Fate = "queue_full" // in scope, but the queue is full: see frontier.Frontier
)

// Link is a link of a page with its fate.
type Link struct {
	extract.Link
	URL  weburl.URL // zero with FateInvalid
	Fate Fate
	Rule string // the rule that decided
}

// Canonical returns the resolved address that the page declares as its own (link rel=canonical, or META URL), or the zero URL if it
// declares none.
func (v *Visit) Canonical() weburl.URL {
	ref := v.Directives.URL
	if v.Doc != nil && v.Doc.Canonical != "" {
		ref = v.Doc.Canonical
	}
	if ref == "" || v.Doc == nil {
		return weburl.URL{}
	}
	u, err := v.target(ref)
	if err != nil {
		return weburl.URL{}
	}
	return u
}

// Status returns the HTTP status of the response, or 0 without one.
func (v *Visit) Status() int {
	if v.Page == nil {
		return 0
	}
	return v.Page.Status
}

// Tree returns the elements of an HTML or XHTML page, for package extract/css and every other library that works on trees of
// golang.org/x/net/html. It returns nil without an error if the visit has no page or a page of another type, so that a Handler need not
// check the type: searches in a nil tree find nothing.
//
// The page is decoded to UTF-8 and parsed at the first call, as by extract.Tree; later calls return the same tree. Errors are those of
// fetcher.Page.Text and of extract.Tree, which limits the tree, and [ErrOver]. Pages wait while trees take more memory than
// Config.Limits.InFlight. The tree shares no memory with the page, so it may be kept.
//
// Tree must not be called concurrently for the same visit.
func (v *Visit) Tree() (*html.Node, error) {
	switch {
	case v.work != nil && v.work.isOver():
		return nil, ErrOver
	case v.Page == nil || !v.Page.IsHTML():
		return nil, nil //nolint:nilnil // there is nothing to select, which is not an error
	case v.tree == nil:
		v.tree = v.parse()
	}
	return v.tree.root, v.tree.err
}

// tree is the result of parsing a page.
type tree struct {
	root *html.Node
	err  error
}

// treeSize estimates the memory of a tree as a multiple of its page's size.
const treeSize = 8

func (v *Visit) parse() *tree {
	text, err := v.content().Text()
	if err != nil {
		return &tree{err: err}
	}
	if v.work != nil && len(text) > largePage {
		v.work.share.charge(treeSize * len(text))
	}
	root, err := extract.Tree(text)
	return &tree{root, err}
}
