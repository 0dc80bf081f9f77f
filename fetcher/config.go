package fetcher

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Defaults of [Config].
const (
	DefaultDNSTimeout       = 5 * time.Second
	DefaultConnectTimeout   = 10 * time.Second
	DefaultTLSTimeout       = 10 * time.Second
	DefaultFirstByteTimeout = 20 * time.Second
	DefaultIdleTimeout      = 15 * time.Second
	DefaultFetchTimeout     = 30 * time.Second

	DefaultMaxHeader        = 256 << 10
	DefaultMaxHeaderFields  = 500
	defaultMaxInformational = 20
	DefaultMaxBody          = 10 << 20
	DefaultMaxRobots        = 512_000
	DefaultMaxSitemap       = 50 << 20
	defaultMaxResource      = 5 << 20
	defaultWireSlack        = 1 << 20
	DefaultMaxEncodings     = 2
	defaultUnwantedLimit    = 64 << 10
	defaultMaxWindow        = 8 << 20

	defaultDNSCacheSize   = 1 << 16
	defaultDNSTTL         = 5 * time.Minute
	defaultDNSNegativeTTL = 30 * time.Second

	DefaultMaxIdle         = 2048 // connections of about 32 KB each
	defaultIdleConnTimeout = 90 * time.Second

	defaultAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
)

// Resolver looks up the addresses of a host name. *[net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// UseNetwork replaces the network: dial makes connections (DialContext), names looks up host names (Resolver), and roots verifies
// certificates (RootCAs). crawltest.Web.Apply calls it.
func (c *Config) UseNetwork(
	dial func(ctx context.Context, network, addr string) (net.Conn, error),
	names interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	},
	roots *x509.CertPool,
) {
	c.DialContext, c.Resolver, c.RootCAs = dial, names, roots
}

