package crawler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/simhash"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Limit is a maximum number. The zero Limit stands for the default of its field.
type Limit = politeness.Limit

// Defaults of Config, and special values for its fields, whose value 0 stands for the default.
const (
	Unlimited = politeness.Unlimited // no limit
	Zero      = politeness.Zero      // a limit of 0
	SeedsOnly = Zero                 // Limits.Depth: follow no link
	NoDelay   = politeness.NoDelay   // no pause
	Forever   = politeness.Forever   // a maximum duration that is never reached
	NoFactor  = politeness.NoFactor  // Politeness.DelayFactor: response times lengthen no pause

	DefaultAgent       = "amble/" + Version
	DefaultConcurrency = 64
	DefaultMaxDepth    = 5
	DefaultMaxPages    = 1000
	DefaultRetries     = 2
	DefaultMaxURL      = 2083
	DefaultMaxLinks    = 10000
	DefaultRedirects   = 10
	DefaultSitemaps    = 500
	DefaultMaxQueries  = 1000
	DefaultMaxPerDir   = 50_000
	DefaultMaxSessions = 2
	DefaultMaxSoft     = 50
	DefaultMaxInFlight = 32 << 20

	// RetriesPerHost and RetriesInAll limit the retries of a host and of a crawl. Every ten pages fetched, of the host or of the
	// crawl, permit one more. So a small site gets all of its retries, and a broken site or network does not triple the requests.
	RetriesPerHost = 50
	RetriesInAll   = 500

	// Version is the version of amble, as sent in the default User-Agent.
	Version = "0.3.0"
	// StoredReport is the key of the counts that a durable Frontier stores for the owner "". [ParseStored] reads them.
	StoredReport = keyTally

	defaultResources      = 20 // for each page that the crawl may fetch
	defaultRobots         = 20 // for each page of a host that the crawl may fetch
	defaultCommitInterval = 50 * time.Millisecond
)

