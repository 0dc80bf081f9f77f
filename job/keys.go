package job

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Key is a setting of a crawl that has a text form: a key of a job file, and a flag of "amble crawl".
type Key struct {
	Name    string
	Doc     string // description in one or more sentences; ${default} stands for the default, [name] for another key
	Group   Group
	Freedom Freedom
	Seldom  bool // omitted from the commands' help

	// Field is the path from [Config] to the field that the key sets, as in "Crawl.Limits.Pages". It is "" for include, exclude
	// and accept, which add to Crawl.Scope.Rules, and for keys that only concern the command.
	Field string

	form form
}

// DocWith returns Doc with references to other keys formatted by refer.
func (k *Key) DocWith(refer func(name string) string) string {
	return keyReference.ReplaceAllStringFunc(k.Doc, func(ref string) string { return refer(strings.Trim(ref, "[]")) })
}

var keyReference = regexp.MustCompile(`\[[a-z-]+\]`)

// Group is the subject of a key.
type Group string

// The groups of keys.
const (
	Who       Group = "who"     // identity of the crawler
	Reach     Group = "reach"   // distance from the seeds
	InScope   Group = "scope"   // URLs that belong to the crawl
	Pace      Group = "pace"    // politeness
	Amount    Group = "amount"  // limits
	Access    Group = "access"  // credentials for sites that gave access
	State     Group = "state"   // state that later requests use
	Network   Group = "network" // how requests are sent
	Rendering Group = "render"  // rendering of pages
	Output    Group = "output"  // files written
	Command   Group = "command" // output of one process for the operator; not settings of the job
)

// Freedom describes how a setting may change when a job is resumed.
type Freedom int

// The freedoms of settings.
const (
	Fixed Freedom = iota + 1 // must not change, because links, refusals or names of URLs in the job depend on the value
	Free                     // may change to any value; the manifest records the time
	Up                       // may only change to a longer pause
	Down                     // may only change to fewer requests
	Shown                    // may change to any value, because it concerns one process and is not a setting of the job
)

// String returns the freedom in words.
func (f Freedom) String() string {
	return [...]string{"", "fixed", "free", "may be raised", "may be lowered", "of one process"}[f]
}

// Error messages about invalid values.
const (
	nothing  = "would fetch nothing; give a number or none"
	leaves   = "would leave nothing; give a number or none"
	positive = "give a duration above zero"
	endless  = "no wait is without end; give a duration above zero"
	memory   = "memory is not without end; give a size up to 1024GiB"
	oneUp    = "must be 1 or more"
)

func timeout(def float64) amount {
	return amount{is: Duration, def: def, noNone: endless, noZero: endless}
}

func bodySize(def float64) amount {
	return amount{is: Size, def: def, noNone: memory, noZero: memory, most: 1 << 40, bare: true}
}

// patience returns the form of a maximum waiting time.
func patience(def float64) amount {
	return amount{is: Duration, def: def, none: unlimited, zero: zero}
}