// Config configures a [Fetcher]. The zero value is safe: a field that is zero has its default. Limits can be changed, but not switched
// off.
type Config struct {
	// Time limits, with the reason codes of errors. Each limits one phase; FetchTimeout limits the whole fetch. Time spent in the DNS
	// belongs to Resolve and is not part of a fetch.
	DNSTimeout       time.Duration // one look-up; "dns_timeout"
	ConnectTimeout   time.Duration // a TCP connection, and a proxy's response; "connect_timeout"
	TLSTimeout       time.Duration // the handshake; "tls_timeout"
	FirstByteTimeout time.Duration // limit from the request to the first byte of the response; "header_timeout"
	IdleTimeout      time.Duration // between two bytes of a response; "idle_timeout"
	FetchTimeout     time.Duration // the whole fetch; "fetch_timeout"
	// MinRate is the minimum number of bytes per second at which a body must arrive, measured over each five seconds; the reason
	// code is "slow". 0: no limit.
	MinRate int64

	// Limits of sizes, in bytes unless stated otherwise.
	MaxHeader        int // header section of a response, including informational responses
	MaxHeaderFields  int // number of fields of the header section
	MaxInformational int // responses with status 1xx before the final one. 0: 20
	MaxBody          int // body of a page after decoding
	MaxRobots        int // body of a robots.txt after decoding (RFC 9309 section 2.5: at least 500 KiB)
	MaxSitemap       int // body of a sitemap after decoding
	MaxResource      int // body of a resource that a page needs to be rendered, after decoding; at most MaxBody. 0: 5 MiB
	WireSlack        int // bytes that a response may take on the wire beyond the body's limit, including framing. 0: 1 MiB
	MaxEncodings     int // layers of Content-Encoding that are decoded
	UnwantedLimit    int // bytes read of a body whose type Wanted rejects. 0: 64 KiB
	MaxWindow        int // zstd window. 0: 8 MiB, which RFC 9659 section 3 allows in HTTP
	// MaxRatio is the maximum number of bytes to which one byte on the wire may decode, beyond the first 1 MiB; the reason code is
	// "ratio". 0: only MaxBody applies.
	MaxRatio int
	// Wanted reports whether a page's body of this media type is needed. Of a body that it rejects, only UnwantedLimit bytes are read,
	// and the connection is closed. It is called from many goroutines. It is not called for resources of rendered pages. nil: everything
	// is wanted.
	Wanted func(contentType string) bool
	// Reserve is called before n further bytes of memory are allocated for a body, beyond its first 64 KiB, with the context of its
	// Fetch. It may wait until memory is available: time limits are suspended until it returns. If it returns an error, the fetch ends
	// with ReasonCanceled. nil: memory is always available.
	Reserve func(ctx context.Context, n int) error

	// Names and addresses.
	Resolver       Resolver      // nil: net.DefaultResolver
	DNSCacheSize   int           // maximum number of names. 0: 65,536
	DNSTTL         time.Duration // lifetime of addresses in the cache. 0: 5 minutes
	DNSNegativeTTL time.Duration // lifetime of failed look-ups in the cache. 0: 30 seconds
	// AllowAddresses are ranges that are exempt from the address guard.
	AllowAddresses []netip.Prefix
	// AllowPorts are exempt from the port check. Browsers make no HTTP requests to the ports of the Fetch Standard (section "Port
	// blocking"), such as 22, 25 and 6000, because other services are expected there. The Fetcher makes none either. The check applies to
	// all URLs, including seeds, but not to the proxy's own port.
	AllowPorts []uint16
	// Listeners are addresses at which this process itself serves pages that must not be crawled, such as those that show the crawl. The
	// Fetcher never connects to them, whatever the other fields allow: neither for a link nor for a name that resolves to them nor for a
	// seed. An unspecified address stands for all addresses of this machine.
	Listeners []netip.AddrPort
	// AllowHosts reports whether the operator named a host, such as a seed. Such a host may have an address that the guard rejects. An IP
	// literal is exempt. If the guard rejects all addresses of a name's first look-up, the name is pinned to these addresses, and exempt
	// only for them. A name that is public at first is never exempt. If a look-up returns any public addresses, only those are used. The
	// Fetcher remembers one look-up for each name that is allowed here. AllowHosts is called from many goroutines. nil: no host is
	// exempt.
	AllowHosts func(hostname string) bool
	// Pin keeps the first look-ups of the names of AllowHosts beyond the life of the Fetcher, so that a later look-up cannot pin other
	// addresses. It is called after this Fetcher's first look-up of a name, with the addresses to pin (none if one was public). It
	// returns the addresses to which the name is pinned: those of the first call for the name, by whatever Fetcher. If it returns an
	// error, the fetch fails with ReasonPin. It is called from many goroutines, but never concurrently for the same name. nil: pins end
	// with the Fetcher.
	Pin func(ctx context.Context, hostname string, private []netip.Addr) ([]netip.Addr, error)

	// Connections.
	DialContext     func(ctx context.Context, network, addr string) (net.Conn, error) // nil: system's TCP; addr is ip:port, or the proxy's host:port
	LocalAddr       netip.Addr                                                        // local address to use; host names then resolve to its family only
	Proxy           *url.URL                                                          // http, https or socks5; see the package comment
	RootCAs         *x509.CertPool                                                    // nil: the system's
	InsecureHosts   []string                                                          // host names whose certificates are not verified
	DisableHTTP2    bool
	MaxIdle         int           // connections kept open for later requests, to all hosts together
	IdleConnTimeout time.Duration // time after which idle connections are closed. 0: 90 seconds

	// Header fields of a request besides Host, User-Agent and Accept-Encoding. [CheckField] says which names are reserved. If several of
	// these settings have a field, the last of this order applies: Accept and AcceptLanguage, Header, Headers, Request.
	Accept         string      // "": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	AcceptLanguage string      // such as "de, en;q=0.8" (RFC 9110 section 12.5.4). "": not sent
	Header         http.Header // sent to every site: must not contain secrets
	// Headers are sent only to the origin for which they are set: a redirect or a link to another origin is requested without them.
	// Requests for the origin's robots.txt and sitemaps have them, too, so that the rules are those for the logged-in crawler:
	// without them, a site that requires a login responds with 401, which means that there are no rules (RFC 9309 section 2.3.1.3).
	// Archives mask the values, and no other output contains them.
	Headers Headers
	// Request returns further fields for one request. It is called for every request, including those for a robots.txt and for the target
	// of a redirect, with the requested URL and the context of its fetch. Its fields are treated like those of Headers. If it returns an
	// error, nothing is sent and the request fails with ReasonHeader; it is tried again later if the error has a method Temporary() bool
	// that returns true. Request is called from many goroutines. nil: no further fields.
	Request func(ctx context.Context, u weburl.URL) (http.Header, error)
	// Cookies makes the Fetcher keep cookies, within the limits of this package, and return each only to the origin that set it. It
	// is off by default.
	Cookies bool
	// Jar holds the cookies. With a Jar, several Fetchers can share cookies, or a process can continue with those of an earlier process.
	// Setting it turns cookies on. nil: with Cookies, the Fetcher makes a Jar for itself.
	Jar *Jar
	// Signer signs requests; identity.Requests is one. nil: no request is signed.
	Signer Signer

	// Record stores the bytes sent and received in Page.Raw. Requests are then made by HTTP/1.1 only, because an HTTP/2 message has
	// no text form to store.
	Record bool
}

