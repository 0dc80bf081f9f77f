package crawler

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
	"github.com/amble-crawler/amble/weburl"
)

// Fetcher gets pages. A fetcher.Fetcher is one; a replacement gets only URLs with Permits, so it makes no request that the gate does not
// permit, provided that it meets these conditions:
//
//	C1 Fetch redeems its Permit before anything else, and returns the error when that fails.
//	C2 It requests the Grant's URL at the Grant's address, with the Grant's User-Agent, by one GET. It
//	   follows no redirect, repeats nothing, and contacts nobody else. For a Permit with the Purpose Login there
//	   may be a method Post, like fetcher.Fetcher's; Fetch refuses it.
//	C3 It calls Grant.Begin once, immediately before the first byte of the request, and sends nothing
//	   when Begin fails.
//	C4 An answer of any status is a Page, with URL, Addr, Permit, Status, Header, ContentType (lower
//	   case, without parameters), Charset, Body (content coding undone) and the times Started, Written,
//	   FirstByte and Ended. A body that is not whole has the reason in Truncated.
//	C5 The lack of an answer is an error: a *fetcher.Error, whose Reason becomes the Visit's, or any other; one
//	   with a method Temporary() bool that returns true is tried again later. The Page is nil then.
//	C6 What a server may send is bounded: header, body and time.
//	C7 Resolve and Fetch return soon after their context has ended, and leave nothing running after
//	   they have returned.
//	C8 Both are called by many goroutines at once.
//
// robots.txt and sitemaps are requested in the same way, as Permits with the Purpose Robots and Sitemap: a
// Fetcher that answers from a disk answers for them, too. A status of 404 for robots.txt means that there
// are no rules.
//
// With Config.Since, the context of Fetch has the validators that fetcher.WithValidators sets, for a request that may be
// conditional. A wrapper embeds the Fetcher that it wraps, and so has its other methods: see Config.AroundFetch.
type Fetcher interface {
	// Resolve returns the address of u's host. It must return the same address as long as that works, because hosts at one address share
	// a clock of the gate. The errors are those of Fetch.
	Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
	// Fetch redeems the Permit and makes the request that it permits.
	Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error)
	// CloseIdle is called when a host (weburl.URL.Host) has no URLs left to request.
	CloseIdle(host string)
}

// reasonOf returns the reason code of a Fetcher's error.
func reasonOf(err error) string { return or(fetcher.ReasonOf(err), ReasonFetcher) }

// Extractor reads a page's links. It is called concurrently, for every response of any status and media type that is not a
// redirect, sitemap or robots.txt, and must take time that is linear in the page's size. It must not keep or change the Page;
// strings of the Document may share the memory of fetcher.Page.Text, and the Document belongs to the crawler until its visit has
// ended.
//
// A nil Document means that the page has no links. An error fails the visit, with [ReasonExtractor]. References in the Document are
// as written: they are resolved, judged by scope and robots.txt and paced like any other link.
type Extractor interface {
	Extract(p *fetcher.Page) (*extract.Document, error)
}

// ExtractType returns a function for [Config.AroundExtract]. It makes read the extractor for one media type, which must be in lower case
// and without parameters. Other types are read as before. The conditions of [Extractor] apply to read.
func ExtractType(mediaType string, read func(p *fetcher.Page) (*extract.Document, error)) func(Extractor) Extractor {
	return func(next Extractor) Extractor { return typeExtractor{mediaType, read, next} }
}

// typeExtractor is an Extractor that calls read for one media type and another Extractor for all other types.
type typeExtractor struct {
	mediaType string
	read      func(p *fetcher.Page) (*extract.Document, error)
	next      Extractor
}

func (x typeExtractor) Extract(p *fetcher.Page) (*extract.Document, error) {
	if p.ContentType == x.mediaType {
		return x.read(p)
	}
	return x.next.Extract(p)
}

// DocumentReader reads the links of documents that are not web pages, such as the document.Links of package article/document. Extract is
// called for responses whose types Reads accepts.
type DocumentReader interface {
	Extractor
	// Reads reports whether documents of a media type are read. The type is in lower case, without parameters.
	Reads(mediaType string) bool
}

// readsDocuments reports whether responses of a media type are documents whose links are read.
func (c *Config) readsDocuments(mediaType string) bool {
	return c.Follow.Documents && c.Documents != nil && c.Documents.Reads(mediaType)
}

// UseNetwork replaces the network of the crawl: see fetcher.Config.UseNetwork. crawltest.Web.Apply uses it to make c a crawl of a
// simulated web.
func (c *Config) UseNetwork(
	dial func(ctx context.Context, network, addr string) (net.Conn, error),
	names interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	},
	roots *x509.CertPool,
) {
	c.Fetch.UseNetwork(dial, names, roots)
}