// Config describes a crawl. The zero value of every field, and of every group of fields, stands for its default, which the comments state
// ("0: 5"), followed by the special values that are also permitted. Only Contact must be set, unless every seed is on loopback.
type Config struct {
	// Agent is NAME/VERSION or NAME. It is sent in the User-Agent header. NAME selects the groups of robots.txt. "":
	// "amble/VERSION".
	Agent string
	// Contact is an http(s) URL or mail address at which site owners reach a person. Placeholders are rejected.
	Contact string
	// Promises is an http(s) URL in the User-Agent header next to Contact: a page on which site owners read what the crawler
	// promises, such as politeness.PromisesPage. "": none.
	Promises string

	// Seeds are crawled in addition to the seeds passed to Run, Pages and Collect. If a URL is in both, the entry of this list
	// applies.
	Seeds []Request
	// Since makes requests conditional for URLs that an earlier crawl knows, and queues the URLs in scope that its method All lists.
	// See NotModified. nil: no such crawl.
	Since History

	Limits     Limits      // limits of the crawl, its hosts and its pages
	Scope      ScopeConfig // which URLs belong to the crawl
	Follow     Follow      // which links are followed in addition to those from HTML pages to other pages
	Retries    Retries     // further attempts at a URL
	Traps      Traps       // how many variants of one page are queued
	Duplicates Duplicates  // pages with the same content
	Commits    Commits     // how a crawl with a durable Frontier makes visits durable

	// Hosts are settings of hosts, domains or ranges of addresses. Only the first entry that matches a host applies to it.
	// [Report].Unmet lists the entries that matched no host.
	Hosts []HostSettings

	// Canonical decides which spellings of a URL count as one page. Requests always use the spelling that was found. A Frontier set here
	// must use the same profile.
	Canonical weburl.Profile
	// Concurrency is the total number of requests in flight. 0: 64.
	Concurrency int
	// Politeness is the gate's policy. Its Identity and Contactless are set from Agent, Contact, Promises
	// and the seeds; setting them here is an error.
	Politeness politeness.Config
	// RevisitedDirectives reads META robots as the 1996 workshop defined it: see robots.WithDialect and
	// robots.PageDirectives.
	RevisitedDirectives bool
	// Fetch configures the fetcher. The seeds' hosts are added to its AllowHosts. Unless Pin is set, the first look-up of their
	// names applies to all Runs of the Crawler and, with a durable Frontier, to all processes of the crawl. Fetch is not used when
	// Fetcher is set.
	Fetch fetcher.Config
	// Login is called at the beginning of each Run, before any page is requested, unless nothing is left to request. It can submit
	// the form of a site that gave the operator an account ([fetcher.Client.Login]), and request a page before that. The client is
	// that of the crawl: its requests have Permits, obey robots.txt, are paced, recorded in the ledger and counted, and the cookies
	// that they receive are sent with the pages. Its error ends the Run. It needs Fetch.Cookies, unless Fetcher is set. nil:
	// nothing is called.
	Login func(ctx context.Context, c *fetcher.Client) error
	// LoggedOut reports whether a response is for visitors who have not logged in, such as a redirect to the form ([Visit].Location),
	// because the session has ended. Login is then called again, and the page is requested again, with a new Permit. One login serves all
	// pages with such responses since the last login. If the response is still one for such visitors after MaxLogins further requests for
	// the page, or MaxLogins logins, the page is [Failed] with [ReasonLoggedOut]. LoggedOut is called concurrently, before the Handler,
	// with the response in Visit.Page; a panic fails the visit. If Login returns an error, the crawl ends, and the page stays queued.
	// nil: sessions are not checked.
	LoggedOut func(v *Visit) bool
	// MaxLogins limits how often Login is called again in a Run, for each account, and how often a page is requested again. 0: 3;
	// Zero.
	MaxLogins Limit
	// Accounts are further logins, each for a part of the crawl's URLs and with its own cookies, for which Fetch.Cookies is not needed.
	// All other URLs, and every robots.txt, are requested with the cookies of Fetch. All accounts share the gate's clocks: two accounts
	// at a host do not make the crawl faster there. A URL has one account: to see a page with two, run two crawls, which take turns
	// ([Config.Sharing]). Excludes Fetcher.
	Accounts []Account
	// KeepBodies reads bodies completely even if their type is not parsed, for example because a Handler or an archive needs them.
	KeepBodies bool

	// Extract controls what is read of HTML pages in addition to the links that a browser offers: forms, attributes with data, the
	// content of noscript. Its MaxLinks, Resources and XML must not be set: Limits.LinksPerPage, Follow.Resources and each page's
	// type decide. It is not used with an Extractor, and setting both is an error.
	Extract extract.Options

	// Sample draws pages at random from the sitemaps of the seeds' sites. No other pages are requested. The zero Sample draws none,
	// and the crawl follows links.
	Sample Sample
	// Order is the order in which the URLs of a host are requested. An order by hash excludes Priorities, Priority and priorities
	// of Seeds. "": OrderFound.
	Order Order
	// Priorities are rules for the priorities of links, seeds and entries of sitemaps; the first that matches a URL decides.
	// Priority is for links that no rule matches.
	Priorities []PriorityRule
	// Priority returns the priority of a link that is about to be queued. It is also called for links to known URLs: a URL that is
	// still queued is raised if a page found later gives it a higher priority. It is not called for links that are rejected.
	// Visit.Priority is the priority of the page. It is called concurrently, before the Handler can change the Visit. A panic fails
	// the visit. nil: every link has priority 0.
	Priority func(v *Visit, l *Link) int8
	// Score returns the score of a link that is about to be queued. Among the URLs of one priority the one with the highest score comes
	// first, then the one found first. Any number is allowed; about five digits count, and NaN is 0, like the score of seeds. It is
	// called when Priority would be; set only one of them. Visit.Score is the score of the page. With Score, the next URL of a host is
	// chosen only once the links of the last page are durable. Order must not be by hash.
	Score func(v *Visit, l *Link) float64
	// BestFirst chooses, among the hosts that may be requested now, the host whose first URL has the highest priority and score, not the
	// host that has waited longest. The other hosts wait, perhaps for ever. With a limit of Pages, the crawl also waits for a host that
	// has a better URL but is pausing or responding, for at most a minute. No request is made earlier because of BestFirst. A Frontier
	// that the program sets needs its own BestFirst (frontier.MemoryConfig, disk.Config).
	BestFirst bool

	// Render decides which pages are rendered: their scripts run before their links are read. The zero Policy renders none.
	Render render.Policy
	// Renderer runs the rounds of rendering, such as a chromium.Renderer. The crawl does not close it. It must be set if Render
	// selects pages.
	Renderer Renderer
	// RenderDir is a directory for the responses that rendered pages load, in a crawl whose Frontier is durable: a process that
	// resumes the crawl does not request them again, and continues with the pages that waited to be rendered. It is created if it
	// is missing, and is only for this crawl. "": the responses are kept in memory, and are requested again.
	RenderDir string
	// RenderStore holds the responses that rendered pages load, for several crawls of this process: a response that may serve other
	// pages is requested by only one of them. The crawl then does not use RenderDir, and does not close the Store: see
	// render.OpenShared. A resumed crawl requests the pages again that were waiting to be rendered. nil: the crawl makes a Store for
	// itself.
	RenderStore *render.Store

	Handler  Handler           // nil: visits go only to the sinks
	Sinks    []sink.Sink       // written in order; the crawl does not close them
	Frontier frontier.Frontier // nil: a new frontier.Memory for each Run; the crawl does not close one that is set
	Fetcher  Fetcher           // nil: a fetcher.Fetcher made from Fetch
	// AroundFetch returns a Fetcher that wraps the crawl's Fetcher, to which Fetch still applies: for a cache, for a log, to change
	// responses. It is called once for each Run, and its result gets every request of the crawl. nil: nothing wraps it.
	AroundFetch func(Fetcher) Fetcher
	Extractor   Extractor      // nil: links from HTML by package extract, with Extract
	Documents   DocumentReader // must be set if Follow.Documents is; it gets pages before the Extractor
	// AroundExtract returns an Extractor that wraps the crawl's Extractor, to which Extract, Follow, Documents and Extractor still
	// apply: to read further types ([ExtractType]), to add links or to remove some. It is called once for each Run, and its result
	// reads every page of any type: bodies of all types are received. nil: nothing wraps it.
	AroundExtract func(Extractor) Extractor
	Trace         *Trace

	// KeepRobots is called with every response to a robots.txt request, to keep the body as evidence, before any page is requested
	// under its rules. If it returns an error, the crawl ends. It is called by several goroutines at once, with responses of
	// different origins. nil: none is kept.
	KeepRobots func(p *fetcher.Page) error
	// AtCommit is called before every commit of a crawl with a durable Frontier, when the sinks are durable; no further record is
	// written to them until the commit is made. The values that it returns are stored in the same step, by name
	// (frontier.Durable.Value returns them); names that begin with "crawler/" or "render/" are reserved. If it returns an error,
	// the crawl ends without the commit. nil: no values are added.
	AtCommit func() (map[string][]byte, error)
}