// Signer signs requests (RFC 9421) so that sites can tell who makes them. It is called by many goroutines at once.
type Signer interface {
	// Sign may add fields to the header of a GET request that is about to be sent. keyID names the key; it is "" if the request is not
	// signed. answered may be nil. Otherwise it is called with the response, if there is one, and reports whether the response requests a
	// signature, so that the URL must be requested again: see Page.Challenged.
	Sign(u weburl.URL, h http.Header) (keyID string, answered func(status int, h http.Header) (again bool))
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (c Config) withDefaults() Config {
	c.DNSTimeout = or(c.DNSTimeout, DefaultDNSTimeout)
	c.ConnectTimeout = or(c.ConnectTimeout, DefaultConnectTimeout)
	c.TLSTimeout = or(c.TLSTimeout, DefaultTLSTimeout)
	c.FirstByteTimeout = or(c.FirstByteTimeout, DefaultFirstByteTimeout)
	c.IdleTimeout = or(c.IdleTimeout, DefaultIdleTimeout)
	c.FetchTimeout = or(c.FetchTimeout, DefaultFetchTimeout)
	c.MaxHeader = or(c.MaxHeader, DefaultMaxHeader)
	c.MaxHeaderFields = or(c.MaxHeaderFields, DefaultMaxHeaderFields)
	c.MaxInformational = or(c.MaxInformational, defaultMaxInformational)
	c.MaxBody = or(c.MaxBody, DefaultMaxBody)
	c.MaxRobots = or(c.MaxRobots, DefaultMaxRobots)
	c.MaxSitemap = or(c.MaxSitemap, DefaultMaxSitemap)
	c.MaxResource = or(c.MaxResource, defaultMaxResource)
	c.WireSlack = or(c.WireSlack, defaultWireSlack)
	c.MaxEncodings = or(c.MaxEncodings, DefaultMaxEncodings)
	c.UnwantedLimit = or(c.UnwantedLimit, defaultUnwantedLimit)
	c.MaxWindow = or(c.MaxWindow, defaultMaxWindow)
	c.DNSCacheSize = or(c.DNSCacheSize, defaultDNSCacheSize)
	c.DNSTTL = or(c.DNSTTL, defaultDNSTTL)
	c.DNSNegativeTTL = or(c.DNSNegativeTTL, defaultDNSNegativeTTL)
	c.MaxIdle = or(c.MaxIdle, DefaultMaxIdle)
	c.IdleConnTimeout = or(c.IdleConnTimeout, defaultIdleConnTimeout)
	c.Accept = or(c.Accept, defaultAccept)
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

// maxTerms is the maximum size of a document about the uses that a site allows. It equals consent.MaxDocument.
const maxTerms = 1 << 20

// limit returns the maximum size of a decoded body for this purpose.
func (c *Config) limit(p politeness.Purpose) int {
	switch p {
	case politeness.Robots:
		return c.MaxRobots
	case politeness.Sitemap:
		return c.MaxSitemap
	case politeness.Terms:
		return maxTerms
	case politeness.Resource:
		return min(c.MaxBody, c.MaxResource)
	}
	return c.MaxBody
}

// Validate returns all errors in c, joined, or nil if New would accept it.
func (c Config) Validate() error {
	return errors.Join(c.checkLimits(), c.checkHeader(), c.checkHeaders(), c.checkProxy())
}

func (c *Config) checkLimits() error {
	var errs []error
	refuse := func(name string, bad bool) {
		if bad {
			errs = append(errs, fmt.Errorf("fetcher: %s is out of range", name))
		}
	}
	for name, d := range map[string]time.Duration{
		"DNSTimeout": c.DNSTimeout, "ConnectTimeout": c.ConnectTimeout, "TLSTimeout": c.TLSTimeout,
		"FirstByteTimeout": c.FirstByteTimeout, "IdleTimeout": c.IdleTimeout, "FetchTimeout": c.FetchTimeout,
		"DNSTTL": c.DNSTTL, "DNSNegativeTTL": c.DNSNegativeTTL, "IdleConnTimeout": c.IdleConnTimeout,
	} {
		refuse(name, d < 0)
	}
	for name, n := range map[string]int{
		"MaxHeader": c.MaxHeader, "MaxHeaderFields": c.MaxHeaderFields, "MaxInformational": c.MaxInformational,
		"MaxBody": c.MaxBody, "MaxRobots": c.MaxRobots, "MaxSitemap": c.MaxSitemap, "MaxResource": c.MaxResource, "WireSlack": c.WireSlack,
		"MaxEncodings": c.MaxEncodings, "UnwantedLimit": c.UnwantedLimit, "MaxWindow": c.MaxWindow,
		"MaxRatio": c.MaxRatio, "DNSCacheSize": c.DNSCacheSize, "MaxIdle": c.MaxIdle,
	} {
		refuse(name, n < 0 || n > 1<<40)
	}
	refuse("MinRate", c.MinRate < 0)
	refuse("MaxWindow", c.MaxWindow != 0 && c.MaxWindow < minWindow)
	return errors.Join(errs...)
}

func (c *Config) checkProxy() error {
	if c.Proxy == nil {
		return nil
	}
	switch c.Proxy.Scheme {
	case "http", "https", "socks5":
	default:
		return fmt.Errorf("fetcher: Proxy: unknown scheme %q; use http, https or socks5", c.Proxy.Scheme)
	}
	if c.Proxy.Hostname() == "" {
		return errors.New("fetcher: Proxy: no host")
	}
	if port := c.Proxy.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("fetcher: Proxy: port %s: must be 1 to 65535", port)
		}
	}
	return nil
}
