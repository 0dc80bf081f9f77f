package fetcher

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"

	"github.com/amble-crawler/amble/weburl"
)

// Limits of a file of cookies.
const (
	maxCookieFile = 1 << 20 // bytes
	maxLoaded     = 5000    // number of cookies
)

// Loaded counts the cookies that [Jar.Load] found in a file.
type Loaded struct {
	Cookies int // cookies that were added to the Jar
	Expired int // cookies that were left out because they have expired
}

// Load adds the cookies of a file in Netscape's format (cookies.txt), as curl, wget and extensions of browsers write it, of at most 1
// MiB. A cookie is sent as the file says: to one host or to a domain, below its path, only by https or not, until it expires. The format
// has no ports, so the cookie is sent to the default ports of http and https, and to those of the URLs in at. A response changes such a
// cookie if it sets one with the same name, domain and path.
//
// If a line is invalid, Load returns an error with its number and the reason, but without any content of the file, and does not change
// the Jar. A file without a cookie is an error, too.
func (j *Jar) Load(r io.Reader, at ...weburl.URL) (Loaded, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxCookieFile+1))
	if err != nil {
		return Loaded{}, err
	}
	all, err := parseCookieFile(b)
	if err != nil {
		return Loaded{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, u := range at {
		j.hosts[u.Host()] = true
	}
	var n Loaded
	now := time.Now()
	for _, c := range all {
		if c.expired(now) {
			n.Expired++
			continue
		}
		n.Cookies++
		j.put(c)
	}
	sum := sha256.Sum256(b)
	j.source = hex.EncodeToString(sum[:])
	j.changes++
	return n, nil
}

// put adds a loaded cookie, or replaces the one with the same name, domain and path.
func (j *Jar) put(c cookie) {
	list := slices.DeleteFunc(j.loaded[c.Domain], c.isNamed)
	j.loaded[c.Domain] = append(list, c)
}

// isNamed reports whether another cookie would replace c (RFC 6265 section 5.3, step 11).
func (c *cookie) isNamed(other cookie) bool {
	return c.Name == other.Name && c.Path == other.Path && c.Wide == other.Wide
}

// loadedFor returns the loaded cookies for a request, except cookies whose names its origin has set itself.
func (j *Jar) loadedFor(origin, path string, own *cookieSite) (list []cookie) {
	host, secure, ok := j.takes(origin)
	if !ok {
		return nil
	}
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		for _, c := range j.loaded[domain] {
			if (c.Wide || domain == host) && (secure || !c.Secure) && !own.has(c.Name, path) {
				list = append(list, c)
			}
		}
	}
	return list
}

// has reports whether an origin has set a cookie with this name for a path.
func (s *cookieSite) has(name, path string) bool {
	return s != nil && slices.ContainsFunc(s.cookies, func(c cookie) bool { return c.Name == name && pathMatch(path, c.Path) })
}

// takes returns the host of an origin, and whether its scheme is secure. ok is false if loaded cookies may not be sent to it.
func (j *Jar) takes(origin string) (host string, secure, ok bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Port() != "" && !j.hosts[u.Host] {
		return "", false, false
	}
	return u.Hostname(), u.Scheme == "https", true
}

// renew replaces a loaded cookie by the cookie of a response if both have the same name, domain and path. It reports whether there is
// such a cookie.
func (j *Jar) renew(origin string, c cookie, now time.Time) bool {
	host, secure, ok := j.takes(origin)
	if !ok || len(j.loaded) == 0 {
		return false
	}
	c.Wide = c.Domain != ""
	c.Domain = cmp.Or(c.Domain, host)
	list := j.loaded[c.Domain]
	i := slices.IndexFunc(list, c.isNamed)
	if i < 0 || list[i].Secure && !secure {
		return false
	}
	c.Secure = list[i].Secure
	if !list[i].like(c) || c.expired(now) {
		j.changes++
	}
	if list[i] = c; c.expired(now) {
		j.loaded[c.Domain] = slices.Delete(list, i, i+1)
	}
	return true
}

