package crawltest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Server serves sites on real loopback sockets, each at a separate address, and lets them send arbitrary bytes. It is for behaviour that
// only real connections have. It has no virtual time and no auditor; for those use [Web].
//
// All methods are safe for concurrent use.
type Server struct {
	tb  testing.TB
	ca  authority
	now time.Time
	wg  sync.WaitGroup // counts all accept loops and connections

	mu     sync.Mutex
	sites  []*ServerSite
	conns  map[net.Conn]struct{}
	log    []Request
	connID int
	closed bool
}

// ServerSite is one site of a [Server]. Its methods return the site, so that calls can be chained.
type ServerSite struct {
	srv      *Server
	host     string
	origin   string
	addr     netip.AddrPort
	listener net.Listener

	// guarded by srv.mu
	paths map[string]Wire
	conn  Wire
	alpn  []string
}

// maxHead limits the bytes of a request that are read.
const maxHead = 1 << 20

// Wire is a hand-written response. It is called when the request's head has been read, and the connection is closed when it returns.
// Closing the server ends its reads and writes with an error. conn is a *net.TCPConn or, on an https site, a *tls.Conn.
type Wire func(conn net.Conn)

// NewServer returns a Server that is closed when tb's test ends. The test is skipped if the system has only one loopback address.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, now: time.Now(), conns: make(map[net.Conn]struct{})}
	tb.Cleanup(s.Close)
	return s
}

// Close ends every listener and connection and waits for their goroutines. It may be called repeatedly.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, site := range s.sites {
		_ = site.listener.Close()
	}
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Site adds a site on the next loopback address, at a port chosen by the system. name is a host name or, for https,
// "https://name"; only [Server.LookupNetIP] knows it.
func (s *Server) Site(name string) *ServerSite {
	s.tb.Helper()
	if !strings.Contains(name, "://") {
		name = "http://" + name
	}
	u, err := weburl.Parse(name)
	if err != nil || u.PathQuery() != "/" || strings.Contains(u.Authority(), ":") {
		s.tb.Fatalf("crawltest: site %q is neither a host name nor https and one", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.tb.Fatalf("crawltest: site %q added after Close", name)
	}
	n := len(s.sites) + 2
	addr := netip.AddrFrom4([4]byte{127, 77, byte(n >> 8), byte(n)})
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		s.tb.Skipf("crawltest: no loopback address besides 127.0.0.1: %v", err)
	}
	site := &ServerSite{srv: s, host: u.Hostname(), listener: l, paths: make(map[string]Wire)}
	site.addr = l.Addr().(*net.TCPAddr).AddrPort()
	site.origin = fmt.Sprintf("%s://%s:%d", u.Scheme(), site.host, site.addr.Port())
	s.sites = append(s.sites, site)
	s.wg.Go(func() { site.accept(u.Scheme() == "https") })
	return site
}

// RootCAs returns the pool with which a client trusts the https sites of this Server.
func (s *Server) RootCAs() *x509.CertPool {
	pool, err := s.ca.pool(s.now)
	if err != nil {
		s.tb.Fatalf("crawltest: certificate authority: %v", err)
	}
	return pool
}

// LookupNetIP resolves the sites' names, like the method of *net.Resolver.
func (s *Server) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, site := range s.sites {
		if site.host == strings.ToLower(host) {
			return []netip.Addr{site.addr.Addr()}, nil
		}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// DialContext dials like net.Dialer, with names looked up by [Server.LookupNetIP].
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ips, err := s.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, net.JoinHostPort(ips[0].String(), port))
}

// Requests returns the log so far, in order of arrival: requests whose head was read. Times are real, and End is the time when the
// function that wrote the response returned; Status and Answer are unknown.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// URL returns the absolute URL of a path of the site, with its port.
func (s *ServerSite) URL(path string) string { return s.origin + path }

// Addr returns the address on which the site listens.
func (s *ServerSite) Addr() netip.AddrPort { return s.addr }

// Raw sets a hand-written response for one path, including its query.
func (s *ServerSite) Raw(path string, w Wire) *ServerSite {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	s.paths[path] = w
	return s
}