// Limits limits a crawl, its hosts and its pages.
type Limits struct {
	Depth        Limit // maximum number of links from a seed to a page. 0: 5; Unlimited; SeedsOnly
	Pages        Limit // pages and sitemaps fetched; never exceeded. 0: 1,000; Unlimited
	PagesPerHost Limit // pages and sitemaps fetched per host. 0: Unlimited
	// PagesOfHost returns the page limit for one host (weburl.URL.Host), or 0 for PagesPerHost. An entry of Config.Hosts with Pages
	// takes precedence. It is called concurrently, for each page, and must always return the same limit for a host.
	PagesOfHost func(host string) Limit
	// Sitemaps limits the sitemaps fetched per host, which PagesPerHost and Pages count, too. Sitemaps beyond it are [Deferred],
	// with [ReasonSitemapBudget]. One robots.txt or index adds at most twice as many to the queue. 0: 500; Unlimited.
	Sitemaps Limit
	// Resources limits the requests for resources of rendered pages, of all pages together; requests in flight when it is reached are
	// completed. Pages are then rendered with the responses so far. 0: 20 for each of Pages; Unlimited.
	Resources Limit
	// Robots limits the requests for robots.txt that links, redirects, sitemaps and resources cause; requests for seeds do not count,
	// and requests in flight when it is reached are completed. URLs that need another request are [Deferred], with [ReasonRobotsBudget].
	// With PagesPerHost, the URLs of one host may cause at most 20 for each of its pages. 0: 20 for each of Pages; Unlimited.
	Robots Limit
	Bytes  Limit         // body bytes received; requests in flight when it is reached are completed. 0: Unlimited
	Time   time.Duration // time from the start of the crawl to the last claim of a URL. 0: Forever
	// Errors is the number of Failed visits at which the crawl ends, including those failed by errors and panics of the Handler. 0:
	// Unlimited.
	Errors       Limit
	URLLength    int // maximum bytes of a queued URL. 0: 2,083; at most weburl.MaxLen
	LinksPerPage int // links read from one page. 0: 10,000
	Redirects    int // redirects in one chain. 0: 10
	// InFlight limits the memory, in bytes, for pages that are being received or read, beyond the first 64 KiB of each; further
	// pages wait. One page may exceed it, so that a page of any permitted size can be received. It does not apply if Fetcher is
	// set. 0: 32 MiB.
	InFlight int64
}

