package crawler

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/simhash"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Values with a meaning of their own in Config's numbers. Zero always means the default.
const (
	None      = politeness.None // no limit
	SeedsOnly = -2              // MaxDepth: follow no link
)

// Defaults of Config.
const (
	DefaultAgent       = "amble/" + Version
	DefaultConcurrency = 64
	DefaultMaxDepth    = 5
	DefaultMaxPages    = 1000
	DefaultRetries     = 2
	DefaultMaxURL      = 2083
	DefaultMaxLinks    = 10000
	DefaultRedirects   = 10
	DefaultMaxQueries  = 1000
	DefaultMaxPerDir   = 50_000
	DefaultMaxSessions = 2
	DefaultMaxSoft     = 50
	DefaultMaxInFlight = 32 << 20
)

// Config describes a crawl. The zero value of every field is its safe default; only Contact must be
// filled in, and not even that when every seed is on loopback.
type Config struct {
	// Agent is NAME/VERSION or NAME. It is sent in the User-Agent header, and NAME is the token that
	// robots.txt groups are matched by. "": DefaultAgent.
	Agent string
	// Contact is an http(s) URL or mail address at which site owners reach a person. Placeholders are
	// refused.
	Contact string

	MaxDepth    int           // links followed from a seed. 0: DefaultMaxDepth; None; SeedsOnly
	MaxPages    int           // pages fetched, exactly. 0: DefaultMaxPages; None
	MaxPerHost  int           // pages fetched per host. 0: no limit
	MaxBytes    int64         // body octets received; what is in flight when it is reached ends. 0: no limit
	MaxTime     time.Duration // from start to the last claim. 0: no limit
	Concurrency int           // requests in flight in all. 0: DefaultConcurrency
	// MaxInFlight is how many bytes pages may take that are being received or read, beyond the first 64 KiB
	// of each; when there is no room they wait. A single page may go on beyond it, so that no limit on
	// bodies is too large for it. It does not hold for a Fetcher of one's own. 0: DefaultMaxInFlight.
	MaxInFlight int64

	Scope ScopeKind   // "": ScopeHost
	Rules []ScopeRule // ordered, the last match wins; see SeedScope
	// InScope replaces the Scope that is made from Scope, Rules and the seeds.
	InScope Scope

	// Canonical is how URLs are told apart: which spellings count as one page. The URL that is sent is
	// always the one found. A Frontier that is given must tell them apart the same way.
	Canonical weburl.Profile

	// Retries is the number of attempts at a URL after the first, within the budget (see RetriesPerHost): for answers
	// and failures that may pass, and for pages that break off. The longest part of such a page is kept in memory
	// until its last attempt, 64 MiB of all together; a page for which there is no room is final as it is.
	// 0: DefaultRetries; None.
	Retries      int
	RetryPause   time.Duration // before the first retry, doubling. 0: 1 s
	MaxURL       int           // octets of a URL that is queued. 0: DefaultMaxURL; at most weburl.MaxLen
	MaxLinks     int           // of one page. 0: DefaultMaxLinks
	MaxRedirects int           // of one chain. 0: DefaultRedirects

	// MaxQueries is how many query variants of one path are queued, and MaxPerDir how many URLs of one
	// directory: what goes beyond is a trap. 0: the defaults; None. They do not hold for hosts of
	// Politeness.OwnHosts.
	MaxQueries int
	MaxPerDir  int
	// MaxSessions is how many variants of one URL are queued that differ in a session identifier only
	// (PHPSESSID, jsessionid and the like; see weburl.URL.Sessionless). 0: DefaultMaxSessions; None.
	MaxSessions int
	// MaxSame is how many URLs may have the same body before further ones are Duplicate and their
	// links not followed: soft errors and mirrored parts end there. 0: no limit.
	MaxSame int
	// MaxSoft is how many URLs of one host may answer with status 200 and one and the same HTML page before
	// further ones are Duplicate, with ReasonSoft404, and their links not followed. They are nearly
	// always error pages. 0: DefaultMaxSoft; None.
	MaxSoft int
	// NearBits looks for pages that are nearly the same: of two whose 64-bit similarity hashes differ in
	// at most so many bits (1 to 3), the later one's Visit.NearOf names the earlier. It changes no
	// outcome. 0: off.
	NearBits int
	// MaxErrors ends the crawl when so many visits have Failed, by the Handler's errors and panics too.
	// 0: no limit.
	MaxErrors int

	Sitemaps       bool // also crawl what the sitemaps named in robots.txt list
	FollowNoFollow bool // follow links marked rel=nofollow; a page's own nofollow always holds
	KeepBodies     bool // read bodies of types that are not parsed to their end, as with a Handler or an archive
	Feeds          bool // also follow what feeds list: RSS, Atom, JSON Feed
	Resources      bool // also queue images, style sheets, scripts and the like

	// Beyond is how many links in a row are followed out of the scope: with 1 also the pages outside are
	// fetched that pages inside link to, with 2 also those that these link to, and so on up to
	// frontier.MaxBeyond. A page that leads back into the scope begins anew; links of the last page
	// outside are not followed, wherever they lead. What an exclude rule names is never reached. The
	// links are counted on the way on which a page is found first. 0: none.
	Beyond int
	// BeyondKinds are the kinds of links that may lead out of the scope: "image" and "style" for what a
	// page is shown with, say, with Resources. Empty: all.
	BeyondKinds []LinkKind

	// Since makes requests conditional for URLs that an earlier crawl knows, and queues those in scope if it is a
	// Lister. See NotModified. nil: none
	// is.
	Since History

	// Politeness is the gate's policy. Its Identity and Contactless are set from Agent, Contact and
	// the seeds; setting them here is an error.
	Politeness politeness.Config
	// Fetch is the fetcher's limits. The seeds' hosts are added to those of its AllowHosts. Without a Pin of its
	// own, the first look-up of their names holds for all Runs of the Crawler and, with a durable Frontier, for
	// all processes of the crawl. It is not used with a Fetcher of one's own.
	Fetch fetcher.Config

	// Seeds are crawled beside those that Run, Pages and Collect are given. Where both have a URL, what
	// is said here holds.
	Seeds []Request
	// Priority is asked for the priority of each of a page's links that is about to be queued; those
	// that are known or turned away are not asked about. It is called concurrently, before the Handler,
	// with the Visit as the page made it. A panic fails the visit. nil: every link has 0.
	Priority func(v *Visit, l *Link) int8

	Handler   Handler           // nil: visits go to the sinks alone
	Sinks     []sink.Sink       // appended to in order; not closed by the crawler
	Frontier  frontier.Frontier // nil: a new frontier.Memory for each Run; a given one is not closed
	Fetcher   Fetcher           // nil: a fetcher.Fetcher made from Fetch
	Extractor Extractor         // nil: links from HTML by package extract
	Trace     *Trace

	// KeepRobots is given every answer to a robots.txt request before any page is asked for on its
	// strength, to keep the body as evidence. Its error ends the crawl. nil: none is kept.
	KeepRobots func(p *fetcher.Page) error
	// AtCommit is called before every commit of a crawl with a durable Frontier, when the sinks are durable and
	// until the commit is made no further record goes to them. The values that it returns are stored in the
	// same step, by name (frontier.Durable.State gives them back); names that begin with "crawler/" are the
	// crawler's own. Its error ends the crawl, with nothing committed. nil: nothing else is stored.
	AtCommit func() (map[string][]byte, error)
	// RevisitedDirectives reads META robots as the 1996 workshop wrote it down: see
	// robots.WithDialect and robots.PageDirectives.
	RevisitedDirectives bool
}

