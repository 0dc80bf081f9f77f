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

// Defaults of Config, and values of its fields that no number expresses, because 0 is the default.
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

	// RetriesPerHost and RetriesInAll limit the retries of a host and of a crawl. Every ten pages fetched, of the host or in all,
	// permit one more. So a small site gets all of its retries, and a broken site, or a broken network, does not triple the requests.
	RetriesPerHost = 50
	RetriesInAll   = 500

	// Version is the version of amble, as sent in the default User-Agent.
	Version = "0.3.0"
	// StoredReport is the key of the counts that a durable Frontier keeps for the owner "". [ParseStored] reads them.
	StoredReport = keyTally

	defaultResources      = 20 // for each page that may be fetched
	defaultRobots         = 20 // also for each page of a host
	defaultCommitInterval = 50 * time.Millisecond
)

// Config describes a crawl. The zero value of every field, and of every group of fields, is its default; only
// Contact must be set, and not even that when every seed is on loopback.
type Config struct {
	// Agent is NAME/VERSION or NAME. It is sent in the User-Agent header, and NAME is the token that is
	// matched against the groups of robots.txt. "": "amble/VERSION".
	Agent string
	// Contact is an http(s) URL or mail address at which site owners reach a person. Placeholders are
	// refused.
	Contact string
	// Promises is an http(s) URL that the User-Agent header names next to Contact, where site owners read what the
	// crawler promises them, such as politeness.PromisesPage. "": none.
	Promises string

	// Seeds are crawled in addition to those that Run, Pages and Collect are given. If a URL is in both,
	// the entry of this list applies.
	Seeds []Request
	// Since makes requests conditional for URLs that an earlier crawl knows, and queues those in scope that its
	// All lists. See NotModified. nil: none.
	Since History

	Limits     Limits      // how far the crawl goes and how much it takes
	Scope      ScopeConfig // which URLs belong to it
	Follow     Follow      // which links are followed beyond those of HTML pages to other pages
	Retries    Retries     // further attempts at a URL
	Traps      Traps       // how many variants of one page are queued
	Duplicates Duplicates  // pages with the same content
	Commits    Commits     // how a crawl with a durable Frontier makes visits durable

	// Hosts are settings of single hosts, domains or ranges of addresses. The first entry that matches a host
	// holds for it, and no other. [Report].Unmet names those that matched none.
	Hosts []HostSettings

	// Canonical decides which spellings of a URL count as one page. The URL that is sent is always the one
	// found. A Frontier set here must use the same profile.
	Canonical weburl.Profile
	// Concurrency is the total number of requests in flight. 0: 64.
	Concurrency int
	// Politeness is the gate's policy. Its Identity and Contactless are set from Agent, Contact, Promises
	// and the seeds; setting them here is an error.
	Politeness politeness.Config
	// RevisitedDirectives reads META robots as the 1996 workshop defined it: see robots.WithDialect and
	// robots.PageDirectives.
	RevisitedDirectives bool
	// Fetch holds the limits of the fetcher. The seeds' hosts are added to its AllowHosts. Unless Pin is
	// set, the first look-up of their names applies to all Runs of the Crawler and, with a durable
	// Frontier, to all processes of the crawl. Fetch is not used when Fetcher is set.
	Fetch fetcher.Config
	// Login is called at the beginning of each Run, before any page is requested, unless nothing is left to
	// request: the place to submit the form of a site that gave the operator an account ([fetcher.Client.Login]), or
	// to request a page of it first. The client is that of the crawl: its requests have Permits, follow robots.txt,
	// are paced, recorded in the ledger and counted, and the cookies that they get are sent with the pages. Its error
	// ends the Run. It needs Fetch.Cookies, unless Fetcher is set. nil: nothing is called.
	Login func(ctx context.Context, c *fetcher.Client) error
	// LoggedOut reports that an answer is one for visitors who have not logged in, such as a redirect to the form ([Visit].Location):
	// the session has ended. Login is then called again, and the page is requested again, with a new Permit. One login serves
	// all pages that were answered in this way since the one before it. A page that is still so after MaxLogins further requests,
	// or logins of all pages, is [Failed] with [ReasonLoggedOut]. LoggedOut is called concurrently, before the Handler, with the answer
	// in Visit.Page; a panic fails the visit. An error of Login ends the crawl then, and the page stays queued. nil: nothing is asked.
	LoggedOut func(v *Visit) bool
	// MaxLogins is how often in a Run Login is called again, for each account, and how often a page is requested again. 0: 3; Zero.
	MaxLogins Limit
	// Accounts are further logins, each for a part of the crawl's URLs and with its own cookies, for which Fetch.Cookies is not needed.
	// What none takes is requested with those of Fetch; a robots.txt is always. All have the clocks of the one gate: two accounts of
	// a host make the crawl no faster there. A URL has one account: to see one page with two, run two crawls, which
	// take turns ([Config.Sharing]). Excludes Fetcher.
	Accounts []Account
	// KeepBodies reads bodies to their end even if their type is not parsed, as is always done for a
	// Handler or an archive.
	KeepBodies bool

	// Extract says what is read of HTML pages beyond the links that a browser offers: forms, attributes with
	// data, the content of noscript. Its MaxLinks, Resources and XML must not be set: Limits.LinksPerPage,
	// Follow.Resources and each page's type decide. It is not used with an Extractor, and setting both is an
	// error.
	Extract extract.Options

	// Sample draws pages at random from the sitemaps of the seeds' sites, and no others are requested. The zero Sample draws none.
	Sample Sample
	// Order is the order in which the URLs of a host are requested. One by hash excludes Priorities, Priority and priorities
	// of Seeds. "": OrderFound.
	Order Order
	// Priorities are rules for the priorities of links, seeds and what sitemaps list; the first that matches a
	// URL decides. Priority is for links that none matches.
	Priorities []PriorityRule
	// Priority returns the priority of a link that is about to be queued. It is also called for links to known
	// URLs: one that is still queued is raised if a page found later gives it a higher priority. It is not
	// called for links that are rejected. Visit.Priority is the page's own. It is called concurrently, before
	// the Handler, with the Visit as the page made it. A panic fails the visit. nil: every link has priority 0.
	Priority func(v *Visit, l *Link) int8
	// Score returns the score of a link that is about to be queued: of the URLs of one priority the one with the highest score comes
	// first, then the one found first. Any number will do; some five digits count, and NaN is 0, like the score of seeds. It is called
	// like Priority, which it excludes, with Visit.Score as the page's own. With it, the next URL of a host is chosen when the links of
	// the last page are durable. Order must not be by hash.
	Score func(v *Visit, l *Link) float64
	// BestFirst serves, of the hosts that may be requested, the one whose first URL has the highest priority and score, and not the one
	// that has waited longest: hosts with nothing better are left for later, perhaps for ever. With a limit of Pages, a host with a
	// better URL is waited for while it pauses or answers, for a minute at most. No request is made earlier than without. A Frontier of
	// the program needs its own BestFirst (frontier.MemoryConfig, disk.Config).
	BestFirst bool

	// Render says which pages are rendered: their scripts run before their links are read. The zero Policy renders none.
	Render render.Policy
	// Renderer runs the rounds of rendering, such as a chromium.Renderer. It is not closed by the crawler. It must be set
	// if Render says that pages are rendered.
	Renderer Renderer
	// RenderDir is a directory for what rendered pages load, in a crawl whose Frontier is durable: a process that resumes it
	// requests none of that again, and continues with the pages that waited to be rendered. It is made if it is missing, and
	// is for this crawl alone. "": they are kept in memory, and are requested again.
	RenderDir string
	// RenderStore holds what rendered pages load, and is shared by several crawls of this process: none of them requests an answer
	// again that another has requested and that may serve other pages. The crawl does not use RenderDir then, and does not close the
	// Store: see render.OpenShared. A crawl that is resumed requests pages again that were waiting to be rendered. nil: the crawl makes
	// a Store for itself.
	RenderStore *render.Store

	Handler  Handler           // nil: visits go to the sinks alone
	Sinks    []sink.Sink       // appended to in order; not closed by the crawler
	Frontier frontier.Frontier // nil: a new frontier.Memory for each Run; one that is set is not closed
	Fetcher  Fetcher           // nil: a fetcher.Fetcher made from Fetch
	// AroundFetch returns a Fetcher that wraps the crawl's, which keeps everything that Fetch says: for a cache, for a log, to
	// change answers. It is called once for each Run, and its result sees every request of the crawl. nil: nothing wraps it.
	AroundFetch func(Fetcher) Fetcher
	Extractor   Extractor      // nil: links from HTML by package extract, with Extract
	Documents   DocumentReader // must be set if Follow.Documents is; it reads before an Extractor
	// AroundExtract returns an Extractor that wraps the crawl's, which keeps everything that Extract, Follow, Documents and
	// Extractor say: to read further types ([ExtractType]), to add links or to take some away. It is called once for each Run, and
	// its result reads every page, whatever its type: bodies of all types are received. nil: nothing wraps it.
	AroundExtract func(Extractor) Extractor
	Trace         *Trace

	// KeepRobots is called with every answer to a robots.txt request, to keep the body as evidence, before
	// any page is requested under its rules. Its error ends the crawl. It is called by several goroutines at once, with
	// answers of different origins. nil: none is kept.
	KeepRobots func(p *fetcher.Page) error
	// AtCommit is called before every commit of a crawl with a durable Frontier, when the sinks are
	// durable; no further record goes to them until the commit is made. The values that it returns are
	// stored in the same step, by name (frontier.Durable.Value returns them); names that begin with
	// "crawler/" or "render/" are reserved. Its error ends the crawl, with nothing committed. nil: nothing else is
	// stored.
	AtCommit func() (map[string][]byte, error)
}

