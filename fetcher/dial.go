package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/proxy"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// maxProxyAnswer limits a proxy's response to CONNECT, in bytes.
const maxProxyAnswer = 16 << 10

// attempt is one attempt to connect for a Grant. Each step is a phase with its own time limit.
type attempt struct {
	f       *Fetcher
	grant   politeness.Grant
	expires time.Time // expiry of the Permit
	url     weburl.URL
	watch   *watch
	key     connKey
	conn    conn // the connection that was made
}

// dial connects to the Grant's address, and to no other address.
func (a *attempt) dial(ctx context.Context) (*conn, error) {
	if a.grant.Begun() {
		return nil, &Error{Phase: phaseConnect, Reason: reasonPermitInvalid, Err: politeness.ErrUsed}
	}
	if err := a.f.cfg.checkPort(a.url); err != nil {
		return nil, &Error{Phase: phaseConnect, Reason: ReasonPort, Err: err}
	}
	if err := a.f.check(a.url.Hostname(), a.grant.Addr()); err != nil {
		return nil, &Error{Phase: phaseConnect, Reason: ReasonAddress, Err: err}
	}
	if err := a.f.cfg.checkListeners(a.grant.Addr(), a.url); err != nil {
		return nil, &Error{Phase: phaseConnect, Reason: ReasonAddress, Err: err}
	}
	raw, err := a.connect(ctx)
	if err != nil {
		return nil, a.unconnected(ctx, err)
	}
	ready, err := a.secure(ctx, raw)
	if err != nil {
		_ = raw.Close()
		return nil, failure(phaseTLS, err)
	}
	a.conn.key = a.key
	a.conn.client, err = a.f.client(ctx, a.url.Scheme(), a.url.Host(), ready)
	if err != nil {
		_ = raw.Close()
		return nil, failure(PhaseRequest, err)
	}
	return &a.conn, nil
}

// unconnected handles a failure to connect: it selects another address for the next time, and closes idle connections if this machine has
// no resources left.
func (a *attempt) unconnected(ctx context.Context, err error) *Error {
	fail := failure(phaseConnect, err)
	switch cause := context.Cause(ctx); {
	case fail.Reason == ReasonPermit: // no file descriptor became free before the Permit expired
	case fail.Reason == ReasonNoResources:
		a.f.makeRoom()
	case cause == nil || !errors.Is(cause, context.Canceled):
		a.f.names.failed(a.url.Hostname(), a.grant.Addr())
	}
	return fail
}

// open opens the TCP connection, through the proxy if there is one.
func (a *attempt) open(ctx context.Context) (net.Conn, error) {
	a.watch.enter(reasonConnectTimeout, a.f.cfg.ConnectTimeout)
	target := net.JoinHostPort(a.grant.Addr().String(), a.url.Port())
	if a.f.cfg.Proxy == nil {
		return a.f.cfg.DialContext(ctx, "tcp", target)
	}
	c, err := a.f.viaProxy(ctx, target)
	if err != nil && !full(err) && context.Cause(ctx) == nil {
		err = &Error{Phase: phaseConnect, Reason: proxyReason(err), Err: err}
	}
	return c, err
}

// errTarget is wrapped by the error that a proxy could not connect to the requested host.
var errTarget = errors.New("the proxy has not connected")

// proxyReason returns the reason code for an error of a proxy: the proxy cannot reach the host, or it cannot be used for any host.
func proxyReason(err error) string {
	// Package socks has no error type for a proxy's reply that reports an error.
	if errors.Is(err, errTarget) || strings.Contains(err.Error(), "unknown error ") {
		return ReasonProxy
	}
	return ReasonProxyUnusable
}

// secure adds TLS and the wire to a connection, in the order that the negotiated protocol needs. It returns the connection that net/http
// uses.
func (a *attempt) secure(ctx context.Context, raw net.Conn) (net.Conn, error) {
	if a.url.Scheme() == "http" {
		a.conn.wire = &wire{Conn: raw, h1: true}
		return a.conn.wire, nil
	}
	a.watch.enter(reasonTLSTimeout, a.f.cfg.TLSTimeout)
	below := &wire{Conn: raw}
	cfg := a.f.tlsConfig(a.url.Hostname())
	a.conn.insecure = cfg.InsecureSkipVerify
	secured := tls.Client(below, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		a.conn.wire = below
		return secured, nil
	}
	a.conn.wire = &wire{Conn: secured, h1: true}
	return a.conn.wire, nil
}

// readyConn is the context key under which client passes its connection to the Transport's dialers.
type readyConn struct{}

// client makes net/http's client for one connection. It keeps no pool and repeats no request.
func (f *Fetcher) client(ctx context.Context, scheme, host string, ready net.Conn) (*http.ClientConn, error) {
	c, err := f.transport.NewClientConn(context.WithValue(ctx, readyConn{}, ready), scheme, host)
	if err != nil {
		return nil, err
	}
	return c, c.Reserve()
}

