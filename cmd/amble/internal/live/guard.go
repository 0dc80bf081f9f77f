package live

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// guard decides who may see and use the page: a program with the token, or a browser that exchanged the token for a cookie and
// a secret path. A browser sends the cookie to every port of the address (RFC 6265 section 8.5), but only below the path, and
// the path to nobody else. So neither opens the page without the other, and neither contains the token.
type guard struct {
	token  string
	own    bool            // it is the operator's, and is not printed
	cookie string          // its name: two crawls on one machine have different ones
	value  string          // of the cookie
	path   string          // under which a browser sees the page: /s/SECRET
	port   string          // that the server listens on
	names  map[string]bool // host names under which it may be requested, in addition to addresses
}

// newGuard returns the guard of a server that was told to listen on address and does so on addr.
func newGuard(address string, addr net.Addr) *guard {
	_, port, _ := net.SplitHostPort(addr.String())
	name, _, _ := net.SplitHostPort(address)
	g := &guard{token: rand.Text(), value: rand.Text(), path: "/s/" + rand.Text(), port: port, names: map[string]bool{"localhost": true}} // 130 bits
	g.cookie = "amble-" + port
	if _, err := netip.ParseAddr(name); err != nil && name != "" {
		g.names[strings.ToLower(name)] = true
	}
	return g
}

// minToken is the minimum length of a token that the operator sets: 120 bits in hexadecimal digits.
const minToken = 30

// setToken replaces the token. It becomes part of a URL, a header field and a cookie as it is.
func (g *guard) setToken(token string) error {
	plain := func(c rune) bool {
		return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
	}
	if len(token) < minToken || strings.ContainsFunc(token, func(c rune) bool { return !plain(c) }) {
		return fmt.Errorf("want a token of %d or more letters and digits, such as: openssl rand -hex 20", minToken)
	}
	g.token, g.own = token, true
	return nil
}

// headers are sent with every answer.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// protect returns the handler of a page, for those who may.
func (g *guard) protect(l *Live) http.Handler {
	return g.wrap(http.NewCrossOriginProtection().Handler(l.handler()), map[string]bool{"/healthz": true, "/readyz": true})
}

// wrap protects a handler. open are paths that need no token: they say nothing about the crawl but whether it works.
func (g *guard) wrap(next http.Handler, open map[string]bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !g.ours(r.Host):
			http.Error(w, "this page is not served under that name", http.StatusMisdirectedRequest)
		case open[r.URL.Path] || g.hasToken(r):
			next.ServeHTTP(w, r)
		case g.hasCookieAndPath(r):
			http.StripPrefix(g.path, next).ServeHTTP(w, r)
		case r.Method == http.MethodGet && same(r.URL.Query().Get("token"), g.token):
			g.admit(w, r)
		default:
			http.Error(w, "this page opens with /?token= and its token, which the command that serves it prints or was given in a file; open it so again after a restart", http.StatusUnauthorized)
		}
	})
}

// ours reports whether a Host header names this server. A page of another site can make a browser send requests here under
// the name of that site (DNS rebinding), but not under an address or one of the names.
func (g *guard) ours(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	_, err = netip.ParseAddr(name)
	return port == g.port && (err == nil || g.names[strings.ToLower(name)])
}

// hasToken reports whether a request has the token as a bearer, as programs send it.
func (g *guard) hasToken(r *http.Request) bool {
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && same(bearer, g.token)
}

// hasCookieAndPath reports whether a browser that had the token makes the request.
func (g *guard) hasCookieAndPath(r *http.Request) bool {
	n := len(g.path)
	if len(r.URL.Path) <= n || r.URL.Path[n] != '/' || !same(r.URL.Path[:n], g.path) {
		return false
	}
	c, err := r.Cookie(g.cookie)
	return err == nil && same(c.Value, g.value)
}

// same compares secrets in a time that says nothing about them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit exchanges the token in a URL for a cookie and the path to which the browser sends it.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.value, Path: g.path + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	q := r.URL.Query()
	q.Del("token")
	to := g.path + strings.TrimPrefix(r.URL.EscapedPath(), g.path)
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// onLoopback reports whether addr is one of loopback.
func onLoopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// urlOf returns the address that an operator opens, with the token unless it is the operator's own.
func (g *guard) urlOf(addr net.Addr) string {
	host := addr.String()
	if ap, err := netip.ParseAddrPort(host); err == nil && ap.Addr().IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ap.Port())))
	}
	if g.own {
		return "http://" + host + "/"
	}
	return "http://" + host + "/?token=" + g.token
}
