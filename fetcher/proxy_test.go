package fetcher

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// tunnels returns a CONNECT proxy that records its requests and connects all of them to one server.
func tunnels(t *testing.T, to string, asked *[]string, mu *sync.Mutex) string {
	return raw(t, func(c netConn) {
		req := request(c)
		mu.Lock()
		*asked = append(*asked, req)
		mu.Unlock()
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n")
		join(c, to)
	})
}

func join(c netConn, to string) {
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(up, c); up.(*net.TCPConn).CloseWrite() })
	io.Copy(c, up)
	c.Close()
	up.Close()
	wg.Wait()
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The proxy always gets the pinned address and never a name, for http and https.
func TestProxyTunnelsToThePinnedAddress(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.RequestURI) })
	secure, c := serveTLS(t, true, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, " ", r.Proto) })
	pinned := netip.MustParseAddr("93.184.215.14")
	c.Resolver = hosts{"example.com": {pinned}}

	c.Proxy = mustURL(t, strings.Replace(tunnels(t, plain.Listener.Addr().String(), &asked, &mu), "http://", "http://u:p@", 1))
	r := newRig(t, c)
	if p := r.page("http://example.com/x"); string(p.Body) != "example.com /x" || p.Addr != pinned {
		t.Fatalf("%q", p.Body)
	}
	c.Proxy = mustURL(t, tunnels(t, secure.Listener.Addr().String(), &asked, &mu))
	r = newRig(t, c)
	if p := r.page("https://example.com/"); string(p.Body) != "example.com HTTP/2.0" {
		t.Fatalf("%q", p.Body)
	}
	want := []string{
		"CONNECT 93.184.215.14:80 HTTP/1.1\r\nHost: 93.184.215.14:80\r\nProxy-Authorization: Basic dTpw\r\n\r\n",
		"CONNECT 93.184.215.14:443 HTTP/1.1\r\nHost: 93.184.215.14:443\r\n\r\n",
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Fatalf("asked %q", asked)
	}
}

// The connection to the proxy may use TLS, and its certificate is verified like any other.
func TestProxyOverTLS(t *testing.T) {
	now := time.Now()
	cert, trust := selfSigned(t, now.Add(-time.Hour), now.Add(time.Hour), "proxy.test")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	secured := func(next func(netConn)) func(netConn) {
		return func(c netConn) {
			next(tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1", "h2"}}))
		}
	}
	proxy := raw(t, secured(func(c netConn) {
		if strings.HasPrefix(request(c), "CONNECT 93.184.215.14:80 ") {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			join(c, s.Listener.Addr().String())
		}
	}))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(proxy, "http://"))
	c := Config{
		Proxy: mustURL(t, "https://proxy.test:"+port), RootCAs: trust, Resolver: hosts{"example.com": addrs("93.184.215.14")},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, strings.Replace(addr, "proxy.test", "127.0.0.1", 1))
		},
	}
	if p := newRig(t, c).page("http://example.com/"); string(p.Body) != "example.com" {
		t.Fatalf("%q", p.Body)
	}
	c.RootCAs = nil
	newRig(t, c).wantReason("http://example.com/", phaseConnect, ReasonProxyUnusable)
}

// A proxy is not offered HTTP/2, because CONNECT is written as HTTP/1.1.
func TestProxyOverTLSSpeaksHTTP1(t *testing.T) {
	now := time.Now()
	cert, trust := selfSigned(t, now.Add(-time.Hour), now.Add(time.Hour), "proxy.test")
	chosen := make(chan string, 1)
	proxy := raw(t, func(c netConn) {
		secured := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
		if secured.Handshake() == nil {
			chosen <- secured.ConnectionState().NegotiatedProtocol
		}
	})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(proxy, "http://"))
	newRig(t, Config{
		Proxy: mustURL(t, "https://proxy.test:"+port), RootCAs: trust, Resolver: hosts{"example.com": addrs("93.184.215.14")},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, strings.Replace(addr, "proxy.test", "127.0.0.1", 1))
		},
	}).wantReason("http://example.com/", phaseConnect, ReasonProxyUnusable)
	if p := <-chosen; p != "" {
		t.Errorf("the proxy chose %q", p)
	}
}

// A proxy's response to CONNECT is read only up to a size limit.
func TestProxyAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		n := newPipes(func(c netConn) {
			request(c)
			line := "HTTP/1.1 200 OK\r\n"
			for err := error(nil); err == nil && sent < 4*maxProxyAnswer; line = "X: y\r\n" {
				var n int
				n, err = io.WriteString(c, line)
				sent += n
			}
			io.Copy(io.Discard, c) // until the other side closes
		})
		r := n.rig(t, Config{Proxy: mustURL(t, "http://proxy.test:3128")})
		e := r.wantReason("http://a.test/", phaseConnect, ReasonProxyUnusable)
		synctest.Wait()
		if sent > maxProxyAnswer+8 || !strings.Contains(e.Error(), "too long") {
			t.Errorf("%d bytes were read: %v", sent, e)
		}
	})
}