// handOver is the dialer of the Transport, with and without TLS: it returns the connection in ctx.
func handOver(ctx context.Context, _, _ string) (net.Conn, error) {
	c, ok := ctx.Value(readyConn{}).(net.Conn)
	if !ok {
		return nil, errors.New("no connection at hand")
	}
	return c, nil
}

// tlsConfig returns the configuration for a connection to hostname, whose certificate is verified unless the operator
// exempted the name.
func (f *Fetcher) tlsConfig(hostname string) *tls.Config {
	c := f.tls.Clone()
	c.ServerName = hostname
	c.InsecureSkipVerify = f.insecure[hostname]
	return c
}

// viaProxy opens a tunnel to target, which is an IP address, so that the proxy does not look up names.
func (f *Fetcher) viaProxy(ctx context.Context, target string) (net.Conn, error) {
	p := f.cfg.Proxy
	if p.Scheme == "socks5" {
		return f.socks(ctx, target)
	}
	c, err := f.cfg.DialContext(ctx, "tcp", proxyHost(p))
	if err != nil {
		return nil, err
	}
	if p.Scheme == "https" {
		cfg := f.tlsConfig(p.Hostname())
		cfg.NextProtos = nil
		secured := tls.Client(c, cfg)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		c = secured
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	err = tunnel(c, p, target)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func proxyHost(p *url.URL) string {
	if port := p.Port(); port != "" {
		return net.JoinHostPort(p.Hostname(), port)
	}
	return net.JoinHostPort(p.Hostname(), map[string]string{"http": "80", "https": "443", "socks5": "1080"}[p.Scheme])
}

// tunnel requests a tunnel with CONNECT (RFC 9110 section 9.3.6).
func tunnel(c net.Conn, p *url.URL, target string) error {
	auth := ""
	if p.User != nil {
		password, _ := p.User.Password()
		auth = "Proxy-Authorization: " + BasicAuth(p.User.Username(), password) + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, target, auth); err != nil {
		return err
	}
	head, err := readHead(c)
	if err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusForbidden, code/100 == 5 && code != http.StatusNotImplemented:
		return fmt.Errorf("%w: it answers %s", errTarget, resp.Status)
	}
	return errors.New("the proxy answers " + resp.Status)
}

// readHead reads a header section and no byte after it, because the next byte belongs to the tunnel.
func readHead(c net.Conn) ([]byte, error) {
	head := make([]byte, 0, 512)
	var b [1]byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if len(head) == maxProxyAnswer {
			return nil, errors.New("the proxy's answer is too long")
		}
		n, err := c.Read(b[:])
		if n == 1 {
			head = append(head, b[0])
		} else if err != nil {
			return nil, err
		}
	}
	return head, nil
}

// forward makes the SOCKS client connect as the Fetcher does.
type forward struct{ f *Fetcher }

func (d forward) Dial(network, addr string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, addr)
}

func (d forward) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.f.cfg.DialContext(ctx, network, addr)
}

func (f *Fetcher) socks(ctx context.Context, target string) (net.Conn, error) {
	var auth *proxy.Auth
	if u := f.cfg.Proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", proxyHost(f.cfg.Proxy), auth, forward{f})
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", target)
}

// BasicAuth returns the Authorization value for a user and a password (RFC 7617), for Config.Headers.
func BasicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// descriptorPause is the time between two attempts while no file descriptor is available.
const descriptorPause = 100 * time.Millisecond

// full reports whether err means that this process, or this machine, cannot open another file.
func full(err error) bool {
	var dns *net.DNSError // net.DNSError keeps only the text of its cause
	if errors.As(err, &dns) {
		return strings.Contains(dns.Err, syscall.EMFILE.Error()) || strings.Contains(dns.Err, syscall.ENFILE.Error())
	}
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// makeRoom closes the idle connections.
func (f *Fetcher) makeRoom() { f.pool.closeAll() }

// connect opens the TCP connection. If no file descriptor is available, it waits for one as long as the Permit is valid, with time limits
// suspended.
func (a *attempt) connect(ctx context.Context) (net.Conn, error) {
	for {
		c, err := a.open(ctx)
		if !full(err) {
			return c, err
		}
		a.f.makeRoom()
		if !a.awaitRoom(ctx) {
			return nil, &Error{Phase: phaseConnect, Reason: ReasonPermit, Err: err}
		}
	}
}

// awaitRoom waits before the next attempt to connect, and reports whether to make it.
func (a *attempt) awaitRoom(ctx context.Context) bool {
	defer a.watch.pause()()
	left := time.Until(a.expires)
	return left > 0 && sleep(ctx, min(left, descriptorPause))
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