// Limits bounds a crawl as a whole, its hosts and its pages.
type Limits struct {
	Depth        Limit // links followed from a seed. 0: 5; Unlimited; SeedsOnly
	Pages        Limit // pages and sitemaps fetched, exactly. 0: 1,000; Unlimited
	PagesPerHost Limit // pages and sitemaps fetched per host. 0: Unlimited
	// PagesOfHost returns PagesPerHost for one host (weburl.URL.Host), 0 for the common limit. An entry of Config.Hosts with Pages takes
	// precedence. It is called concurrently, for each page, and must return the same limit each time.
	PagesOfHost func(host string) Limit
	// Sitemaps limits the sitemaps fetched per host, which PagesPerHost and Pages count, too. What exceeds it is [Deferred], with
	// [ReasonSitemapBudget]. One robots.txt or index adds at most twice as many to the queue. 0: 500; Unlimited.
	Sitemaps Limit
	// Resources bounds the requests for what rendered pages load, of all pages together; those in flight when it is reached
	// are completed. Pages are then rendered with what is known. 0: 20 for each of Pages; Unlimited.
	Resources Limit
	// Robots limits the requests for robots.txt to which links, redirects, sitemaps and resources lead; those for seeds do not
	// count, and those in flight when it is reached are completed. What needs another one is [Deferred], with
	// [ReasonRobotsBudget]. With PagesPerHost, 20 for each of a host's pages is the limit of what leads there.
	// 0: 20 for each of Pages; Unlimited.
	Robots Limit
	Bytes  Limit         // body bytes received; requests in flight when it is reached are completed. 0: Unlimited
	Time   time.Duration // from start to the last claim. 0: Forever
	// Errors is the number of Failed visits that ends the crawl, including those failed by errors and panics of
	// the Handler. 0: Unlimited.
	Errors       Limit
	URLLength    int // bytes of a URL that is queued. 0: 2,083; at most weburl.MaxLen
	LinksPerPage int // links read from one page. 0: 10,000
	Redirects    int // redirects in one chain. 0: 10
	// InFlight is the number of bytes of memory for pages that are being received or read, beyond the first
	// 64 KiB of each; pages wait while there is no room. A single page may exceed it, so that no body limit
	// is ever too large for it. It does not apply if Fetcher is set. 0: 32 MiB.
	InFlight int64
}

