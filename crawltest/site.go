package crawltest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Site is one origin of a Web: scheme, host and port. Its methods return the Site, so that calls can be chained. They may be called while
// the site is being served.
type Site struct {
	web    *Web
	name   *name
	origin string // scheme://host[:port]
	scheme string
	host   string // without port
	key    string // host:port
	port   uint16

	// guarded by web.mu
	latency time.Duration
	clock   time.Duration      // the site's clock minus the true time
	pages   map[string][]*Page // versions of each page, keyed by canonical path and query
	trees   map[string]*Page   // handlers of whole subtrees, keyed by prefix
	faults  []*Fault
	forbid  []string
	delay   time.Duration
	delays  map[string]time.Duration // keyed by product token in lower case
}

// Site adds a site, or returns the existing one. host is "a.example", "a.example:8080" or an origin such as "https://a.example"; without
// a scheme it is http. All sites of a name have the same address, which is assigned immediately and can be changed by [Site.Address].
//
// A site without a robots.txt answers 404 for it, which allows everything (RFC 9309 section 2.3.1.3).
func (w *Web) Site(host string) *Site {
	w.tb.Helper()
	raw := host
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := weburl.Parse(raw)
	if err != nil || u.PathQuery() != "/" {
		w.fatal("site %q is neither a host nor an origin", host)
	}
	return w.site(u)
}

// site returns the Site of u's origin and creates it if necessary.
func (w *Web) site(u weburl.URL) *Site {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.origins[u.Origin()]; s != nil {
		return s
	}
	s := &Site{
		web: w, origin: u.Origin(), scheme: u.Scheme(), host: u.Hostname(), key: u.Host(), port: portOf(u),
		pages: make(map[string][]*Page), trees: make(map[string]*Page), delays: make(map[string]time.Duration),
	}
	s.name = w.names[s.host]
	if s.name == nil {
		s.name = &name{addrs: []netip.Addr{w.assign(s.host)}}
		w.names[s.host] = s.name
	}
	s.name.sites = append(s.name.sites, s)
	w.sites = append(w.sites, s)
	w.origins[s.origin] = s
	return s
}

// assign returns the address of a new name. The caller holds w.mu.
func (w *Web) assign(host string) netip.Addr {
	if a, err := netip.ParseAddr(host); err == nil {
		return a
	}
	a := w.pool.next()
	if !a.IsValid() {
		w.fatal("no address left for %s: give more with Addresses", host)
	}
	return a
}

func portOf(u weburl.URL) uint16 {
	var n uint16
	for _, d := range u.Port() {
		n = n*10 + uint16(d-'0')
	}
	return n
}

// set applies f under the Web's lock.
func (s *Site) set(f func()) *Site {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	f()
	return s
}

// Address gives the site's name other addresses. Several names may have the same address; as on real servers, the
// Host header distinguishes them.
func (s *Site) Address(addrs ...string) *Site {
	parsed := make([]netip.Addr, 0, len(addrs))
	for _, raw := range addrs {
		a, err := netip.ParseAddr(raw)
		if err != nil {
			s.web.fatal("%s: address %q: %v", s.origin, raw, err)
		}
		parsed = append(parsed, a.Unmap())
	}
	return s.set(func() { s.name.addrs = parsed })
}

// Addr returns the site's first address.
func (s *Site) Addr() netip.Addr {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	if len(s.name.addrs) == 0 {
		return netip.Addr{}
	}
	return s.name.addrs[0]
}

// Host returns the site's host:port, always with the port: the key for pacing requests.
func (s *Site) Host() string { return s.key }

// URL returns the absolute URL of a path of the site.
func (s *Site) URL(path string) string { return s.origin + path }

// Latency sets the time until every response of the site begins; a page's latency is added to it.
func (s *Site) Latency(d time.Duration) *Site { return s.set(func() { s.latency = d }) }

// Clock sets the site's clock ahead of the true time, or behind if ahead is negative. It affects the Date of every answer, and a
// Retry-After that is a date.
func (s *Site) Clock(ahead time.Duration) *Site { return s.set(func() { s.clock = ahead }) }

// Fault makes the site fail, for every request or for those to which the Fault is limited. The first applicable fault is used; faults of
// a page come before those of its site.
func (s *Site) Fault(f Fault) *Site {
	f.hits = 0
	return s.set(func() { s.faults = append(s.faults, &f) })
}

// Forbid states that the site's robots.txt forbids these paths to every polite crawler, in all its versions. A path
// may have a query; one that ends in "*" means all paths with that prefix.
func (s *Site) Forbid(paths ...string) *Site {
	canon := s.canonAll(paths)
	return s.set(func() { s.forbid = append(s.forbid, canon...) })
}

func (s *Site) canonAll(paths []string) []string {
	canon := make([]string, len(paths))
	for i, p := range paths {
		canon[i] = s.canon(p)
	}
	return canon
}

// CrawlDelay states that the site's robots.txt asks every crawler for this delay.
func (s *Site) CrawlDelay(d time.Duration) *Site { return s.set(func() { s.delay = d }) }

// CrawlDelayFor states the delay for one product token. It takes precedence over the delay of CrawlDelay.
func (s *Site) CrawlDelayFor(agent string, d time.Duration) *Site {
	return s.set(func() { s.delays[strings.ToLower(agent)] = d })
}