func TestSOCKS5(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	got := make(chan string, 1)
	socks := raw(t, func(c netConn) {
		b := make([]byte, 2)
		io.ReadFull(c, b)
		io.ReadFull(c, make([]byte, b[1]))
		c.Write([]byte{5, 0})
		req := make([]byte, 10) // version, command, reserved, type, IPv4, port
		io.ReadFull(c, req)
		got <- fmt.Sprintf("%d %d %v:%d", req[1], req[3], net.IP(req[4:8]), binary.BigEndian.Uint16(req[8:]))
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join(c, s.Listener.Addr().String())
	})
	r := newRig(t, Config{Proxy: mustURL(t, strings.Replace(socks, "http", "socks5", 1)), Resolver: hosts{"example.com": addrs("93.184.215.14")}})
	if p := r.page("http://example.com/"); string(p.Body) != "example.com" {
		t.Fatalf("%q", p.Body)
	}
	if a := <-got; a != "1 1 93.184.215.14:80" {
		t.Fatal(a)
	}
}

// An error reply from a SOCKS proxy counts against the host; without a valid reply, the proxy counts as unusable.
func TestSOCKS5Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		hello, reply []byte
		reason       string
	}{
		"host unreachable":   {[]byte{5, 0}, []byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}, ReasonProxy},
		"connection refused": {[]byte{5, 0}, []byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0}, ReasonProxy},
		"wants a login":      {[]byte{5, 0xff}, nil, ReasonProxyUnusable},
		"another version":    {[]byte{4, 0}, nil, ReasonProxyUnusable},
		"ends":               {[]byte{5}, nil, ReasonProxyUnusable},
		"ends later":         {[]byte{5, 0}, nil, ReasonProxyUnusable},
	} {
		socks := raw(t, func(c netConn) {
			b := make([]byte, 2)
			io.ReadFull(c, b)
			io.ReadFull(c, make([]byte, b[1]))
			c.Write(tc.hello)
			if tc.reply != nil {
				io.ReadFull(c, make([]byte, 10))
				c.Write(tc.reply)
			}
		})
		r := newRig(t, Config{Proxy: mustURL(t, strings.Replace(socks, "http", "socks5", 1)), Resolver: hosts{"example.com": addrs("93.184.215.14")}})
		if _, err := r.fetch("http://example.com/"); ReasonOf(err) != tc.reason {
			t.Errorf("%s: %v, want %s", name, err, tc.reason)
		}
	}
}

// The guard also applies with a proxy.
func TestProxyDoesNotLiftTheGuard(t *testing.T) {
	r := newRig(t, Config{AllowAddresses: []netip.Prefix{}, Proxy: mustURL(t, "http://127.0.0.1:1"), Resolver: hosts{"a.test": addrs("10.0.0.1")}})
	if _, err := r.f.Resolve(t.Context(), parse(t, "http://a.test/")); ReasonOf(err) != ReasonAddress {
		t.Fatal(err)
	}
}

func TestProxyFaults(t *testing.T) {
	const cannot, failed = ReasonProxyUnusable, ReasonProxy
	for name, tc := range map[string]struct{ answer, reason string }{
		"talks nonsense":          {"220 hello\r\n\r\n", cannot},
		"ends":                    {"HTTP/1.1 200", cannot},
		"ends at once":            {"", cannot},
		"endless header":          {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 10_000), cannot},
		"wants a login":           {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", cannot},
		"is a web server":         {"HTTP/1.1 405 Method Not Allowed\r\n\r\n", cannot},
		"is a simple web server":  {"HTTP/1.1 501 Not Implemented\r\n\r\n", cannot},
		"is a web server, too":    {"HTTP/1.1 400 Bad Request\r\n\r\n", cannot},
		"does not know the path":  {"HTTP/1.1 404 Not Found\r\n\r\n", cannot},
		"refuses the host":        {"HTTP/1.1 403 Forbidden\r\n\r\n", failed},
		"does not reach the host": {"HTTP/1.1 502 Bad Gateway\r\n\r\n", failed},
		"has no answer of it":     {"HTTP/1.1 504 Gateway Timeout\r\n\r\n", failed},
		"is overloaded":           {"HTTP/1.1 503 Service Unavailable\r\n\r\n", failed},
	} {
		r := newRig(t, Config{Proxy: mustURL(t, answer(t, tc.answer)), Resolver: hosts{"a.test": addrs("93.184.215.14")}})
		e := r.wantReason("http://a.test/", phaseConnect, tc.reason)
		if !e.Temporary() || !e.Written.IsZero() {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for _, scheme := range []string{"http", "https", "socks5"} {
		r := newRig(t, Config{Proxy: mustURL(t, scheme+"://127.0.0.1:2"), Resolver: hosts{"a.test": addrs("93.184.215.14")}})
		r.wantReason("http://a.test/", phaseConnect, cannot)
	}
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(func(c netConn) { io.Copy(io.Discard, c) })
		r := n.rig(t, Config{Proxy: mustURL(t, "http://proxy.test:3128")})
		start := time.Now()
		r.wantReason("http://a.test/", phaseConnect, reasonConnectTimeout)
		if d := time.Since(start); d != DefaultConnectTimeout {
			t.Fatal(d)
		}
	})
}