func (c Config) withDefaults() Config {
	c.Agent = or(c.Agent, DefaultAgent)
	c.MaxDepth = or(c.MaxDepth, DefaultMaxDepth)
	c.MaxPages = or(c.MaxPages, DefaultMaxPages)
	c.Concurrency = or(c.Concurrency, DefaultConcurrency)
	c.MaxInFlight = or(c.MaxInFlight, DefaultMaxInFlight)
	c.Scope = or(c.Scope, ScopeHost)
	c.Retries = max(0, or(c.Retries, DefaultRetries))
	c.RetryPause = or(c.RetryPause, time.Second)
	c.MaxURL = or(c.MaxURL, DefaultMaxURL)
	c.MaxLinks = or(c.MaxLinks, DefaultMaxLinks)
	c.MaxQueries = or(c.MaxQueries, DefaultMaxQueries)
	c.MaxPerDir = or(c.MaxPerDir, DefaultMaxPerDir)
	c.MaxSessions = or(c.MaxSessions, DefaultMaxSessions)
	c.MaxSoft = or(c.MaxSoft, DefaultMaxSoft)
	c.BeyondKinds = slices.Clone(c.BeyondKinds)
	for i, k := range c.BeyondKinds {
		c.BeyondKinds[i], _ = ParseLinkKind(string(k))
	}
	c.MaxRedirects = or(c.MaxRedirects, DefaultRedirects)
	return c
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// identity is Agent and Contact as the gate wants them.
func (c Config) identity() politeness.Identity {
	name, version, _ := strings.Cut(or(c.Agent, DefaultAgent), "/")
	return politeness.Identity{Product: name, Version: version, Contact: c.Contact}
}

// Validate reports everything wrong with c that can be known without seeds, joined, each with the
// field's name: *ConfigErrors, and the errors of the Configs inside it. A missing Contact is judged when the seeds are known.
func (c Config) Validate() error {
	errs := []error{c.identity().Validate(true), c.Fetch.Validate(), checkSeeds(c.Seeds)}
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, configError(format, args...))
		}
	}
	p := c.Politeness
	bad(p.Identity == politeness.Identity{} && !p.Contactless, "Politeness.Identity and Contactless are set from Agent and Contact: leave them empty")
	p.Identity, p.Contactless = c.identity(), true
	if err := p.Validate(); err != nil && c.identity().Validate(true) == nil {
		errs = append(errs, err)
	}
	bad(c.MaxDepth >= SeedsOnly, "MaxDepth is %d: must be 1 or more, None or SeedsOnly", c.MaxDepth)
	bad(c.MaxPages >= None, "MaxPages is %d: must be 1 or more, or None", c.MaxPages)
	bad(c.MaxPerHost >= 0, "MaxPerHost is %d: must not be negative", c.MaxPerHost)
	bad(c.MaxBytes >= 0, "MaxBytes is %d: must not be negative", c.MaxBytes)
	bad(c.MaxTime >= 0, "MaxTime is %v: must not be negative", c.MaxTime)
	bad(c.MaxInFlight >= 0, "MaxInFlight is %d: must be 1 or more", c.MaxInFlight)
	bad(c.Concurrency >= 0, "Concurrency is %d: must be 1 or more", c.Concurrency)
	bad(c.Retries >= None, "Retries is %d: must be 1 or more, or None", c.Retries)
	bad(c.RetryPause >= 0, "RetryPause is %v: must not be negative", c.RetryPause)
	bad(c.MaxURL >= 0 && c.MaxURL <= weburl.MaxLen, "MaxURL is %d: must be 1 to %d", c.MaxURL, weburl.MaxLen)
	bad(c.MaxLinks >= 0, "MaxLinks is %d: must not be negative", c.MaxLinks)
	bad(c.MaxQueries >= None, "MaxQueries is %d: must be 1 or more, or None", c.MaxQueries)
	bad(c.MaxPerDir >= None, "MaxPerDir is %d: must be 1 or more, or None", c.MaxPerDir)
	bad(c.MaxSessions >= None, "MaxSessions is %d: must be 1 or more, or None", c.MaxSessions)
	bad(c.MaxSoft >= None, "MaxSoft is %d: must be 1 or more, or None", c.MaxSoft)
	bad(c.Beyond >= 0 && c.Beyond <= frontier.MaxBeyond, "Beyond is %d: must be 0 to %d", c.Beyond, frontier.MaxBeyond)
	for _, k := range c.BeyondKinds {
		_, err := ParseLinkKind(string(k))
		errs = append(errs, err)
	}
	bad(c.MaxSame >= 0, "MaxSame is %d: must not be negative", c.MaxSame)
	bad(c.NearBits >= 0 && c.NearBits <= simhash.MaxDistance, "NearBits is %d: must be 0 to %d", c.NearBits, simhash.MaxDistance)
	bad(c.MaxErrors >= 0, "MaxErrors is %d: must not be negative", c.MaxErrors)
	bad(c.MaxRedirects >= 0, "MaxRedirects is %d: must not be negative", c.MaxRedirects)
	for i, s := range c.Sinks {
		bad(s != nil, "Sinks[%d] is nil", i)
	}
	if c.InScope == nil {
		_, err := NewSeedScope(or(c.Scope, ScopeHost), c.Rules)
		errs = append(errs, err)
		bad(c.Scope != ScopeAny || c.bounded(), "Scope any needs an explicit limit: set MaxPages, MaxBytes or MaxTime")
	}
	return errors.Join(errs...)
}

// bounded reports whether the operator set a limit that ends the crawl.
func (c Config) bounded() bool {
	return c.MaxPages > 0 || c.MaxBytes > 0 || c.MaxTime > 0
}
