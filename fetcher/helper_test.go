package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs servers that send more than was requested
	goleak.VerifyTestMain(m)
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// hosts is a resolver of fixed names.
type hosts map[string][]netip.Addr

func (h hosts) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	if a, ok := h[host]; ok {
		return a, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// rig is a Fetcher with a Gate that admits everything at once, robots.txt first.
type rig struct {
	t    testing.TB
	f    *Fetcher
	gate *politeness.Gate
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	if c.AllowAddresses == nil {
		c.AllowAddresses = loopback
	}
	if c.Resolver == nil {
		c.Resolver = hosts{}
	}
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return &rig{t: t, f: f, gate: newGate(t, politeness.Config{})}
}

func newGate(t testing.TB, c politeness.Config) *politeness.Gate {
	t.Helper()
	c.Identity = politeness.Identity{Product: "ambletest", Version: "1", Contact: "https://lab.university.edu/crawl"}
	c.Delay, c.DelayFactor = politeness.NoDelay, politeness.NoFactor
	c.MaxFailures, c.MaxSilence = politeness.Unlimited, politeness.Forever
	c.OwnHosts = func(string) int { return 100 }
	g, err := politeness.NewGate(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// permit returns a Permit for url. If the Gate first needs robots.txt, permit reports that there are no rules.
func (r *rig) permit(url string, purpose politeness.Purpose) politeness.Permit {
	r.t.Helper()
	u := parse(r.t, url)
	addr, err := r.f.Resolve(r.t.Context(), u)
	if err != nil {
		r.t.Fatalf("Resolve: %v", err)
	}
	return r.permitAt(u, addr, purpose)
}

func (r *rig) permitAt(u weburl.URL, addr netip.Addr, purpose politeness.Purpose) politeness.Permit {
	r.t.Helper()
	for range 3 {
		p, err := r.gate.Admit(politeness.Request{URL: u, Addr: addr, Purpose: purpose})
		if err != nil {
			r.t.Fatalf("Admit: %v", err)
		}
		if p.Purpose() != politeness.Robots || purpose == politeness.Robots {
			return p
		}
		now := time.Now()
		r.gate.Report(p, politeness.Reply{Status: 404, Written: now, FirstByte: now, Ended: now})
	}
	r.t.Fatal("no permit for a page")
	return politeness.Permit{}
}

// fetch fetches url as a page and reports the result.
func (r *rig) fetch(url string) (*Page, error) {
	r.t.Helper()
	return r.fetchAs(url, politeness.Page)
}

func (r *rig) fetchAs(url string, purpose politeness.Purpose) (*Page, error) {
	r.t.Helper()
	p := r.permit(url, purpose)
	page, err := r.f.Fetch(r.t.Context(), p)
	if err != nil {
		r.gate.Report(p, ReplyForError(err))
	} else {
		r.gate.Report(p, page.Reply())
	}
	return page, err
}

// page fetches url like fetch, and ends the test if that fails.
func (r *rig) page(url string) *Page {
	r.t.Helper()
	p, err := r.fetch(url)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// wantReason fetches url and expects an *Error with this phase and reason.
func (r *rig) wantReason(url, phase, reason string) *Error {
	r.t.Helper()
	p, err := r.fetch(url)
	if err == nil {
		r.t.Fatalf("got page %d %q truncated=%q; want error %s", p.Status, p.Body, p.Truncated, reason)
	}
	var e *Error
	if !errors.As(err, &e) {
		r.t.Fatalf("error is %T: %v", err, err)
	}
	if e.Reason != reason || e.Phase != phase {
		r.t.Fatalf("got %s/%s (%v); want %s/%s", e.Phase, e.Reason, e.Err, phase, reason)
	}
	return e
}

func parse(t testing.TB, url string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// serve returns an HTTP server on a loopback socket.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = silent()
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func serveTLS(t testing.TB, h2 bool, h http.HandlerFunc) (*httptest.Server, Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = silent()
	s.EnableHTTP2 = h2
	s.TLS = &tls.Config{}
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return s, Config{RootCAs: pool, Resolver: hosts{"example.com": {netip.MustParseAddr("127.0.0.1")}}}
}

// named returns the server's URL with the host name of its certificate.
func named(s *httptest.Server, path string) string {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://"))
	scheme, _, _ := strings.Cut(s.URL, ":")
	return scheme + "://example.com:" + port + path
}

// netConn is the server's side of a connection.
type netConn = net.Conn

// silent returns a logger that discards output, for servers that are expected to log errors.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// raw returns the URL of a server that handles each connection with talk.
func raw(t testing.TB, talk func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		accept(l, talk)
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func accept(l net.Listener, talk func(c net.Conn)) {
	var open []net.Conn
	finished := make(chan struct{})
	n := 0
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		open, n = append(open, c), n+1
		go func() {
			defer func() { finished <- struct{}{} }()
			defer func() { _ = c.Close() }()
			talk(c)
		}()
	}
	for _, c := range open {
		_ = c.Close()
	}
	for range n {
		<-finished
	}
}

// counting returns a dialer that counts connections.
func counting(n *atomic.Int32) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}

// request reads one request's head from c.
func request(c net.Conn) string {
	var b []byte
	one := make([]byte, 1)
	for !strings.HasSuffix(string(b), "\r\n\r\n") {
		if _, err := c.Read(one); err != nil {
			return ""
		}
		b = append(b, one[0])
	}
	return string(b)
}

// answer returns a server that reads a request, writes text and closes.
func answer(t testing.TB, text string) string {
	return raw(t, func(c net.Conn) {
		if request(c) != "" {
			_, _ = io.WriteString(c, text)
		}
	})
}

// permitForRobots returns a Permit for fetching any URL as a robots.txt, as after a redirect.
func (r *rig) permitForRobots(url string) politeness.Permit {
	r.t.Helper()
	u := parse(r.t, url)
	addr, err := r.f.Resolve(r.t.Context(), u)
	if err != nil {
		r.t.Fatal(err)
	}
	first, err := r.gate.Admit(politeness.Request{URL: u, Next: u.RobotsURL(), Addr: addr})
	if err != nil {
		r.t.Fatal(err)
	}
	now := time.Now()
	r.gate.Report(first, politeness.Reply{Status: 301, Header: http.Header{"Location": {url}}, Written: now, FirstByte: now, Ended: now})
	p, err := r.gate.Admit(politeness.Request{URL: u, Next: r.gate.Next(u), Addr: addr})
	if err != nil {
		r.t.Fatal(err)
	}
	if p.Purpose() != politeness.Robots || p.URL() != u {
		r.t.Fatalf("the Gate gave a permit for %s as %s", p.URL(), p.Purpose())
	}
	return p
}

// grant returns a redeemed Permit for url.
func (r *rig) grant(url string) politeness.Grant {
	r.t.Helper()
	g, err := r.permitAt(parse(r.t, url), pipeAddr, politeness.Page).Redeem()
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}