// keys lists all keys, in the order of job files and help texts.
var keys = []*Key{
	{"agent", "Who crawls, as NAME/VERSION (${default}). The user agent is NAME/VERSION (+CONTACT; promises: URL); robots.txt is read for NAME.", Who, Fixed, false, "Crawl.Agent", words{crawler.DefaultAgent}},
	{"contact", "Where site owners reach you. Required unless every seed is on loopback.", Who, Fixed, false, "Crawl.Contact", words{}},
	{"promises", "URL of a page where site owners read what the crawler promises them, or none. It is in the user agent after [contact]. Crawls from the command line name the page of amble, those of a program none.", Who, Fixed, false, "Crawl.Promises", own[string]{is: Text, read: readPromises, write: promisesText}},

	{"seeds", "Read further seeds, one a line; - is stdin.", Command, Shown, false, "", words{}},
	{"depth", "Links followed from a seed (${default}).", Reach, Fixed, false, "Crawl.Limits.Depth", amount{is: Count, def: crawler.DefaultMaxDepth, none: unlimited, zero: zero}},
	{"sitemaps", "Also crawl what the sitemaps named in robots.txt list in scope, wherever on its host a sitemap lies.", Reach, Fixed, false, "Crawl.Follow.Sitemaps", flag{}},
	{"beyond", "Links followed out of the scope: with 1 also the pages that pages in scope link to (${default}).", Reach, Fixed, false, "Crawl.Scope.Beyond", amount{is: Whole}},
	{"beyond-kinds", "Kinds of links that [beyond] follows, such as image and style; none is all.", Reach, Fixed, true, "Crawl.Scope.BeyondKinds", list{}},
	{"since", "Job directory or visits.jsonl of an earlier crawl: visit its pages in scope again, at their depth, and have only those sent that have changed. The others do not count for [max-pages].", Reach, Free, false, "Since", words{}},

	{"scope", "How far from the seeds: host, domain, prefix or any (${default}).", InScope, Fixed, false, "Crawl.Scope.Kind", choice{"host", []string{"host", "domain", "prefix", "any"}, nil}},
	{"include", "Take in links that match; rules are ordered, the last match wins. When the first is an include, other links are left out; seeds are not.", InScope, Fixed, false, "", list{expression}},
	{"exclude", "Leave out URLs that match, seeds too.", InScope, Fixed, false, "", list{expression}},
	{"accept", "Keep only answers of these media types, such as application/pdf or image/*. Of others at most 64 KiB are read; their outcome is out_of_scope, with the reason type. HTML is read in any case, and its links are followed; name text/html to keep it, too.", InScope, Fixed, false, "", list{mediaType}},
	{"rules", "Ordered rules, weaker than [include] and [exclude]: include RE and exclude RE for URLs, include-kind and exclude-kind for links of some kinds (image,script), include-type and exclude-type for answers of some types (application/pdf,image/*); of the latter, those with of RE are only for URLs that match.", InScope, Fixed, true, "Crawl.Scope.Rules", own[[]crawler.ScopeRule]{is: List, read: readRules, write: rulesText}},
	{"canonical", "Which spellings of a URL are one page: exact, safe or usual.", InScope, Fixed, true, "Crawl.Canonical", choice{weburl.Safe.String(), namesOf(weburl.Exact, weburl.Safe, weburl.Usual), nil}},
	{"priority", "Request URLs that match before others of their host, as RE=N with N from -128 to 127; the first that matches decides, without one N is 0. A better one found later counts.", InScope, Free, false, "Crawl.Priorities", own[[]crawler.PriorityRule]{is: List, read: readPriorities, write: prioritiesText}},
	{"best-first", "Of the hosts that may be requested, serve the one whose first URL has the highest [priority], and not the one that has waited longest. With [max-pages], a better host is waited for while it pauses or answers, for a minute at most. A node of a cluster chooses among the hosts of each of its shards.", InScope, Free, true, "Crawl.BestFirst", flag{}},
	{"sample", "Request N pages of each seed's site, drawn at random from its sitemaps, and nothing else, as N:SEED (${default}). The same SEED draws the same pages from the same sitemaps.", InScope, Fixed, false, "Crawl.Sample", own[crawler.Sample]{is: Text, read: readSample, write: sampleText}},
	{"order", "In which order the pages of a host are requested: found, or hash:SEED for that of a keyed hash of their URLs, in which the first pages of a host are a random sample of those known (${default}). Without [priority].", InScope, Fixed, false, "Crawl.Order", own[crawler.Order]{is: Text, read: readOrder, write: orderText}},
	{"follow-nofollow", "Follow links marked rel=nofollow, too.", InScope, Fixed, false, "Crawl.Follow.NoFollow", flag{}},
	{"feeds", "What feeds list, too: RSS, Atom, JSON Feed.", InScope, Fixed, false, "Crawl.Follow.Feeds", flag{}},
	{"documents", "Links in PDF, EPUB and DOCX files, too. Each file is read by a process with limits of time and memory; broken ones have no links.", InScope, Fixed, false, "Crawl.Follow.Documents", flag{}},
	{"resources", "Images, style sheets, scripts and the like, too.", InScope, Fixed, false, "Crawl.Follow.Resources", flag{}},
	{"allow-address", "Private or special address ranges that may be requested. Seeds need none, unless their names have other addresses later.", InScope, Fixed, false, "Crawl.Fetch.AllowAddresses", list{addressRange}},

	{"delay", "Least time from the end of one request to a host to the start of the next (${default}). A site can lengthen it, never shorten it.", Pace, Up, false, "Crawl.Politeness.Delay", amount{is: Duration, def: float64(politeness.DefaultDelay), none: zero, zero: zero}},
	{"delay-factor", "Wait at least F times the last response time (${default}).", Pace, Up, true, "Crawl.Politeness.DelayFactor", amount{is: Number, def: politeness.DefaultDelayFactor, none: zero, zero: zero}},
	{"max-delay", "Cap of what [delay-factor] adds (${default}).", Pace, Up, true, "Crawl.Politeness.MaxDelay", patience(float64(politeness.DefaultMaxDelay))},
	{"per-host", "Requests in flight per host; more only for [own-hosts] (${default}).", Pace, Fixed, false, "PerHost", amount{is: Whole, def: 1, noZero: oneUp}},
	{"own-hosts", "Hosts you own, one a line: the only ones that [per-host] and a [delay] below 100ms apply to. A job keeps a copy of the file and goes on with it.", Pace, Fixed, false, "OwnHosts", words{}},
	{"rate", "Requests per second in all, with your other crawls that set it (${default}).", Pace, Down, false, "Crawl.Politeness.Rate", amount{is: Number, noZero: "would never ask anything; give a number or none"}},
	{"hours", "Parts of the day in which requests are made (all day): HH:MM-HH:MM in UTC, or HH:MM-HH:MM@ZONE by the clocks of a time zone such as Europe/Berlin.", Pace, Free, false, "Crawl.Politeness.Hours", own[politeness.Hours]{is: List, read: readHours, write: hoursText, late: true}},
	{"per-domain", "Hosts of one registrable domain share one clock, as hosts on one address do.", Pace, Up, true, "Crawl.Politeness.PerDomain", flag{}},
	{"max-crawl-delay", "Longest Crawl-delay obeyed; a host that requests more is given up.", Pace, Free, true, "Crawl.Politeness.MaxCrawlDelay", patience(float64(politeness.DefaultMaxCrawlDelay))},
	{"max-retry-after", "Longest Retry-After obeyed; a host that requests more is given up.", Pace, Free, true, "Crawl.Politeness.MaxRetryAfter", patience(float64(politeness.DefaultMaxRetryAfter))},
	{"max-backoff", "Longest pause after failures.", Pace, Free, true, "Crawl.Politeness.MaxBackoff", amount{is: Duration, def: float64(politeness.DefaultMaxBackoff), noNone: positive, noZero: positive}},
	{"max-failures", "Failures of a host, with no good answer between, after which it is given up.", Pace, Free, true, "Crawl.Politeness.MaxFailures", amount{is: Count, def: politeness.DefaultMaxFailures, none: unlimited, noZero: "would give up every host; give a number or none"}},
	{"max-silence", "Time of failures without one success after which a host is given up, if there were five.", Pace, Free, true, "Crawl.Politeness.MaxSilence", patience(float64(politeness.DefaultMaxSilence))},
	{"robots-give-up", "How long an unreachable robots.txt is tried again before its host is given up; the time in which other hosts at its address have their turn does not count. With none, a crawl also waits when no host has ever answered.", Pace, Free, true, "Crawl.Politeness.RobotsGiveUp", patience(float64(politeness.DefaultRobotsGiveUp))},
	{"forbidden-denies", "Read 401 and 403 for robots.txt as a refusal of everything.", Pace, Fixed, true, "Crawl.Politeness.ForbiddenDenies", flag{}},
	{"dialect", "How robots.txt is read: rfc9309, original1994, draft1997, revisited1996 or strictest.", Pace, Fixed, true, "Crawl.Politeness.Dialect", choice{robots.RFC9309.String(), namesOf(robots.RFC9309, robots.Original1994, robots.Draft1997, robots.Revisited1996, robots.Strictest), aDialect}},
	{"revisited-directives", "Read META robots as the 1996 workshop wrote it down.", Pace, Fixed, true, "Crawl.RevisitedDirectives", flag{}},
	{"purpose", "What pages are collected for: archive, research, search, ai-input, train-ai (research). Pages of sites that forbid it are refused.", Pace, Fixed, false, "Crawl.Politeness.Purposes", own[[]consent.Purpose]{is: List, read: readPurposes, write: purposesText}},
	{"refuse-usage", "Uses, such as train-ai: pages whose robots.txt disallows one of them are refused.", Pace, Fixed, true, "Crawl.Politeness.RefuseUsage", list{}},
	{"visit-time", "Request pages only in the hours that a host's robots.txt names (Visit-time).", Pace, Up, true, "Crawl.Politeness.VisitTime", flag{}},
	{"opt-out", "File of host names that are not requested at all, one a line; names below them are meant, too. It is read again when it changes, and a host that was ever on it stays out.", Pace, Free, true, "OptOut", words{}},
	{keyHosts, "Settings of single hosts, domains or ranges of addresses: a list of match and delay, max-pages, max-bytes, max-time, headers and rules. Values of headers may be '@FILE' or env:NAME, as those of header. The first entry that matches a host holds for it, as a whole; delays are longer than that of other hosts, unless the host is an own one.", Pace, Up, true, "Crawl.Hosts", own[[]crawler.HostSettings]{is: Text, read: readHosts, write: hostsText}},
	{keyOverrides, "Other rules in the place of single origins' robots.txt, for those who may. Every request that they let through says so in the ledger.", Pace, Fixed, true, "Crawl.Politeness.Overrides", own[[]politeness.Override]{is: Text, read: readOverrides, write: overridesText}},

	{"concurrency", "Requests in flight in all (${default}).", Amount, Free, false, "Crawl.Concurrency", amount{is: Whole, def: crawler.DefaultConcurrency, noZero: oneUp}},
	{"max-pages", "Pages and sitemaps fetched, exactly (${default}).", Amount, Free, false, "Crawl.Limits.Pages", amount{is: Count, def: crawler.DefaultMaxPages, none: unlimited, noZero: nothing}},
	{"max-bytes", "Bytes received (${default}).", Amount, Free, false, "Crawl.Limits.Bytes", amount{is: Size, noZero: "would fetch nothing; give a size or none"}},
	{"max-time", "Time until the last request starts (${default}).", Amount, Free, false, "Crawl.Limits.Time", amount{is: Duration, noZero: "would fetch nothing; give a duration or none"}},
	{keyMinFree, "Bytes that stay free on the disk of the job: the crawl ends before there are fewer, with exit code 5. auto is 5 % of the disk, and 1GiB at most.", Amount, Free, true, "MinFree", own[crawler.Limit]{is: Size, read: readMinFree, write: minFreeText}},
	{"max-disk", "Bytes of all files of the job (${default}).", Amount, Free, true, "MaxDisk", amount{is: Size, noZero: "would leave no room; give a size or none"}},
	{"max-per-host", "Pages and sitemaps fetched per host (${default}).", Amount, Free, false, "Crawl.Limits.PagesPerHost", amount{is: Count, noZero: nothing}},
	{"max-sitemaps", "Sitemaps fetched per host.", Amount, Free, true, "Crawl.Limits.Sitemaps", amount{is: Count, def: crawler.DefaultSitemaps, none: unlimited, noZero: "would read none; leave sitemaps out, or give a number or none"}},
	{"max-robots-requests", "Requests for robots.txt to which links, redirects, sitemaps and resources lead, of all hosts together; 0 is 20 for each of [max-pages].", Amount, Free, true, "Crawl.Limits.Robots", amount{is: Count, none: unlimited}},
	{"max-body", "Bytes of one body, decoded; longer ones are cut and flagged (${default}).", Amount, Free, false, "Crawl.Fetch.MaxBody", bodySize(fetcher.DefaultMaxBody)},
	{"max-errors", "Failed URLs that end the crawl, with exit code 4 (${default}).", Amount, Free, false, "Crawl.Limits.Errors", amount{is: Count, noZero: "would end before it begins; give a number or none"}},
	{"retries", "Attempts after the first (${default}).", Amount, Free, false, "Crawl.Retries.Max", amount{is: Count, def: crawler.DefaultRetries, none: zero, zero: zero}},
	{"retry-pause", "Pause before the first retry; it doubles with each.", Amount, Free, true, "Crawl.Retries.Pause", amount{is: Duration, def: 1e9, noNone: positive, noZero: positive}},
	{"max-url", "Bytes of a URL that is queued.", Amount, Free, true, "Crawl.Limits.URLLength", amount{is: Whole, def: crawler.DefaultMaxURL, noZero: fmt.Sprintf("must be 1 to %d", weburl.MaxLen), most: weburl.MaxLen}},
	{"max-links", "Links of one page that are read.", Amount, Free, true, "Crawl.Limits.LinksPerPage", amount{is: Whole, def: crawler.DefaultMaxLinks, noZero: oneUp}},
	{"max-queries", "Query variants of one path; more are a trap.", Amount, Free, true, "Crawl.Traps.Queries", amount{is: Count, def: crawler.DefaultMaxQueries, none: unlimited, noZero: leaves}},
	{"max-per-dir", "URLs of one directory; more are a trap.", Amount, Free, true, "Crawl.Traps.PerDir", amount{is: Count, def: crawler.DefaultMaxPerDir, none: unlimited, noZero: leaves}},
	{"max-sessions", "Variants of one URL that differ in a session identifier; more are a trap.", Amount, Free, true, "Crawl.Traps.Sessions", amount{is: Count, def: crawler.DefaultMaxSessions, none: unlimited, zero: unlimited}},
	{"max-soft", "URLs of a host that answer 200 with the same page, after which further ones are duplicates.", Amount, Free, true, "Crawl.Duplicates.Soft", amount{is: Count, def: crawler.DefaultMaxSoft, none: unlimited, zero: unlimited}},
	{"max-same", "URLs with the same body, after which further ones are duplicates.", Amount, Free, true, "Crawl.Duplicates.Same", amount{is: Count, noZero: leaves}},
	{"near-bits", "Name pages that are nearly the same: bits in which their hashes may differ, 1 to 3.", Amount, Free, true, "Crawl.Duplicates.NearBits", amount{is: Whole}},
	{"max-redirects", "Redirects of one chain.", Amount, Free, true, "Crawl.Limits.Redirects", amount{is: Whole, def: crawler.DefaultRedirects, noZero: oneUp}},
	{"dns-timeout", "One look-up of a name.", Amount, Free, true, "Crawl.Fetch.DNSTimeout", timeout(float64(fetcher.DefaultDNSTimeout))},
	{"connect-timeout", "Connecting.", Amount, Free, true, "Crawl.Fetch.ConnectTimeout", timeout(float64(fetcher.DefaultConnectTimeout))},
	{"tls-timeout", "The TLS handshake.", Amount, Free, true, "Crawl.Fetch.TLSTimeout", timeout(float64(fetcher.DefaultTLSTimeout))},
	{"first-byte-timeout", "From the request to the first byte of the answer.", Amount, Free, true, "Crawl.Fetch.FirstByteTimeout", timeout(float64(fetcher.DefaultFirstByteTimeout))},
	{"idle-timeout", "Silence between two bytes of an answer.", Amount, Free, true, "Crawl.Fetch.IdleTimeout", timeout(float64(fetcher.DefaultIdleTimeout))},
	{"fetch-timeout", "One request, from connecting to the last byte.", Amount, Free, true, "Crawl.Fetch.FetchTimeout", timeout(float64(fetcher.DefaultFetchTimeout))},
	{"max-header", "Bytes of an answer's header.", Amount, Free, true, "Crawl.Fetch.MaxHeader", bodySize(fetcher.DefaultMaxHeader)},
	{"max-header-fields", "Fields of an answer's header.", Amount, Free, true, "Crawl.Fetch.MaxHeaderFields", amount{is: Whole, def: fetcher.DefaultMaxHeaderFields, noZero: oneUp}},
	{"max-encodings", "Layers of Content-Encoding that are undone.", Amount, Free, true, "Crawl.Fetch.MaxEncodings", amount{is: Whole, def: fetcher.DefaultMaxEncodings, noZero: oneUp}},
	{"max-ratio", "Bytes that one byte on the wire may become, after the first MiB.", Amount, Free, true, "Crawl.Fetch.MaxRatio", amount{is: Count, noZero: leaves}},
	{"min-rate", "Bytes a second that a body must bring at least.", Amount, Free, true, "Crawl.Fetch.MinRate", amount{is: Size, noZero: leaves}},
	{"max-robots", "Bytes of a robots.txt.", Amount, Free, true, "Crawl.Fetch.MaxRobots", bodySize(fetcher.DefaultMaxRobots)},
	{"max-sitemap", "Bytes of a sitemap.", Amount, Free, true, "Crawl.Fetch.MaxSitemap", bodySize(fetcher.DefaultMaxSitemap)},

	{keyHeader, "Header field for the origins of the seeds, as 'Name: value', or for one origin, as 'https://host Name: value'. The value may be @FILE, whose one line it is, or env:NAME: the job keeps these, and no other value.", Access, Free, false, "Header", own[[]string]{is: List, read: readFields, write: slices.Clone[[]string], late: true}},
	{"accept-language", "Languages that are preferred, as in 'de, en;q=0.8'.", Access, Free, false, "Crawl.Fetch.AcceptLanguage", own[string]{is: Text, read: readLanguages, write: plainText, late: true}},
	{"load-cookies", "Send the cookies of a cookies.txt, as curl, wget and browsers write it. Implies [cookies].", Access, Free, false, "LoadCookies", words{}},
	{"keep-cookies", "In a job directory: keep cookies when the crawl is resumed, in a file that only you may read. Implies [cookies].", State, Free, false, "KeepCookies", flag{}},
	{"cookies", "Keep cookies and return each to the site that set it.", State, Fixed, false, "Crawl.Fetch.Cookies", flag{}},
	{"cache", "Directory of pages that were received before: they are not requested again, and what is received is kept there. For the development of programs; robots.txt is requested as usual. Not with cookies, [header] or an archive.", State, Free, false, "Cache", words{}},
	{"sign", "Folder of an identity: requests are signed for sites that request it.", State, Free, false, "Sign", words{}},
	{"sign-mode", "Which requests are signed: challenged (those to sites that request signatures), always or never.", State, Free, true, "SignMode", choice{identity.Challenged.String(), namesOf(identity.Challenged, identity.Always, identity.Never), nil}},
	{"proxy", "Make every request through this proxy: http, https or socks5. Names are still looked up here.", Network, Free, false, "Crawl.Fetch.Proxy", own[*url.URL]{is: Text, read: proxyOf, write: proxyText, late: true}},
	{"source-address", "Address of this machine that requests are made from.", Network, Free, true, "Crawl.Fetch.LocalAddr", own[netip.Addr]{is: Text, read: sourceAddress, write: addressText, late: true}},
	{"allow-port", "Ports that may be requested although browsers refuse to, such as 22, 25 or 6000.", Network, Fixed, true, "Crawl.Fetch.AllowPorts", list{port}},
	{"state", "Directory by which all crawls of yours on this machine take turns at hosts; without it that of the user. Crawls with another one know nothing of these.", Network, Shown, true, "State", words{}},
	{"insecure-hosts", "Host names whose certificates are not verified; their visits and archives say so.", Network, Free, true, "Crawl.Fetch.InsecureHosts", own[[]string]{is: List, read: fullHostNames, write: slices.Clone[[]string], late: true}},

	{"render", "Render pages, which runs their scripts, before their links are read: never, auto (those that look empty without their scripts) or always (${default}). Needs Chromium, which gets no network: what a page loads is requested by the crawler.", Rendering, Fixed, false, "Crawl.Render.Mode", choice{string(render.Never), []string{string(render.Never), string(render.Auto), string(render.Always)}, nil}},
	{"render-kinds", "What rendered pages may load besides scripts and data: style, image, font.", Rendering, Fixed, true, "Crawl.Render.Kinds", list{loadable}},
	{"render-hosts", "Hosts outside their site that rendered pages may load from: site (none), any, or a pattern such as *.cdn.example. Without it those of four origins for each page.", Rendering, Fixed, true, "Crawl.Render.Hosts", words{}},
	{"max-resources", "Requests for what rendered pages load, of all together, after which they are rendered with what is known; 0 is 20 for each of [max-pages].", Rendering, Free, true, "Crawl.Limits.Resources", amount{is: Count, none: unlimited}},
	{"screenshot", "With [archive]: archive a picture of each rendered page. They may load style sheets, images and fonts then.", Rendering, Fixed, false, "Crawl.Render.Screenshot", flag{}},
	{"browser", "Browser that renders, as a path or a name in PATH; without it chromium-headless-shell, chromium or another of the usual ones.", Rendering, Free, true, "Browser.Path", words{}},
	{"render-tabs", "Pages that are rendered at a time; 0 is half the number of processors.", Rendering, Free, true, "Browser.Tabs", amount{is: Whole}},
	{"render-processor", "Processor time of a rendered page, its workers included; a page that exceeds it counts as it was fetched (${default}).", Rendering, Free, true, "Crawl.Render.MaxProcessor", timeout(float64(render.DefaultMaxProcessor))},
	{"render-isolation", "How the browser is kept from the network: namespace, which needs Linux, or flags, its own settings, which are weaker (${default}).", Rendering, Free, true, "Browser.Isolation", choice{"namespace", []string{"namespace", "flags"}, nil}},

	{"out", "Job directory: everything goes there instead of visits to stdout, and a crawl that was stopped or killed is resumed by the same command or by resume. Without it the crawl is kept in the state directory.", Command, Shown, false, "", words{}},
	{"no-keep", "Without [out]: keep nothing but what goes to stdout, as [quiet] does.", Command, Shown, false, "", flag{}},
	{"format", "Also archive what went over the wire, as WARC with a CDXJ index (${default}).", Output, Free, false, "Archive", own[bool]{is: List, read: archived, write: formatText, late: true}},
	{"segment-size", "Size of a segment: when visits, ledger, links, texts or results have as much, they go on in another file, such as visits-000002.jsonl (${default}). A segment is at most an eighth of [max-disk].", Output, Free, true, "SegmentSize", amount{is: Size, def: defaultSegmentSize, none: unlimited, noZero: "would leave no room for a line; give a size or none"}},
	{"store", "Copy what is finished, segments and archives, to s3://BUCKET/PREFIX or file:///DIRECTORY, each with its SHA-256, while the crawl goes on. Keys, region and endpoint are read from the variables and files of AWS (AWS_PROFILE, AWS_ENDPOINT_URL). A store that cannot be reached is waited for.", Output, Free, false, "Store", words{}},
	{"keep-local", "With [store]: remove the oldest copies of what is stored from the job when its results exceed this size (${default}). A segment is at most an eighth of it.", Output, Free, false, "KeepLocal", amount{is: Size, noZero: "the segments that are written to stay; give a size or none"}},
	{"keep-links", "Also keep every link of each page in links.jsonl, with its text, rel, kind and fate.", Output, Fixed, false, "Links", flag{}},
	{"text", "Also write the main text of each page to text.jsonl, plain and as Markdown, with title, author, dates, language, licence and consent.", Output, Fixed, false, "Text", flag{}},

	{"fail-on-limit", "Exit 5 when a limit ended the crawl.", Command, Shown, false, "", flag{}},
	{"json", "Print visits as JSON lines on a terminal, too, and the summary as JSON: to stdout where that is free, else to stderr.", Command, Shown, false, "", flag{}},
	{"quiet", "No status, no log, no summary unless [json] requests it.", Command, Shown, false, "", flag{}},
	{"verbose", "Log every request and wait.", Command, Shown, false, "", flag{}},
	{"log-format", "Form of log lines: text or json (${default}).", Command, Shown, false, "", choice{"text", []string{"text", "json"}, nil}},
	{"color", "Colour on a terminal: auto, always or never (${default}).", Command, Shown, false, "", choice{"auto", []string{"auto", "always", "never"}, nil}},
}

