package main

import (
	"strconv"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// The flags that commands share, in groups as the help shows them. Names of flags are the keys of
// the job file, too.

// identityFlags say who crawls.
type identityFlags struct {
	Config  string `placeholder:"FILE" help:"Job file (YAML): these flags' names as keys."`
	Agent   string `placeholder:"NAME/VERSION" default:"${agent}" help:"Who crawls: the User-Agent, and the name robots.txt is read for (${default})."`
	Contact string `placeholder:"URL|MAIL" help:"Where site owners reach you. Required unless every seed is on loopback."`
}

// scopeFlags say which URLs belong to a crawl.
type scopeFlags struct {
	Scope          string         `enum:"host,domain,prefix,any" default:"host" placeholder:"KIND" help:"How far from the seeds: host, domain, prefix or any (${default})."`
	Include        patterns       `placeholder:"RE" help:"Take in links that match; rules are ordered, the last match wins. When the first is an include, other links are left out; seeds are not."`
	Exclude        patterns       `placeholder:"RE" help:"Leave out URLs that match, seeds too."`
	Rules          patterns       `hidden:"" placeholder:"RULE" help:"include RE or exclude RE, in their order; weaker than --include and --exclude."`
	Canonical      weburl.Profile `hidden:"" default:"safe" help:"Which spellings of a URL are one page: exact, safe or usual."`
	FollowNofollow bool           `help:"Follow links marked rel=nofollow, too."`
	Feeds          bool           `help:"What feeds list, too: RSS, Atom, JSON Feed."`
	Resources      bool           `help:"Images, style sheets, scripts and the like, too."`
	AllowAddress   prefixes       `placeholder:"CIDR,..." help:"Private or special address ranges that may be requested. Seeds need none, unless their names have other addresses later."`
}

// paceFlags say how politely.
type paceFlags struct {
	Delay       duration `short:"w" default:"${delay}" placeholder:"D" help:"Least time from the end of one request to a host to the start of the next (${default}). A site can lengthen it, never shorten it."`
	DelayFactor number   `default:"${delay_factor}" placeholder:"F" help:"Wait at least F times the last response time (${default})."`
	MaxDelay    duration `default:"${max_delay}" placeholder:"D" help:"Cap of what --delay-factor adds (${default})."`
	PerHost     int      `default:"1" placeholder:"N" help:"Requests in flight per host; more only for --own-hosts (${default})."`
	OwnHosts    string   `placeholder:"FILE" help:"Hosts you own, one a line: the only ones that --per-host and a --delay below 100ms apply to."`
	Rate        number   `default:"none" placeholder:"R" help:"Requests per second in all (${default})."`

	Hours words `placeholder:"HH:MM-HH:MM,..." help:"Parts of the day, in UTC, in which requests are made (all day)."`

	PerDomain       bool           `hidden:"" help:"Hosts of one registrable domain share one clock, as hosts on one address do."`
	MaxCrawlDelay   duration       `hidden:"" default:"${max_crawl_delay}" help:"Longest Crawl-delay obeyed; a host that asks for more is given up."`
	MaxRetryAfter   duration       `hidden:"" default:"${max_retry_after}" help:"Longest Retry-After obeyed; a host that asks for more is given up."`
	MaxBackoff      duration       `hidden:"" default:"${max_backoff}" help:"Longest pause after failures."`
	MaxFailures     count          `hidden:"" default:"${max_failures}" help:"Failures of a host, with no good answer between, after which it is given up."`
	MaxSilence      duration       `hidden:"" default:"${max_silence}" help:"Time without one success after which a host is given up."`
	RobotsGiveUp    duration       `hidden:"" default:"${robots_give_up}" help:"How long an unreachable robots.txt is tried again before its host is given up. With none, a crawl also waits when no host has ever answered."`
	ForbiddenDenies bool           `hidden:"" help:"Read 401 and 403 for robots.txt as a refusal of everything."`
	Dialect         robots.Dialect `hidden:"" default:"${dialect}" help:"How robots.txt is read: rfc9309, original1994, draft1997, revisited1996 or strictest."`
	Revisited       bool           `hidden:"" name:"revisited-directives" help:"Read META robots as the 1996 workshop wrote it down."`
	RefuseUsage     words          `hidden:"" help:"Uses, such as train-ai: pages whose robots.txt disallows one of them are refused."`
	VisitTime       bool           `hidden:"" help:"Ask hosts only in the hours that their robots.txt names (Visit-time)."`
	OptOut          string         `hidden:"" help:"File of host names that are not to be asked at all, one a line; names below them are meant, too."`
}

// limitFlags say how much.
type limitFlags struct {
	Concurrency int      `short:"c" default:"${concurrency}" placeholder:"N" help:"Requests in flight in all (${default})."`
	MaxPages    count    `default:"${max_pages}" placeholder:"N" help:"Pages fetched, exactly (${default})."`
	MaxBytes    size     `default:"none" placeholder:"SIZE" help:"Octets received (${default})."`
	MaxTime     duration `default:"none" placeholder:"D" help:"Time until the last request starts (${default})."`
	MaxPerHost  count    `default:"none" placeholder:"N" help:"Pages fetched per host (${default})."`
	MaxBody     size     `default:"${max_body}" placeholder:"SIZE" help:"Octets of one body, decoded; longer ones are cut and flagged (${default})."`
	MaxErrors   count    `default:"none" placeholder:"N" help:"Failed URLs that end the crawl, with exit code 4 (${default})."`
	Retries     count    `default:"${retries}" placeholder:"N" help:"Attempts after the first (${default})."`

	RetryPause       duration `hidden:"" default:"1s" help:"Pause before the first retry; it doubles with each."`
	MaxURL           int      `name:"max-url" hidden:"" default:"${max_url}" help:"Octets of a URL that is queued."`
	MaxLinks         int      `hidden:"" default:"${max_links}" help:"Links of one page that are read."`
	MaxQueries       count    `hidden:"" default:"${max_queries}" help:"Query variants of one path; more are a trap."`
	MaxPerDir        count    `hidden:"" default:"${max_per_dir}" help:"URLs of one directory; more are a trap."`
	MaxSessions      count    `hidden:"" default:"${max_sessions}" help:"Variants of one URL that differ in a session identifier; more are a trap."`
	MaxSoft          count    `hidden:"" default:"${max_soft}" help:"URLs of a host that answer 200 with the same page, after which further ones are duplicates."`
	MaxSame          count    `hidden:"" default:"none" help:"URLs with the same body, after which further ones are duplicates."`
	NearBits         int      `hidden:"" default:"0" help:"Name pages that are nearly the same: bits in which their hashes may differ, 1 to 3."`
	MaxRedirects     int      `hidden:"" default:"${max_redirects}" help:"Redirects of one chain."`
	DNSTimeout       duration `name:"dns-timeout" hidden:"" default:"${dns_timeout}" help:"One look-up of a name."`
	ConnectTimeout   duration `hidden:"" default:"${connect_timeout}" help:"Connecting."`
	TLSTimeout       duration `name:"tls-timeout" hidden:"" default:"${tls_timeout}" help:"The TLS handshake."`
	FirstByteTimeout duration `hidden:"" default:"${first_byte_timeout}" help:"From the request to the first byte of the answer."`
	IdleTimeout      duration `hidden:"" default:"${idle_timeout}" help:"Silence between two bytes of an answer."`
	FetchTimeout     duration `hidden:"" default:"${fetch_timeout}" help:"One request, from connecting to the last byte."`
	MaxHeader        size     `hidden:"" default:"${max_header}" help:"Octets of an answer's header."`
	MaxHeaderFields  int      `hidden:"" default:"${max_header_fields}" help:"Fields of an answer's header."`
	MaxEncodings     int      `hidden:"" default:"${max_encodings}" help:"Layers of Content-Encoding that are undone."`
	MaxRatio         count    `hidden:"" default:"none" help:"Octets that one octet on the wire may become, after the first MiB."`
	MinRate          size     `hidden:"" default:"none" help:"Octets a second that a body must bring at least."`
	MaxRobots        size     `hidden:"" default:"${max_robots}" help:"Octets of a robots.txt."`
	MaxSitemap       size     `hidden:"" default:"${max_sitemap}" help:"Octets of a sitemap."`
}

// outputFlags are shared by the commands that crawl.
type outputFlags struct {
	JSON      bool   `help:"Print the summary as JSON: to stdout where that is free, else to stderr."`
	Quiet     bool   `short:"q" help:"No status, no log, no summary unless --json asks for it."`
	Verbose   bool   `short:"v" help:"Log every request and wait."`
	LogFormat string `enum:"text,json" default:"text" placeholder:"FORM" help:"Form of log lines: text or json (${default})."`
	Color     string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour on stderr: auto, always or never (${default})."`
}

// defaults are the libraries' own, for the help and --print-config.
func defaults() map[string]string {
	durations := map[string]duration{
		"delay":              duration(politeness.DefaultDelay),
		"max_delay":          duration(politeness.DefaultMaxDelay),
		"max_crawl_delay":    duration(politeness.DefaultMaxCrawlDelay),
		"max_retry_after":    duration(politeness.DefaultMaxRetryAfter),
		"max_backoff":        duration(politeness.DefaultMaxBackoff),
		"max_silence":        duration(politeness.DefaultMaxSilence),
		"robots_give_up":     duration(politeness.DefaultRobotsGiveUp),
		"dns_timeout":        duration(fetcher.DefaultDNSTimeout),
		"connect_timeout":    duration(fetcher.DefaultConnectTimeout),
		"tls_timeout":        duration(fetcher.DefaultTLSTimeout),
		"first_byte_timeout": duration(fetcher.DefaultFirstByteTimeout),
		"idle_timeout":       duration(fetcher.DefaultIdleTimeout),
		"fetch_timeout":      duration(fetcher.DefaultFetchTimeout),
	}
	sizes := map[string]size{
		"max_body": fetcher.DefaultMaxBody, "max_header": fetcher.DefaultMaxHeader,
		"max_robots": fetcher.DefaultMaxRobots, "max_sitemap": fetcher.DefaultMaxSitemap,
	}
	numbers := map[string]int{
		"depth": crawler.DefaultMaxDepth, "concurrency": crawler.DefaultConcurrency,
		"max_pages": crawler.DefaultMaxPages, "retries": crawler.DefaultRetries, "max_url": crawler.DefaultMaxURL,
		"max_links": crawler.DefaultMaxLinks, "max_redirects": crawler.DefaultRedirects,
		"max_failures": politeness.DefaultMaxFailures, "max_queries": crawler.DefaultMaxQueries, "max_per_dir": crawler.DefaultMaxPerDir,
		"max_header_fields": fetcher.DefaultMaxHeaderFields, "max_encodings": fetcher.DefaultMaxEncodings,
		"max_sessions": crawler.DefaultMaxSessions, "max_soft": crawler.DefaultMaxSoft,
	}
	vars := map[string]string{
		"agent": crawler.DefaultAgent, "dialect": robots.RFC9309.String(),
		"delay_factor": strconv.FormatFloat(politeness.DefaultDelayFactor, 'f', -1, 64),
	}
	for k, d := range durations {
		vars[k] = d.String()
	}
	for k, z := range sizes {
		b, _ := z.MarshalText() // never fails
		vars[k] = string(b)
	}
	for k, n := range numbers {
		vars[k] = strconv.Itoa(n)
	}
	return vars
}