// ScopeConfig decides which URLs belong to a crawl.
type ScopeConfig struct {
	Kind  ScopeKind   // "": ScopeHost
	Rules []ScopeRule // ordered, the last match wins; see SeedScope
	// Custom replaces the Scope that is made from Kind, Rules and the seeds.
	Custom Scope

	// Beyond is the number of consecutive links that are followed out of the scope. With 1, pages outside that pages inside link to
	// are fetched; with 2, pages to which these pages link are fetched, too; and so on up to frontier.MaxBeyond. A link back into the
	// scope starts the count again; links of the last page outside are not followed. URLs that an exclude rule matches are never
	// fetched. The links are counted on the path on which a page is found first. 0: none.
	Beyond int
	// BeyondKinds are the kinds of links that may lead out of the scope: for example "image" and "style", together with
	// Follow.Resources, for the resources that a browser needs to display a page. For the kind "link" these are only style sheets,
	// icons, preloads and manifests: other link elements name pages. Empty: all.
	BeyondKinds []frontier.Kind
}

// Follow chooses the links that are followed in addition to those from HTML pages to other pages.
type Follow struct {
	Sitemaps  bool // entries of the sitemaps named in robots.txt: see SeedScope
	Feeds     bool // entries of feeds: RSS, Atom, JSON Feed
	Resources bool // images, style sheets, scripts and the like
	NoFollow  bool // links marked rel=nofollow; the nofollow of a page is always obeyed
	// Documents follows the links in documents that are not web pages, such as PDF files. Config.Documents reads them.
	Documents bool
}

// Retries limits the further attempts at a URL: after responses and failures that may be temporary, and for pages whose body is
// incomplete. The longest part of such a page is kept in memory until its last attempt, up to 64 MiB for all pages together; a page
// beyond that is final as it is. There is a budget for all hosts together: see [RetriesPerHost].
type Retries struct {
	Max   Limit         // attempts after the first. 0: 2; Zero
	Pause time.Duration // pause before the first retry; it doubles with each retry. 0: 1 s
}