// KeyURLs is the key of the seeds in a job file. It is not among [Keys].
const KeyURLs = "urls"

// keyOverrides is a key whose value in a job file is a list of records. It has no flag.
const keyOverrides = "overrides"

// Keys returns all keys, in the order of help texts and job files.
func Keys() []*Key { return slices.Clone(keys) }

// KeyNamed returns the key with this name, or nil if there is none.
func KeyNamed(name string) *Key {
	i := slices.IndexFunc(keys, func(k *Key) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return keys[i]
}

// Kind returns the textual form of the key's value.
func (k *Key) Kind() Kind { return k.form.kind() }

// Choices returns the allowed words for the value, or nil if other values are allowed.
func (k *Key) Choices() []string {
	c, _ := k.form.(choice)
	return slices.Clone(c.words)
}

// Spellings reports whether Check accepts other spellings of Choices.
func (k *Key) Spellings() bool {
	c, _ := k.form.(choice)
	return c.read != nil
}

// loadable checks the name of a kind of resource that rendered pages may load.
func loadable(s string) (string, error) {
	p := render.Policy{Kinds: []render.Kind{render.Kind(s)}}
	if p.Validate() != nil {
		return "", fmt.Errorf("%q: want style, image or font", s)
	}
	return s, nil
}

func aDialect(name string) error {
	_, err := robots.ParseDialect(name)
	return err
}

func namesOf[T fmt.Stringer](values ...T) []string {
	var names []string
	for _, v := range values {
		names = append(names, v.String())
	}
	return names
}

// Default returns the default value of the key.
func (k *Key) Default() Setting {
	s := Setting{Name: k.Name, Origin: "default"}
	switch f := k.form.(type) {
	case words:
		s.Values = []string{f.def}
	case choice:
		s.Values = []string{f.def}
	case flag:
		s.Values = []string{"false"}
	}
	if k.Field != "" {
		s = k.of(new(Config))
	}
	return s
}

// Check returns an error if a value does not have the key's form. [Settings.Config] checks the value itself when it sets it.
func (k *Key) Check(values ...string) error { return k.form.parse(values) }

// field returns the field of c that the key sets.
func (k *Key) field(c *Config) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(k.Field, ".") {
		v = v.FieldByName(name)
	}
	return v
}