// Page answers one path with a valid HTTP/1.1 answer of type text/html and closes the connection.
func (s *ServerSite) Page(path, body string) *ServerSite {
	return s.Raw(path, Text("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: "+
		itoa(len(body))+"\r\n\r\n"+body))
}

// RawConn makes w handle whole connections, from the first byte (after the TLS handshake). Nothing is read or logged before w is called.
func (s *ServerSite) RawConn(w Wire) *ServerSite {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	s.conn = w
	return s
}

// ALPN sets the protocols that the site offers in the TLS handshake, for example "h2"; by default it offers only
// http/1.1.
func (s *ServerSite) ALPN(protos ...string) *ServerSite {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	s.alpn = protos
	return s
}

// acceptPause is the time between two attempts to accept a connection for which there is no file descriptor.
const acceptPause = 10 * time.Millisecond

// acceptFrom accepts a connection as soon as there is a file descriptor for it.
func acceptFrom(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return c, err
		}
		time.Sleep(acceptPause)
	}
}

// accept serves the site's connections until its listener is closed.
func (s *ServerSite) accept(secure bool) {
	for {
		c, err := acceptFrom(s.listener)
		if err != nil {
			return
		}
		if secure {
			c = tls.Server(c, s.tlsConfig())
		}
		id := s.srv.track(c)
		if id == 0 {
			_ = c.Close()
			return
		}
		s.srv.wg.Go(func() {
			defer s.srv.drop(c)
			s.serve(c, id)
		})
	}
}

func (s *ServerSite) tlsConfig() *tls.Config {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	protos := s.alpn
	if protos == nil {
		protos = []string{"http/1.1"}
	}
	return &tls.Config{NextProtos: protos, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return s.srv.ca.certificate(s.host, s.srv.now, s.srv.now.AddDate(50, 0, 0))
	}}
}

// track records an open connection and returns its number, or 0 after Close.
func (s *Server) track(c net.Conn) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0
	}
	s.conns[c] = struct{}{}
	s.connID++
	return s.connID
}

func (s *Server) drop(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	_ = c.Close()
}

// serve answers the only request of a connection, or passes on the whole connection.
func (s *ServerSite) serve(c net.Conn, id int) {
	if t, ok := c.(*tls.Conn); ok && t.HandshakeContext(context.Background()) != nil {
		return
	}
	s.srv.mu.Lock()
	whole := s.conn
	s.srv.mu.Unlock()
	if whole != nil {
		whole(c)
		return
	}
	r, err := http.ReadRequest(bufio.NewReader(io.LimitReader(c, maxHead)))
	if err != nil {
		return
	}
	i, w := s.arrived(r, id)
	w(c)
	s.srv.mu.Lock()
	s.srv.log[i].End = time.Now()
	s.srv.mu.Unlock()
}

// arrived logs a request and returns its number and the Wire that answers it.
func (s *ServerSite) arrived(r *http.Request, conn int) (int, Wire) {
	s.srv.mu.Lock()
	defer s.srv.mu.Unlock()
	n := len(s.srv.log)
	s.srv.log = append(s.srv.log, Request{
		ID: n + 1, Conn: conn, Host: net.JoinHostPort(s.host, itoa(int(s.addr.Port()))), Addr: s.addr, URL: s.origin + r.RequestURI,
		Line: r.Method + " " + r.RequestURI + " " + r.Proto, Method: r.Method, Header: r.Header, UserAgent: r.UserAgent(), Start: time.Now(),
	})
	w := s.paths[r.RequestURI]
	if w == nil {
		w = Text("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	}
	return n, w
}

// reset ends a connection with a TCP RST.
func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if l, ok := c.(*net.TCPConn); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}

// idle waits for d, or until the client closes the connection or the server is closed. It reports whether d has passed, and discards
// bytes that the client sends in the meantime.
func idle(c net.Conn, d time.Duration) bool {
	until := time.Now().Add(d)
	_ = c.SetReadDeadline(until)
	buf := make([]byte, 512)
	for {
		if _, err := c.Read(buf); err != nil {
			var ne net.Error
			return errors.As(err, &ne) && ne.Timeout()
		}
	}
}