// Commits controls how a crawl with a durable Frontier makes its visits durable.
type Commits struct {
	// Interval is the time between two commits; a commit is made earlier if much has accumulated or the crawl waits for it. URLs whose
	// visits were not committed when the process died are requested again. 0: 50 ms.
	Interval time.Duration
	// Gate stores the gate's state with every commit, and not only every ten seconds or 10,000 requests: for a frontier from which
	// another machine may continue at any time, without the ledger (politeness.Gate.TakeOver).
	Gate bool
	// Bytes is the number of bytes of fetched pages after which a commit is due earlier. If the same amount arrives during the commit,
	// further pages wait. 0: no limit.
	Bytes int64
}

// Traps limits the number of queued variants of one page. Further URLs are [Trapped] or, if they are links, [FateTrap].
type Traps struct {
	// Queries limits the queued query variants of one path, and PerDir the URLs in one directory. Neither applies to hosts in
	// Politeness.OwnHosts. 0: 1,000 and 50,000; Unlimited.
	Queries Limit
	PerDir  Limit
	// Sessions limits the queued variants of one URL that differ only in a session identifier (PHPSESSID, jsessionid and similar
	// ones; see weburl.URL.Sessionless). 0: 2; Unlimited.
	Sessions Limit
}

// Duplicates controls how pages with the same content as others are handled.
type Duplicates struct {
	// Same is the number of URLs that may have the same body. Further URLs are [Duplicate] and their links are not followed, so that
	// error pages with status 200 and mirrored parts of sites do not lead further. 0: Unlimited.
	Same Limit
	// Soft is the number of URLs of one host that may respond with status 200 and the same HTML page. Further URLs are [Duplicate],
	// with [reasonSoft404], and their links are not followed. Such pages are nearly always error pages. 0: 50; Unlimited.
	Soft Limit
	// NearBits enables the search for pages that are nearly the same: if the 64-bit similarity hashes of two pages differ in at
	// most this many bits (1 to 3), Visit.NearOf of the later page names the earlier page. NearBits changes no outcome. 0: off.
	NearBits int
}

func (c Config) withDefaults() Config {
	c.Agent = or(c.Agent, DefaultAgent)
	c.Limits.Depth = or(c.Limits.Depth, DefaultMaxDepth)
	c.Limits.Pages = or(c.Limits.Pages, DefaultMaxPages)
	c.Limits.Sitemaps = or(c.Limits.Sitemaps, DefaultSitemaps)
	c.Limits.Resources = or(c.Limits.Resources, times(defaultResources, c.Limits.Pages))
	c.Limits.Robots = or(c.Limits.Robots, times(defaultRobots, c.Limits.Pages))
	c.Concurrency = or(c.Concurrency, DefaultConcurrency)
	c.Commits.Interval = or(c.Commits.Interval, defaultCommitInterval)
	c.Limits.InFlight = or(c.Limits.InFlight, DefaultMaxInFlight)
	c.Scope.Kind = or(c.Scope.Kind, ScopeHost)
	c.Retries.Max = or(c.Retries.Max, DefaultRetries)
	c.Retries.Pause = or(c.Retries.Pause, time.Second)
	c.Limits.URLLength = or(c.Limits.URLLength, DefaultMaxURL)
	c.Limits.LinksPerPage = or(c.Limits.LinksPerPage, DefaultMaxLinks)
	c.Traps.Queries = or(c.Traps.Queries, DefaultMaxQueries)
	c.Traps.PerDir = or(c.Traps.PerDir, DefaultMaxPerDir)
	c.Traps.Sessions = or(c.Traps.Sessions, DefaultMaxSessions)
	c.Duplicates.Soft = or(c.Duplicates.Soft, DefaultMaxSoft)
	c.Scope.BeyondKinds = slices.Clone(c.Scope.BeyondKinds)
	c.MaxLogins = or(c.MaxLogins, defaultMaxLogins)
	c.Limits.Redirects = or(c.Limits.Redirects, DefaultRedirects)
	return c
}

