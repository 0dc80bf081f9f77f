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
	maxCookies      = 50       // for one origin
	maxCookie       = 4 << 10  // name and value
	maxCookieHeader = 16 << 10 // sent with one request
	maxCookieSites  = 10_000   // origins remembered; the least recently used one is forgotten
)

// jar keeps cookies by the origin that set them and returns them to no other: stricter than RFC 6265,
// which shares them between hosts of a domain, between ports and between schemes.
type jar struct {
	mu     sync.Mutex
	sites  map[string]*list.Element // of *cookieSite
	recent *list.List
}

type cookieSite struct {
	origin  string
	cookies []cookie
}

type cookie struct {
	name, value, path string
	expires           time.Time // zero: at the end of the crawl
}

func newJar() *jar { return &jar{sites: make(map[string]*list.Element), recent: list.New()} }

// site returns what is known of an origin. The caller holds j.mu.
func (j *jar) site(origin string) *cookieSite {
	if el := j.sites[origin]; el != nil {
		j.recent.MoveToFront(el)
		return el.Value.(*cookieSite)
	}
	return nil
}

// header returns the Cookie field for a request, or "" if there is none.
func (j *jar) header(origin, path string, now time.Time) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.site(origin)
	if s == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range s.cookies {
		if c.expired(now) || !pathMatch(path, c.path) || b.Len()+len(c.name)+len(c.value)+3 > maxCookieHeader {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.name + "=" + c.value)
	}
	return b.String()
}

// store keeps the cookies that an answer from origin set, within the limits.
func (j *jar) store(origin, path string, setCookie []string, now time.Time) {
	if len(setCookie) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.site(origin)
	if s == nil {
		s = &cookieSite{origin: origin}
		j.sites[origin] = j.recent.PushFront(s)
		if j.recent.Len() > maxCookieSites {
			delete(j.sites, j.recent.Remove(j.recent.Back()).(*cookieSite).origin)
		}
	}
	for _, line := range setCookie[:min(len(setCookie), 2*maxCookies)] {
		if c, ok := parseCookie(line, origin, path, now); ok {
			s.set(c, now)
		}
	}
}

// set adds or replaces c, or removes it if it has expired.
func (s *cookieSite) set(c cookie, now time.Time) {
	kept := s.cookies[:0]
	for _, old := range s.cookies {
		if !old.expired(now) && (old.name != c.name || old.path != c.path) {
			kept = append(kept, old)
		}
	}
	s.cookies = kept
	if !c.expired(now) && len(s.cookies) < maxCookies {
		s.cookies = append(s.cookies, c)
	}
}

func (c *cookie) expired(now time.Time) bool { return !c.expires.IsZero() && !now.Before(c.expires) }

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
	c := cookie{name: h.Name, value: h.Value, path: h.Path, expires: h.Expires}
	if h.Quoted {
		c.value = `"` + h.Value + `"`
	}
	if !strings.HasPrefix(c.path, "/") {
		c.path = defaultPath(path)
	}
	switch {
	case h.MaxAge < 0:
		c.expires = now
	case h.MaxAge > 0:
		c.expires = now.Add(time.Duration(min(h.MaxAge, 400*24*3600)) * time.Second)
	}
	return c, true
}

// mayCover reports whether origin may name this Domain attribute: its own name, or a domain above it that can be
// registered. The cookie is sent to origin alone in either case.
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
