package live

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/amble-crawler/amble/internal/localweb"
)

// guard controls access to the page. It admits a program with the token, and a browser that has exchanged the token for a cookie and a
// secret path. A browser sends the cookie to every port of the address (RFC 6265 section 8.5), but only below the path, and it sends the
// path to no other server. The page needs both, and neither contains the token.
type guard struct {
	token  string
	own    bool   // the token was chosen by the operator, and is not printed
	cookie string // name of the cookie, which is different for each crawl on a machine
	value  string // value of the cookie
	path   string // secret path of the page: /s/SECRET
	port   string // port on which the server listens
	hosts  *localweb.Hosts
}

// newGuard returns the guard of a server that listens on addr, after listening on address was requested.
func newGuard(address string, addr net.Addr) *guard {
	_, port, _ := net.SplitHostPort(addr.String())
	return &guard{
		token: rand.Text(), cookie: "amble-" + port, value: rand.Text(), path: "/s/" + rand.Text(), // 130 random bits each
		port: port, hosts: localweb.NewHosts(address),
	}
}

// minToken is the minimum length of a token from the operator: 120 bits in hexadecimal digits.
const minToken = 30

// setToken sets a token chosen by the operator. The token is used unescaped in a URL, a header field and a cookie.
func (g *guard) setToken(token string) error {
	if len(token) < minToken || !localweb.Plain(token) {
		return fmt.Errorf("want a token of %d or more letters and digits, such as: openssl rand -hex 20", minToken)
	}
	g.token, g.own = token, true
	return nil
}

// protect returns the handler of a page with access control.
func (g *guard) protect(page http.Handler) http.Handler {
	return g.wrap(http.NewCrossOriginProtection().Handler(page), map[string]bool{"/healthz": true, "/readyz": true})
}

// wrap adds access control to a handler. The paths in open need no token: they only show whether the crawl works.
func (g *guard) wrap(next http.Handler, open map[string]bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		localweb.SetHeaders(w.Header())
		switch {
		case !g.hosts.Ours(r.Host, g.port):
			http.Error(w, "this page is not served under that name", http.StatusMisdirectedRequest)
		case open[r.URL.Path] || g.hasToken(r):
			next.ServeHTTP(w, r)
		case g.hasCookieAndPath(r):
			http.StripPrefix(g.path, next).ServeHTTP(w, r)
		case r.Method == http.MethodGet && localweb.Same(r.URL.Query().Get("token"), g.token):
			g.admit(w, r)
		default:
			http.Error(w, "open this page with /?token= and its token, which the command that serves it prints or reads from a file; do so again after a restart", http.StatusUnauthorized)
		}
	})
}

// hasToken reports whether a request has the token as a bearer token.
func (g *guard) hasToken(r *http.Request) bool {
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && localweb.Same(bearer, g.token)
}

// hasCookieAndPath reports whether a request comes from a browser that has exchanged the token.
func (g *guard) hasCookieAndPath(r *http.Request) bool {
	n := len(g.path)
	if len(r.URL.Path) <= n || r.URL.Path[n] != '/' || !localweb.Same(r.URL.Path[:n], g.path) {
		return false
	}
	c, err := r.Cookie(g.cookie)
	return err == nil && localweb.Same(c.Value, g.value)
}

// admit exchanges the token in a URL for a cookie and the secret path.
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

// urlOf returns the URL of the page for the operator. It has the token, unless the operator chose the token.
func (g *guard) urlOf(addr net.Addr) string {
	host := localweb.HostPort(addr)
	if g.own {
		return "http://" + host + "/"
	}
	return "http://" + host + "/?token=" + g.token
}