// parseCookieFile returns the cookies of a file.
func parseCookieFile(b []byte) ([]cookie, error) {
	if len(b) > maxCookieFile {
		return nil, fmt.Errorf("fetcher: cookies: the file is longer than %d bytes", maxCookieFile)
	}
	var all []cookie
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(b), "\ufeff")) {
		n++
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimPrefix(line, "#HttpOnly_")
		if strings.TrimSpace(bare) == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		c, err := parseCookieLine(bare)
		if err != nil {
			return nil, fmt.Errorf("fetcher: cookies: line %d: %w", n, err)
		}
		if all = append(all, c); len(all) > maxLoaded {
			return nil, fmt.Errorf("fetcher: cookies: line %d: more than %d cookies", n, maxLoaded)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("fetcher: cookies: there is no cookie in it")
	}
	return all, nil
}

// parseCookieLine parses a line: a domain, TRUE if the cookie is also for its subdomains, a path, TRUE for https only, seconds since
// 1970, a name and a value. Its errors contain no field, because in a file of another kind any field may be a secret.
func parseCookieLine(line string) (c cookie, err error) {
	f := strings.Split(line, "\t")
	if len(f) == 6 {
		f = append(f, "") // curl and others omit an empty value
	}
	if len(f) != 7 {
		return c, fmt.Errorf("want seven fields with tabs between them (domain, TRUE or FALSE, path, TRUE or FALSE, expiry, name, value), as in a cookies.txt of Netscape's format; it has %d", len(f))
	}
	wide, err1 := boolean(f[1])
	secure, err2 := boolean(f[3])
	seconds, err3 := strconv.ParseInt(first(f[4], "."), 10, 64)
	domain, err4 := cookieDomain(f[0])
	switch {
	case err4 != nil:
		return c, errors.New("the first field is not a host name or domain")
	case err1 != nil:
		return c, errors.New("the second field is neither TRUE nor FALSE")
	case !strings.HasPrefix(f[2], "/"):
		return c, errors.New("the third field, the path, does not begin with /")
	case err2 != nil:
		return c, errors.New("the fourth field is neither TRUE nor FALSE")
	case err3 != nil:
		return c, errors.New("the fifth field, the expiry, is not a number of seconds")
	case !httpguts.ValidHeaderFieldName(f[5]):
		return c, errors.New("the sixth field is not a name")
	case !validCookieValue(f[6]):
		return c, errors.New("the value holds characters that no cookie may have")
	case len(f[5])+len(f[6]) > maxCookie:
		return c, fmt.Errorf("name and value are longer than %d bytes", maxCookie)
	}
	c = cookie{Name: f[5], Value: cookieValue(f[6]), Path: f[2], Domain: domain, Wide: wide && mayBeWide(domain), Secure: secure}
	if seconds > 0 {
		c.Expires = time.Unix(min(seconds, math.MaxInt32<<6), 0).UTC()
	}
	return c, nil
}

// first returns the part of s before sep.
func first(s, sep string) string {
	s, _, _ = strings.Cut(s, sep)
	return s
}

func boolean(s string) (bool, error) {
	switch strings.ToUpper(s) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, errors.New("not a boolean")
}

// cookieDomain returns a domain in the form that URLs have.
func cookieDomain(s string) (string, error) {
	s = strings.TrimPrefix(s, ".")
	if s == "" || strings.ContainsAny(s, "/?#@:[] \\") {
		return "", errors.New("not a domain")
	}
	u, err := weburl.Parse("http://" + s + "/")
	return u.Hostname(), err
}

// mayBeWide reports whether a cookie may be for all hosts of a domain: the domain must not be an IP address or a public suffix.
func mayBeWide(domain string) bool {
	if net.ParseIP(domain) != nil {
		return false
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix != domain
}

// validCookieValue reports whether a value can be sent. Servers set and browsers return values that RFC 6265 does not allow, but none
// with a semicolon or a control character.
func validCookieValue(v string) bool {
	return httpguts.ValidHeaderFieldValue(v) && !strings.Contains(v, ";")
}