// Page adds a page, of type text/html and status 200 unless changed by the methods of Page. path includes the query, if there is one.
// Spellings that differ only in escapes (RFC 3986 section 6.2.2) are one page. Adding a path again replaces the page, unless [Page.At]
// makes it a later version.
func (s *Site) Page(path, body string) *Page {
	p := &Page{site: s, status: http.StatusOK, typ: "text/html; charset=utf-8", body: body}
	return s.add(path, p)
}

// Handle adds a handler for one path or, if path ends in "*", for all paths with that prefix that have no page, except /robots.txt. A
// handler for a path without a query also serves the path with any query.
func (s *Site) Handle(path string, h http.Handler) *Page {
	p := &Page{site: s, handler: h}
	prefix, tree := strings.CutSuffix(path, "*")
	if !tree {
		return s.add(path, p)
	}
	prefix = s.canon(prefix)
	s.set(func() { s.trees[prefix] = p })
	return p
}

// Redirect adds a redirect, of status 302 unless [Page.Status] sets another one. to is the literal Location: absolute or relative,
// well-formed or not.
func (s *Site) Redirect(path, to string) *Page {
	return s.Page(path, "").Status(http.StatusFound).Location(to)
}

// RedirectChain adds n redirects: path, path+"-1", path+"-2" …; the last of them leads to to.
func (s *Site) RedirectChain(path string, n int, to string) *Site {
	at := path
	for i := 1; i < n; i++ {
		next := path + "-" + itoa(i)
		s.Redirect(at, next)
		at = next
	}
	s.Redirect(at, to)
	return s
}

// Robots adds a robots.txt: text/plain, status 200. Several with different [Page.At] are its versions over time.
// State the meaning of the text with [Page.Forbids], [Page.Delays], [Site.Forbid] or [Site.CrawlDelay].
func (s *Site) Robots(body string) *Page {
	return s.Page(robotsPath, body).Type("text/plain; charset=utf-8")
}

// RobotsStatus adds a robots.txt that consists of a status only.
func (s *Site) RobotsStatus(code int) *Page { return s.Robots("").Status(code) }

func (s *Site) add(path string, p *Page) *Page {
	path = s.canon(path)
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.pages[path] = append(s.pages[path], p)
	return p
}

// canon checks a path and returns its canonical spelling.
func (s *Site) canon(path string) string {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "#") {
		s.web.fatal("%s: path %q must begin with a slash and have no fragment", s.origin, path)
	}
	return canonPath(path)
}

// canonPath decodes escapes of unreserved characters and writes the others in upper case (RFC 3986 sections 6.2.2.1
// and 6.2.2.2).
func canonPath(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
			b = append(b, path[i])
			continue
		}
		if v := unhex(path[i+1])<<4 | unhex(path[i+2]); isUnreserved(v) {
			b = append(b, v)
		} else {
			b = append(b, strings.ToUpper(path[i:i+3])...)
		}
		i += 2
	}
	return string(b)
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// find returns the page for a path at a time: the path's own page, its handler without a query, or the handler of the longest prefix. The
// caller must hold web.mu.
func (s *Site) find(path string, since time.Duration) *Page {
	path = canonPath(path)
	if p := version(s.pages[path], since); p != nil {
		return p
	}
	bare, _, _ := strings.Cut(path, "?")
	if p := version(s.pages[bare], since); p != nil && p.handler != nil {
		return p
	}
	if bare == robotsPath {
		return nil
	}
	var best string
	for prefix := range s.trees {
		if strings.HasPrefix(path, prefix) && len(prefix) >= len(best) {
			best = prefix
		}
	}
	return s.trees[best]
}

// version returns the latest version that is served already.
func version(versions []*Page, since time.Duration) *Page {
	var now *Page
	for _, p := range versions {
		if p.at <= since && (now == nil || p.at >= now.at) {
			now = p
		}
	}
	return now
}

// forbids reports whether a version of robots.txt forbids a path. The caller holds web.mu.
func (s *Site) forbids(path string, robots *Page) bool {
	path = canonPath(path)
	if path == robotsPath {
		return false
	}
	if slices.ContainsFunc(s.pages[path], func(p *Page) bool { return p.forbidden }) {
		return true
	}
	if p := s.find(path, time.Since(s.web.start)); p != nil && p.forbidden {
		return true
	}
	match := func(rule string) bool { return ruleMatches(rule, path) }
	return slices.ContainsFunc(s.forbid, match) || robots != nil && slices.ContainsFunc(robots.forbids, match)
}

func ruleMatches(rule, path string) bool {
	if prefix, tree := strings.CutSuffix(rule, "*"); tree {
		return strings.HasPrefix(path, prefix)
	}
	return rule == path
}

// crawlDelay returns the delay for an agent in a version of robots.txt. The caller holds web.mu.
func (s *Site) crawlDelay(agent string, robots *Page) time.Duration {
	if d, own := s.delays[strings.ToLower(agent)]; own {
		return d
	}
	if robots != nil && robots.delay > 0 {
		return robots.delay
	}
	return s.delay
}

// robots returns the version of robots.txt that is served at a time, or nil. The caller holds web.mu.
func (s *Site) robots(since time.Duration) *Page { return version(s.pages[robotsPath], since) }
