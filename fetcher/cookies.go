package fetcher

import (
	"container/list"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Limits of the cookie jar.
const (
	maxCookies      = 50       // maximum number of cookies of one origin
	maxCookie       = 4 << 10  // length of name and value
	maxCookieHeader = 16 << 10 // maximum bytes sent with one request
	maxCookieSites  = 10_000   // maximum number of origins; the least recently used origin is forgotten
)

// Jar keeps cookies. Cookies of responses are returned only to the origin that set them: this is stricter than RFC 6265, which
// shares them between hosts of a domain, between ports and between schemes. Cookies of a file ([Jar.Load]) are sent as the file
// says. A Jar is bounded: an origin has at most 50 cookies of 4 KiB, a request at most 16 KiB of them, and of more than 10,000
// origins the least recently used one is forgotten. Its methods are safe for concurrent use.
type Jar struct {
	mu     sync.Mutex
	sites  map[string]*list.Element // elements hold *cookieSite
	recent *list.List

	loaded  map[string][]cookie // keyed by domain: cookies from a file, as changed by responses
	hosts   map[string]bool     // host:port to which loaded cookies may be sent, in addition to default ports
	source  string              // SHA-256 of the file that was loaded last, in hexadecimal
	changes uint64
}

type cookieSite struct {
	origin  string
	cookies []cookie
}

// cookie is a cookie, in memory and as a Jar saves it.
type cookie struct {
	Name    string      `json:"name"`
	Value   cookieValue `json:"value"`
	Path    string      `json:"path"`
	Expires time.Time   `json:"expires,omitzero"` // zero: at the end of the crawl
	Domain  string      `json:"domain,omitempty"` // the Domain attribute; for a loaded cookie, the domain to which it is sent
	Wide    bool        `json:"wide,omitempty"`   // the cookie is for the subdomains of Domain, too
	Secure  bool        `json:"secure,omitempty"` // the cookie is for https only
}

// NewJar returns an empty Jar.
func NewJar() *Jar {
	return &Jar{sites: make(map[string]*list.Element), recent: list.New(), loaded: make(map[string][]cookie), hosts: make(map[string]bool)}
}

// site returns the cookies of an origin, or nil. The caller holds j.mu.
func (j *Jar) site(origin string) *cookieSite {
	if el := j.sites[origin]; el != nil {
		j.recent.MoveToFront(el)
		return el.Value.(*cookieSite)
	}
	return nil
}

// header returns the Cookie field for a request, or "" if there is none.
func (j *Jar) header(origin, path string, now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.site(origin)
	if s == nil && len(j.loaded) == 0 {
		return ""
	}
	var b strings.Builder
	if s != nil {
		addCookies(&b, s.cookies, path, now)
	}
	if len(j.loaded) > 0 {
		addCookies(&b, j.loadedFor(origin, path, s), path, now)
	}
	return b.String()
}

// addCookies adds the cookies that match a path to the value of a Cookie field, up to its maximum length.
func addCookies(b *strings.Builder, cookies []cookie, path string, now time.Time) {
	for _, c := range cookies {
		if c.expired(now) || !pathMatch(path, c.Path) || b.Len()+len(c.Name)+len(c.Value)+3 > maxCookieHeader {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.Name + "=" + string(c.Value))
	}
}

// store stores the cookies of a response from origin, within the limits.
func (j *Jar) store(origin, path string, setCookie []string, now time.Time) {
	if len(setCookie) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.site(origin)
	if s == nil {
		s = j.add(origin)
	}
	for _, line := range setCookie[:min(len(setCookie), 2*maxCookies)] {
		if c, ok := parseCookie(line, origin, path, now); ok && !j.renew(origin, c, now) && s.set(c, now) {
			j.changes++
		}
	}
}

// add adds an origin that has no cookies yet. If there are too many origins, it forgets the least recently used one.
func (j *Jar) add(origin string) *cookieSite {
	s := &cookieSite{origin: origin}
	j.sites[origin] = j.recent.PushFront(s)
	if j.recent.Len() > maxCookieSites {
		delete(j.sites, j.recent.Remove(j.recent.Back()).(*cookieSite).origin)
	}
	return s
}

// set adds or replaces c, or removes it if it has expired. It reports whether the change should be saved.
func (s *cookieSite) set(c cookie, now time.Time) (changed bool) {
	kept, same := s.cookies[:0], false
	for _, old := range s.cookies {
		switch {
		case old.expired(now):
			changed = true
		case old.Name == c.Name && old.Path == c.Path:
			same = old.like(c)
			changed = changed || !same
		default:
			kept = append(kept, old)
		}
	}
	s.cookies = kept
	if !c.expired(now) && len(s.cookies) < maxCookies {
		s.cookies = append(s.cookies, c)
		changed = changed || !same
	}
	return changed
}

// like reports whether two cookies are equal, apart from a small difference of their expiry times.
func (c *cookie) like(other cookie) bool {
	return c.Value == other.Value && c.Expires.IsZero() == other.Expires.IsZero() && c.Expires.Sub(other.Expires).Abs() < time.Hour
}

func (c *cookie) expired(now time.Time) bool { return !c.Expires.IsZero() && !now.Before(c.Expires) }

func parseCookie(line, origin, path string, now time.Time) (cookie, bool) {
	if len(line) > 2*maxCookie {
		return cookie{}, false
	}
	h, err := http.ParseSetCookie(line)
	if err != nil || len(h.Name)+len(h.Value) > maxCookie || !mayCover(h.Domain, origin) {
		return cookie{}, false
	}
	if h.Secure && !strings.HasPrefix(origin, "https:") {
		return cookie{}, false
	}
	c := cookie{
		Name: h.Name, Value: cookieValue(h.Value), Path: h.Path, Expires: h.Expires,
		Domain: strings.ToLower(strings.TrimPrefix(h.Domain, ".")),
	}
	if h.Quoted {
		c.Value = cookieValue(`"` + h.Value + `"`)
	}
	if !strings.HasPrefix(c.Path, "/") {
		c.Path = defaultPath(path)
	}
	switch {
	case h.MaxAge < 0:
		c.Expires = now
	case h.MaxAge > 0:
		c.Expires = now.Add(time.Duration(min(h.MaxAge, 400*24*3600)) * time.Second)
	}
	return c, true
}

// mayCover reports whether origin may set this Domain attribute: the name of its host, or a parent domain that is not a public suffix.
// The cookie is sent only to origin in either case.
func mayCover(domain, origin string) bool {
	domain = strings.ToLower(strings.TrimPrefix(domain, "."))
	if domain == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == domain {
		return true
	}
	if net.ParseIP(host) != nil || !strings.HasSuffix(host, "."+domain) {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix != domain
}

// defaultPath returns the directory of the request's path (RFC 6265 section 5.1.4).
func defaultPath(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}

// pathMatch reports whether a request's path matches that of a cookie (RFC 6265 section 5.1.4).
func pathMatch(path, cookiePath string) bool {
	if path == cookiePath {
		return true
	}
	return strings.HasPrefix(path, cookiePath) && (strings.HasSuffix(cookiePath, "/") || path[len(cookiePath):][0] == '/')
}
