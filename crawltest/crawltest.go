// Package crawltest is a simulated web for tests of crawlers, with an auditor that checks on the servers' side whether a crawler was
// polite.
//
// A [Web] holds sites in memory. Real net/http servers answer on in-memory connections, so the crawler under test
// runs its real HTTP stack: it dials with [Web.DialContext] and looks up names with [Web.LookupNetIP]. Inside a
// testing/synctest bubble, where [Test] puts it, hours of waiting take milliseconds and every time in the log is
// exact. The servers speak HTTP/1.1, with TLS for https sites; [Web.RootCAs] makes a client trust them.
//
//	func TestMyCrawler(t *testing.T) {
//		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
//			w.Expect(crawltest.Expect{Delay: time.Second, Agent: "mybot", Contact: "https://mybot.example/"})
//			s := w.Site("a.example").Latency(200 * time.Millisecond)
//			s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
//			s.Page("/", `<a href="/b">b</a> <a href="/private/c">c</a>`)
//			s.Page("/b", "the end")
//			crawl(t.Context(), w.DialContext, w.LookupNetIP, "http://a.example/")
//			w.MustRequest("http://a.example/b")
//		})
//	}
//
// Sites are built by methods ([Web.Site]), loaded from txtar text ([Web.Load]) or generated from a seed ([Web.Random]). The package never
// computes the meaning of a robots.txt. Fixtures state it next to the text of robots.txt, so the auditor cannot share an error with the
// crawler's own matcher.
//
// [Server] serves faulty responses on real loopback sockets, for faults that only occur on real connections.
package crawltest

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Web is a simulated web. All methods are safe for concurrent use; sites and pages may be changed while they are
// served. Create one with [New], [NewWeb] or [Test].
//
// Inside a testing/synctest bubble a Web must be created, used and closed in that bubble.
type Web struct {
	tb    reporter
	start time.Time
	base  context.Context // canceled by Close
	end   context.CancelFunc
	lst   *listener
	http  *http.Server
	wg    sync.WaitGroup // counts the goroutine of Serve and every open connection
	ca    authority

	mu        sync.Mutex
	sites     []*Site
	origins   map[string]*Site
	names     map[string]*name
	pool      *addrPool
	seq       int64
	log       []*entry
	conns     map[*serverConn]struct{}
	dials     []*Dial
	lookups   []Lookup
	connID    int
	expect    Expect
	unaudited bool
	closed    bool
	shared    any // see Shared
}

// New returns a Web that is closed when tb's test ends. Errors in a fixture fail tb. New does not audit the requests: use [Test], or call
// [Web.Audit].
func New(tb testing.TB) *Web {
	tb.Helper()
	w := NewWeb()
	w.tb = tb
	tb.Cleanup(w.Close)
	return w
}

// NewWeb returns a Web outside of a test, for examples and experiments. The caller must Close it. Errors in a fixture and failed
// assertions panic.
func NewWeb() *Web {
	base, end := context.WithCancel(context.Background())
	w := &Web{
		tb:      panics{},
		start:   time.Now(),
		base:    base,
		end:     end,
		lst:     newListener(),
		origins: make(map[string]*Site),
		names:   make(map[string]*name),
		pool:    newAddrPool(defaultPools()...),
		conns:   make(map[*serverConn]struct{}),
	}
	w.http = &http.Server{
		Handler:     http.HandlerFunc(w.serve),
		ConnContext: withConn,
		ConnState:   w.connState,
		ErrorLog:    log.New(io.Discard, "", 0),
		// enough for tests of hostile headers; the client's limit is tested, not the server's
		MaxHeaderBytes: 1 << 20,
	}
	w.wg.Go(func() { _ = w.http.Serve(w.lst) })
	return w
}

// Test runs f in a testing/synctest bubble with a new Web. After f and its cleanups the Web is closed, and the test fails for every
// violation of politeness that the auditor finds, given the configuration passed to [Web.Expect].
func Test(t *testing.T, f func(t *testing.T, w *Web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := NewWeb()
		w.tb = t
		t.Cleanup(func() {
			w.Close()
			w.auditInCleanup()
		})
		f(t, w)
	})
}

// Close ends every connection and waits for the servers' goroutines. It may be called repeatedly.
func (w *Web) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	_ = w.http.Close()
	w.closeConns()
	w.wg.Wait()
}

// closeConns ends all connections, including those that no handler serves yet.
func (w *Web) closeConns() {
	w.mu.Lock()
	open := make([]*serverConn, 0, len(w.conns))
	for c := range w.conns {
		open = append(open, c)
	}
	w.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

// Start returns when the Web was created. Times passed to [Page.At], [Fault.From] and [Fault.Until] count from it.
func (w *Web) Start() time.Time { return w.start }

// Addresses sets the ranges from which later sites without an explicit address get one, in order. By default they get addresses that no
// public site has, but that crawlers treat as public, so that a crawler need not be configured to allow private addresses.
func (w *Web) Addresses(ranges ...netip.Prefix) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool = newAddrPool(ranges...)
}

// tick returns the next number of the logical clock, which orders events that occur at the same instant of virtual time. The caller holds
// w.mu.
func (w *Web) tick() int64 {
	w.seq++
	return w.seq
}

// Network is the configuration of a crawler whose network can be replaced: a *crawler.Config or a *fetcher.Config. Other crawlers can
// implement it.
type Network interface {
	// UseNetwork replaces how connections are made, names are looked up and certificates are verified.
	UseNetwork(
		dial func(ctx context.Context, network, addr string) (net.Conn, error),
		names interface {
			LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
		},
		roots *x509.CertPool,
	)
}

// Apply makes w the web of a crawler. Nothing else in the configuration is changed. The auditor's expectations must be set with
// [Web.Expect], because it must not rely on the configuration that it checks.
//
//	cfg := crawler.Config{Contact: contact}
//	w.Apply(&cfg)
//
// Crawls of one web share its hosts. They share nothing with crawls of other webs or of the real web.
func (w *Web) Apply(n Network) { n.UseNetwork(w.DialContext, w, w.RootCAs()) }

// Shared returns state that the crawlers of w share, such as the clocks of its hosts. The first call creates it.
func (w *Web) Shared(create func() any) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shared == nil {
		w.shared = create()
	}
	return w.shared
}

// reporter is the part of testing.TB that a Web uses.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// panics is the reporter of a Web outside of a test.
type panics struct{}

func (panics) Helper() {}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// fatal reports a mistake in a fixture.
func (w *Web) fatal(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("crawltest: "+format, args...)
}

// errorf reports a failed assertion.
func (w *Web) errorf(format string, args ...any) {
	w.tb.Helper()
	w.tb.Errorf("crawltest: "+format, args...)
}