// bestPatience limits how long the crawl waits for a better URL.
const bestPatience = time.Minute

// Patience returns the time that a Frontier of the crawl should wait for a better URL (frontier.MemoryConfig, disk.Config): 0
// without BestFirst, or without a limit of pages.
func (c *Config) Patience() time.Duration {
	if !c.BestFirst || c.Limits.Pages < 0 {
		return 0
	}
	return bestPatience
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Identity returns Agent, Contact and Promises in the form that the gate expects. Its UserAgent is sent with every request.
func (c *Config) Identity() politeness.Identity {
	name, version, _ := strings.Cut(or(c.Agent, DefaultAgent), "/")
	return politeness.Identity{Product: name, Version: version, Contact: c.Contact, Promises: c.Promises}
}

// Validate reports all errors in c that do not depend on the seeds, joined, each with the field's name: *ConfigErrors, and the
// errors of the Configs inside it. A missing Contact is reported once the seeds are known, a missing Renderer by New.
func (c Config) Validate() error {
	errs := []error{c.Identity().Validate(true), c.Fetch.Validate(), checkSeeds(c.Seeds)}
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, configError(format, args...))
		}
	}
	limit := func(field string, l, special Limit) {
		name := map[Limit]string{Unlimited: "Unlimited", Zero: "Zero"}[special]
		bad(l.Valid(special), "%s is %d: must be 1 or more, or %s", field, l, name)
	}
	p := c.Politeness
	bad(p.Identity == politeness.Identity{} && !p.Contactless, "Politeness.Identity and Contactless are set from Agent, Contact and Promises: leave them empty")
	bad(!p.Offline || c.Fetcher != nil, "Politeness.Offline is for a Fetcher of recorded answers, such as job.Replay makes: set Fetcher")
	p.Identity, p.Contactless = c.Identity(), true
	bad(len(c.Hosts) == 0 || len(p.HostDelays) == 0, "Politeness.HostDelays is set from Hosts: leave it empty")
	p.HostDelays = c.HostDelays()
	errs = append(errs, c.validateHosts())
	if err := p.Validate(); err != nil && c.Identity().Validate(true) == nil {
		errs = append(errs, c.ofHosts(err)...)
	}
	bad(c.Login == nil || c.Fetch.Cookies || c.Fetch.Jar != nil || c.Fetcher != nil, "Login needs Fetch.Cookies: without them, what a site sets is lost")
	bad(c.LoggedOut == nil || c.Login != nil, "LoggedOut needs Login")
	limit("MaxLogins", c.MaxLogins, Zero)
	errs = append(errs, c.validateAccounts())
	bad(c.Limits.Depth.Valid(Unlimited, SeedsOnly), "Limits.Depth is %d: must be 1 or more, Unlimited or SeedsOnly", c.Limits.Depth)
	limit("Limits.Pages", c.Limits.Pages, Unlimited)
	limit("Limits.PagesPerHost", c.Limits.PagesPerHost, Unlimited)
	limit("Limits.Sitemaps", c.Limits.Sitemaps, Unlimited)
	limit("Limits.Robots", c.Limits.Robots, Unlimited)
	limit("Limits.Resources", c.Limits.Resources, Unlimited)
	limit("Limits.Bytes", c.Limits.Bytes, Unlimited)
	bad(c.Limits.Time >= 0, "Limits.Time is %v: must not be negative", c.Limits.Time)
	bad(c.Limits.InFlight >= 0, "Limits.InFlight is %d: must be 1 or more", c.Limits.InFlight)
	bad(c.Commits.Interval >= 0, "Commits.Interval is %v: must not be negative", c.Commits.Interval)
	bad(c.Commits.Bytes >= 0, "Commits.Bytes is %d: must not be negative", c.Commits.Bytes)
	bad(c.Concurrency >= 0, "Concurrency is %d: must be 1 or more", c.Concurrency)
	limit("Retries.Max", c.Retries.Max, Zero)
	bad(c.Retries.Pause >= 0, "Retries.Pause is %v: must not be negative", c.Retries.Pause)
	bad(c.Limits.URLLength >= 0 && c.Limits.URLLength <= weburl.MaxLen, "Limits.URLLength is %d: must be 1 to %d", c.Limits.URLLength, weburl.MaxLen)
	bad(c.Limits.LinksPerPage >= 0, "Limits.LinksPerPage is %d: must not be negative", c.Limits.LinksPerPage)
	limit("Traps.Queries", c.Traps.Queries, Unlimited)
	limit("Traps.PerDir", c.Traps.PerDir, Unlimited)
	limit("Traps.Sessions", c.Traps.Sessions, Unlimited)
	limit("Duplicates.Soft", c.Duplicates.Soft, Unlimited)
	bad(c.Scope.Beyond >= 0 && c.Scope.Beyond <= frontier.MaxBeyond, "Scope.Beyond is %d: must be 0 to %d", c.Scope.Beyond, frontier.MaxBeyond)
	for _, k := range c.Scope.BeyondKinds {
		errs = append(errs, checkKind(k))
	}
	limit("Duplicates.Same", c.Duplicates.Same, Unlimited)
	bad(c.Duplicates.NearBits >= 0 && c.Duplicates.NearBits <= simhash.MaxDistance, "Duplicates.NearBits is %d: must be 0 to %d", c.Duplicates.NearBits, simhash.MaxDistance)
	limit("Limits.Errors", c.Limits.Errors, Unlimited)
	bad(c.Limits.Redirects >= 0, "Limits.Redirects is %d: must not be negative", c.Limits.Redirects)
	errs = append(errs, c.validateOrder(), c.validateSample())
	for i, r := range c.Priorities {
		err := r.Validate()
		bad(err == nil, "Priorities[%d] is wrong: %v", i, err)
	}
	errs = append(errs, c.Render.Validate())
	x := c.Extract
	bad(x.MaxLinks == 0 && !x.Resources && !x.XML, "Extract has MaxLinks, Resources or XML: leave them out, Limits.LinksPerPage, Follow.Resources and the type of each page decide")
	bad(x.MaxAttr >= 0 && x.MaxTitle >= 0, "Extract has a negative MaxAttr or MaxTitle: must be 1 or more, or 0 for the default")
	bad(c.Extractor == nil || reflect.ValueOf(x).IsZero(), "Extract and Extractor are both set: an Extractor reads pages itself, so set its options there")
	for i, s := range c.Sinks {
		bad(s != nil, "Sinks[%d] is nil", i)
	}
	if c.Scope.Custom == nil {
		_, err := c.seedScope(nil)
		errs = append(errs, err)
		bad(c.Scope.Kind != ScopeAny || c.bounded(), "Scope any needs an explicit limit: set Limits.Pages, Limits.Bytes or Limits.Time")
	}
	return errors.Join(errs...)
}

// bounded reports whether the operator set a limit that ends the crawl.
func (c Config) bounded() bool {
	return c.Limits.Pages > 0 || c.Limits.Bytes > 0 || c.Limits.Time > 0 && c.Limits.Time < Forever
}

// ConfigError reports a field of a Config with an invalid value. [Config.Validate] joins one for each such field with the errors of
// the Configs inside it: errors.As finds the first of them, and Unwrap() []error of the joined error returns all.
type ConfigError struct {
	Field   string // "Limits.Depth", "Seeds[3].URL"
	Problem string // what is wrong with the field: "is -7: must be 1 or more"
	Err     error  // the cause; may be nil
}

func (e *ConfigError) Error() string { return "crawler: " + e.Field + " " + e.Problem }

// Unwrap returns the cause, or nil.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError makes a ConfigError from a sentence that begins with the field's name.
func configError(format string, args ...any) *ConfigError {
	field, problem, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	return &ConfigError{Field: field, Problem: problem}
}