// processHosts holds the clocks of hosts that all crawls of this process share.
var processHosts = politeness.NewHosts(politeness.HostsLimits{})

// Sharing returns Politeness.Shared if it is set. Otherwise it returns the Sharing of all crawls on the same network: those of this
// process, or those of one crawltest.Web.
func (c *Config) Sharing() politeness.Sharing {
	if c.Politeness.Shared != nil {
		return c.Politeness.Shared
	}
	web, ok := c.Fetch.Resolver.(interface {
		Shared(create func() any) any
	})
	if !ok {
		return processHosts
	}
	hosts, _ := web.Shared(func() any { return politeness.NewHosts(politeness.HostsLimits{}) }).(*politeness.Hosts)
	return hosts
}

// machines holds the state directories that this process has opened, keyed by path.
var machines sync.Map

// ShareMachine makes the crawl take turns with the crawls of all processes that use the same state directory, including this one. ""
// stands for the user's directory: see [machine.Dir]. ShareMachine does nothing if Politeness.Shared is set, or in a crawl of a simulated
// web. Without ShareMachine, a crawl takes turns only with the crawls of its process. Package job calls it for every job. If the
// directory cannot be used, [Crawler.NotShared] returns the reason.
func (c *Config) ShareMachine(dir string) {
	hosts, ok := c.Sharing().(*politeness.Hosts)
	if c.Politeness.Shared != nil || !ok || hosts != processHosts {
		return
	}
	if dir == "" {
		dir, _ = machine.Dir() // if Dir fails, machine.Open reports the error
	}
	if abs, err := filepath.Abs(dir); dir != "" && err == nil {
		dir = abs
	}
	open, _ := machines.LoadOrStore(dir, sync.OnceValue(func() *machine.Hosts { return machine.Open(dir, hosts) }))
	c.Politeness.Shared = open.(func() *machine.Hosts)()
}

// NotShared returns the reason why the crawl does not take turns with the crawls of other processes, although [Config.ShareMachine] was
// called. It returns nil if the crawl takes turns with them, or if ShareMachine was not called.
func (c *Crawler) NotShared() error {
	if m := machine.Of(c.shared); m != nil {
		return m.NotShared()
	}
	return nil
}

// account returns the value of Politeness.Account: a key for everything besides its URL that a robots.txt may depend on. A crawl whose
// header fields come from a function or a jar shares no robots.txt files. A crawl with a custom resolver or dialer shares none either,
// because its host names may lead to other servers.
func (c *Config) account() (func(u weburl.URL) string, error) {
	f := &c.Fetch
	network := f.Resolver != nil || f.DialContext != nil
	if c.Politeness.Shared != nil || c.Sharing() != politeness.Sharing(processHosts) {
		network = false
	}
	if network || c.Fetcher != nil || f.Request != nil || f.Cookies || f.Jar != nil || f.Signer != nil {
		own := rand.Text()
		return func(weburl.URL) string { return own }, nil
	}
	table, err := newHostTable(c.Hosts)
	if err != nil {
		return nil, err
	}
	common := http.Header{}
	put := func(to, more http.Header) {
		for name, values := range more {
			to[http.CanonicalHeaderKey(name)] = values
		}
	}
	for name, value := range map[string]string{"Accept": f.Accept, "Accept-Language": f.AcceptLanguage} {
		if value != "" {
			common[name] = []string{value}
		}
	}
	put(common, f.Header)
	return func(u weburl.URL) string {
		all := http.Header{}
		put(all, common)
		put(all, table.header(u))
		put(all, f.Headers[u.Origin()])
		if len(all) == 0 {
			return ""
		}
		b, _ := json.Marshal(all) // Marshal sorts the keys, and cannot fail here
		return fmt.Sprintf("%x", sha256.Sum256(b))
	}, nil
}

// copyRobots returns the value of Politeness.CopyRobots. It stores a robots.txt that another crawl has requested, as evidence for the
// crawl that uses it.
func (c *Config) copyRobots() func(u weburl.URL, f politeness.RobotsFile) error {
	if c.KeepRobots == nil {
		return nil
	}
	return func(u weburl.URL, f politeness.RobotsFile) error {
		if f.Failures > 0 || f.Body == "" {
			return nil
		}
		if err := c.KeepRobots(&fetcher.Page{URL: u, Status: f.Status, Body: []byte(f.Body), Ended: f.Fetched}); err != nil {
			return fmt.Errorf("crawler: %w: %s: %w", fetcher.ErrKeepRobots, u, err)
		}
		return nil
	}
}
