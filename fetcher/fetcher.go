// Package fetcher makes one GET request per Permit and limits its time, header, body and decoding. It follows no redirects and does
// not retry: the crawler decides what to do next, and needs another Permit for it.
//
// [Client] makes the request that a URL needs next: the Gate returns the URL to request, [Fetcher.Resolve] finds its address (cached DNS,
// and the address guard), the Gate permits the request, [Fetcher.Fetch] sends it to that address and no other, and the Client reports the
// outcome. Programs that request one URL call [Client.Get].
//
// # Connections
//
// A connection is reused only by requests to the same scheme, host, port and address, one at a time, and only if the previous response
// was read to its end. The Grant's Begin is called immediately before the request's first byte; if it fails, nothing is written. A
// request is never sent a second time once a byte of it has been written.
//
// net/http itself writes a line to the standard logger when a server sends more than was requested, as hostile and broken servers do.
// log.SetOutput suppresses these lines. Nothing else in this package logs.
//
// With a proxy, every request goes through a tunnel to the pinned address (CONNECT, or SOCKS 5), for http and https alike: the proxy
// resolves no name, so the address guard also protects requests through a proxy. The proxy must allow tunnels to the ports that are
// crawled.
//
// # Limits
//
// Each limit is a field of [Config]. If a limit is reached before the response's header is complete, Fetch returns an *[Error]. If it is
// reached later, the body is incomplete, and [Page.Truncated] has the reason. The codes are the Reason constants.
package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

var errClosed = errors.New("fetcher closed")

// Fetcher makes requests, each for one Permit. It is safe for concurrent use. Call [Fetcher.Close] when all calls of Fetch have returned.
type Fetcher struct {
	cfg       Config
	guard     *addressGuard
	names     *names
	pins      *pins
	pool      *pool
	transport *http.Transport
	tls       *tls.Config     // template for the configurations of all connections
	insecure  map[string]bool // host names whose certificates are not verified
	header    http.Header     // header fields of all requests
	codecs    codecs
	buffers   buffers
	jar       *Jar // nil if cookies are off
	closed    atomic.Bool
}

// New makes a Fetcher. The error is that of [Config.Validate].
func New(c Config) (*Fetcher, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	f := &Fetcher{
		guard:    newGuard(c.AllowAddresses...),
		pool:     newPool(c.MaxIdle, c.IdleConnTimeout),
		insecure: make(map[string]bool, len(c.InsecureHosts)),
	}
	if c.DialContext == nil {
		c.DialContext = systemDialer(&c)
	}
	for _, h := range c.InsecureHosts {
		f.insecure[h] = true
	}
	if f.jar = c.Jar; c.Cookies && f.jar == nil {
		f.jar = NewJar()
	}
	f.cfg = c
	f.pins = newPins(&f.cfg, f.guard)
	f.names = newNames(&f.cfg, f.pins, f.makeRoom)
	f.tls = patternTLS(&f.cfg)
	f.transport = newTransport(&f.cfg)
	f.header = constantHeader(&f.cfg)
	f.codecs.window = uint64(c.MaxWindow)
	return f, nil
}

func systemDialer(c *Config) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{KeepAlive: 30 * time.Second}
	if c.LocalAddr.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: c.LocalAddr.AsSlice(), Zone: c.LocalAddr.Zone()}
	}
	return d.DialContext
}

func patternTLS(c *Config) *tls.Config {
	protocols := []string{"h2", "http/1.1"}
	if c.DisableHTTP2 || c.Record {
		protocols = protocols[1:]
	}
	return &tls.Config{
		RootCAs:            c.RootCAs,
		NextProtos:         protocols,
		ClientSessionCache: tls.NewLRUClientSessionCache(c.MaxIdle),
	}
}

// newTransport returns a Transport that uses only the connections passed to it, and does not dial, pool, decode or repeat anything.
func newTransport(c *Config) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext:            handOver,
		DialTLSContext:         handOver,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(c.MaxHeader),
		ReadBufferSize:         8 << 10,
		WriteBufferSize:        4 << 10,
		Protocols:              &protocols,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 1 << 20,
		},
	}
}

// CloseIdle closes the idle connections to one host (host:port, in the form of weburl.URL.Host), which will not be requested soon.
func (f *Fetcher) CloseIdle(host string) { f.pool.closeHost(host) }

// Close closes idle connections, cancels look-ups and waits for them. A Fetch or Resolve that begins later fails with "closed", and a
// Fetch in progress closes its connection when it ends.
func (f *Fetcher) Close() {
	f.closed.Store(true)
	f.pool.close()
	f.names.close()
}

// Validators make a request conditional (RFC 9110 section 13.1): for a page that has not changed, the server
// may answer 304 instead of sending the same body again. Empty fields are not sent.
type Validators struct {
	ETag         string // as received, including quotes
	LastModified string
}

// Fetch redeems p and makes its one request. It returns a Page if the response's header was read to its end, whatever the status, even if
// the body is incomplete. Otherwise it returns an *[Error]. Both must be reported to the Gate, as [Page.Reply] or [ReplyForError]; a
// [Client] does so.
func (f *Fetcher) Fetch(ctx context.Context, p politeness.Permit) (*Page, error) {
	v, _ := ctx.Value(validatorsKey{}).(Validators)
	return f.exchange(ctx, p, v, nil)
}

type validatorsKey struct{}

// WithValidators returns a context with the validators of an earlier response, which makes the request of a Fetch conditional. A response
// with status 304 has no body. Types that wrap a Fetcher pass the validators on with the context.
func WithValidators(ctx context.Context, v Validators) context.Context {
	return context.WithValue(ctx, validatorsKey{}, v)
}

// exchange makes the request of a Permit: a POST if form is not nil, otherwise a GET.
func (f *Fetcher) exchange(ctx context.Context, p politeness.Permit, v Validators, form []byte) (*Page, error) {
	started := time.Now()
	if f.closed.Load() {
		return nil, &Error{Phase: PhaseRequest, Reason: reasonClosed, Err: errClosed, Ended: started}
	}
	if (p.Purpose() == politeness.Login) != (form != nil) {
		return nil, &Error{Phase: PhaseRequest, Reason: reasonPermitInvalid, Err: errMethod, Ended: started}
	}
	grant, err := p.Redeem()
	if err != nil {
		return nil, notSent(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{f: f, grant: grant, expires: p.Expires(), url: grant.URL(), purpose: grant.Purpose(), validators: v, form: form}
	x.watch = newWatch(cancel, started, f.cfg.FetchTimeout, f.cfg.MinRate)
	defer x.watch.stop()
	page, fail := x.run(ctx)
	if fail != nil {
		fail.Ended = time.Now()
		return nil, fail
	}
	page.Permit, page.Started = p, started
	return page, nil
}

// notSent returns the error for a Permit or Grant that does not allow the request.
func notSent(err error) *Error {
	e := &Error{Phase: PhaseRequest, Err: err, Ended: time.Now()}
	switch {
	case errors.Is(err, politeness.ErrExpired):
		e.Reason = ReasonPermit
	case errors.Is(err, politeness.ErrUsed), errors.Is(err, politeness.ErrNoPermit):
		e.Reason = reasonPermitInvalid
	default:
		e.Reason = ReasonLedger
	}
	return e
}

// key returns the key in the pool of a connection for u.
func key(u weburl.URL, g politeness.Grant) connKey {
	return connKey{scheme: u.Scheme(), host: u.Host(), addr: g.Addr()}
}