// ScopeConfig decides which URLs belong to a crawl.
type ScopeConfig struct {
	Kind  ScopeKind   // "": ScopeHost
	Rules []ScopeRule // ordered, the last match wins; see SeedScope
	// Custom replaces the Scope that is made from Kind, Rules and the seeds.
	Custom Scope

	// Beyond is the number of consecutive links that are followed out of the scope: with 1, pages outside
	// that pages inside link to are fetched; with 2, also the pages that those link to; and so on up to
	// frontier.MaxBeyond. A page that leads back into the scope starts the count again; links of the last
	// page outside are not followed, wherever they lead. URLs that an exclude rule matches are never
	// fetched. The links are counted on the path on which a page is found first. 0: none.
	Beyond int
	// BeyondKinds are the kinds of links that may lead out of the scope: for example "image" and "style",
	// together with Follow.Resources, for the resources that a page is displayed with. Of kind "link" those
	// are style sheets, icons, preloads and manifests alone: other link elements name pages. Empty: all.
	BeyondKinds []frontier.Kind
}

// Follow chooses the links that are followed in addition to those from HTML pages to other pages.
type Follow struct {
	Sitemaps  bool // what the sitemaps named in robots.txt list: see SeedScope
	Feeds     bool // what feeds list: RSS, Atom, JSON Feed
	Resources bool // images, style sheets, scripts and the like
	NoFollow  bool // links marked rel=nofollow; a page's own nofollow always holds
	// Documents also follows the links in documents that are no web pages, such as PDF files. Config.Documents reads them.
	Documents bool
}