// of returns the key's setting in c.
func (k *Key) of(c *Config) Setting {
	return Setting{Name: k.Name, Values: k.form.text(k.field(c)), Origin: cmp.Or(c.origins[k.Name], "default")}
}

// set sets the key's field of c to the value of a setting.
func (k *Key) set(c *Config, s *Setting) error {
	err := k.form.parse(s.Values)
	if err != nil {
		return &KeyError{Key: k.Name, Err: err}
	}
	if err = k.form.set(k.field(c), s.Values); err == nil {
		return nil
	}
	e := &KeyError{Key: k.Name, Value: one(s.Values), Err: err}
	var item *itemError
	a, isAmount := k.form.(amount)
	switch {
	case errors.As(err, &item):
		e.Value, e.Err = strconv.Quote(item.item), item.err
	case a.bare:
		e.Value = ""
	case isAmount:
		n, _ := a.read(e.Value) // cannot fail: the form was checked
		e.Value = a.write(n)
	case k.Kind() == Text:
		e.Value = strconv.Quote(WithoutSecrets(e.Value))
	}
	return e
}

// itemError is an error about an item of a list.
type itemError struct {
	item string
	err  error
}

// Error returns the item and the error.
func (e *itemError) Error() string { return fmt.Sprintf("%q: %v", e.item, e.err) }

// Normal returns a value in normalized form: "1m" for "60s". An invalid value is returned unchanged.
func (k *Key) Normal(values []string) []string {
	var c Config
	if k.Field == "" || k.set(&c, &Setting{Name: k.Name, Values: values}) != nil {
		return values
	}
	return k.form.text(k.field(&c))
}

// didYouMean returns a hint with the key most similar to a name.
func didYouMean(name string, more ...string) string {
	names := more
	for _, k := range keys {
		names = append(names, k.Name)
	}
	for _, s := range shorthands {
		names = append(names, s.Name)
	}
	return suggest(name, names)
}