// Retries bounds the further attempts at a URL: after answers and failures that may be temporary, and for
// pages whose body breaks off. The longest part of such a page is kept in memory until its last attempt, 64
// MiB for all pages together; a page for which there is no room is final as it is. There is a budget for
// all hosts together: see [RetriesPerHost].
type Retries struct {
	Max   Limit         // attempts after the first. 0: 2; Zero
	Pause time.Duration // before the first retry, doubling. 0: 1 s
}

// Commits says how a crawl with a durable Frontier makes its visits durable.
type Commits struct {
	// Interval is the time between two commits; a commit is made earlier when much has accumulated or everything else
	// waits for it. What was not committed when a process dies is requested again. 0: 50 ms.
	Interval time.Duration
	// Gate stores what the gate knows with every commit, and not just every ten seconds or 10,000 requests: for a frontier that
	// another machine may continue from at any time, without the ledger (politeness.Gate.TakeOver).
	Gate bool
	// Bytes is the number of bytes of fetched pages after which a commit is due earlier. Pages wait while one is made and as much has
	// come meanwhile. 0: they do not count.
	Bytes int64
}

// Traps bounds how many variants of one page are queued. Further URLs are [Trapped] or, if they are links,
// [FateTrap].
type Traps struct {
	// Queries is the number of query variants of one path that are queued, and PerDir the number of URLs in
	// one directory. Neither applies to hosts in Politeness.OwnHosts. 0: 1,000 and
	// 50,000; Unlimited.
	Queries Limit
	PerDir  Limit
	// Sessions is the number of queued variants of one URL that differ only in a session identifier (PHPSESSID,
	// jsessionid and the like; see weburl.URL.Sessionless). 0: 2; Unlimited.
	Sessions Limit
}

// Duplicates decides how pages are handled that have the same content as others.
type Duplicates struct {
	// Same is the number of URLs that may have the same body before further ones are [Duplicate] and their
	// links are not followed, which ends soft errors and mirrored parts. 0: Unlimited.
	Same Limit
	// Soft is the number of URLs of one host that may answer with status 200 and the same HTML page before
	// further ones are [Duplicate], with [reasonSoft404], and their links are not followed. Such pages are
	// nearly always error pages. 0: 50; Unlimited.
	Soft Limit
	// NearBits enables the search for pages that are nearly the same: when the 64-bit similarity hashes of
	// two pages differ in at most this many bits (1 to 3), Visit.NearOf of the later one names the earlier.
	// It changes no outcome. 0: off.
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

// bestPatience is the longest time for which a better URL is waited for.
const bestPatience = time.Minute

// Patience returns how long a Frontier of the crawl should wait for a better URL (frontier.MemoryConfig, disk.Config): not at all
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

// Identity returns Agent, Contact and Promises in the form that the gate expects; its UserAgent is that of every request.
func (c *Config) Identity() politeness.Identity {
	name, version, _ := strings.Cut(or(c.Agent, DefaultAgent), "/")
	return politeness.Identity{Product: name, Version: version, Contact: c.Contact, Promises: c.Promises}
}

// Validate reports everything wrong with c that can be known without seeds, joined, each with the field's
// name: *ConfigErrors, and the errors of the Configs inside it. A missing Contact is reported when the
// seeds are known, a missing Renderer by New.
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

// ConfigError is a field of a Config with an invalid value. [Config.Validate] joins one for each such field
// with the errors of the Configs inside it: errors.As finds the first of them, and Unwrap() []error of the
// joined error returns all.
type ConfigError struct {
	Field   string // "Limits.Depth", "Seeds[3].URL"
	Problem string // what is wrong with it: "is -7: must be 1 or more"
	Err     error  // the cause, if there is one
}

func (e *ConfigError) Error() string { return "crawler: " + e.Field + " " + e.Problem }

// Unwrap returns the cause, nil if there is none.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError makes a ConfigError from a sentence that begins with the field.
func configError(format string, args ...any) *ConfigError {
	field, problem, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	return &ConfigError{Field: field, Problem: problem}
}
