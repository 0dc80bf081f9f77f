package crawltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func serverClient(t *testing.T, s *Server) *http.Client {
	tr := &http.Transport{
		DialContext: s.DialContext, TLSClientConfig: &tls.Config{RootCAs: s.RootCAs()},
		MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, ResponseHeaderTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// full is a listener that at first has no file descriptor.
type full struct {
	net.Listener
	until time.Time
}

func (f *full) Accept() (net.Conn, error) {
	if time.Now().Before(f.until) {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return nil, net.ErrClosed
}

func TestServerWaitsForDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := acceptFrom(&full{until: time.Now().Add(time.Second)}); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestServerFaults checks how each fault appears to a net/http client.
func TestServerFaults(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	for name, tt := range map[string]struct {
		wire Wire
		want string // part of the response body, or of the error
	}{
		"page":             {nil, "sound"},
		"text":             {Text("HTTP/1.0 200 OK\r\n\r\nold"), "old"},
		"early close":      {EarlyClose(), "EOF"},
		"reset":            {ResetConn(), "connection reset by peer"},
		"slow first byte":  {SlowFirstByte(time.Millisecond, "late"), "late"},
		"drip":             {Drip("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", time.Microsecond), "ok"},
		"status line":      {StatusLine("HTPP/1.1 2oo Fine"), "malformed HTTP"},
		"few headers":      {HeaderFlood(10), "ok"},
		"many headers":     {HeaderFlood(10000), "server response headers exceeded"},
		"long header":      {LongHeader(100000), "server response headers exceeded"},
		"endless header":   {EndlessHeader(), "server response headers exceeded"},
		"few 1xx":          {Informational(3), "ok"},
		"chunks":           {Chunks("2\r\nok\r\n0\r\n\r\n"), "ok"},
		"bad chunk size":   {Chunks("xyz\r\nok"), "invalid byte in chunk length"},
		"chunk cut":        {Chunks("8\r\nok"), "unexpected EOF"},
		"length too long":  {Length("10", "ok"), "unexpected EOF"},
		"length too short": {Length("1", "ok"), "o"},
		"length no number": {Length("-1", "ok"), "bad Content-Length"},
		"gzip":             {Encoded("gzip", bomb.Bytes()), strings.Repeat("\x00", 1<<20)},
		"garbage after":    {GarbageAfter("ok", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"), "ok"},
		"reset mid body":   {ResetMidBody("half", time.Millisecond), "connection reset by peer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewServer(t)
			for _, site := range []*ServerSite{s.Site("a.example"), s.Site("https://b.example")} {
				site.Page("/", "sound")
				if tt.wire != nil {
					site.Raw("/", tt.wire)
				}
				_, body, err := get(serverClient(t, s), site.URL("/"))
				got := body
				if err != nil {
					got = err.Error()
				}
				if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
					t.Errorf("%s: got %.200q", site.URL("/"), got)
				}
			}
		})
	}
}

// TestServerEndlessAnswersEndWithTheClient checks that the server's goroutines end when the client disconnects.
func TestServerEndlessAnswersEndWithTheClient(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, w := range map[string]Wire{"silent": Silent(), "body": EndlessBody(), "header": EndlessHeader(), "101": SwitchProtocols()} {
		s := NewServer(t)
		site := s.Site("a.example").Raw("/", w)
		conn, err := s.DialContext(context.Background(), "tcp", site.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
		if name != "silent" {
			if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name == "body" {
			_ = conn.Close()
		}
		s.Close()
		s.Close()
		_ = conn.Close()
	}
}

func TestServerSitesHaveAddressesOfTheirOwn(t *testing.T) {
	s := NewServer(t)
	a, b := s.Site("a.example").Page("/x?y", "a"), s.Site("b.example").Page("/x?y", "b")
	if a.Addr().Addr() == b.Addr().Addr() {
		t.Error("one address")
	}
	c := serverClient(t, s)
	for _, site := range []*ServerSite{a, b, a} {
		if _, body, err := get(c, site.URL("/x?y")); err != nil || len(body) != 1 {
			t.Errorf("%q %v", body, err)
		}
	}
	if resp, _, err := get(c, a.URL("/none")); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", resp, err)
	}
	_, _, err := get(c, "http://c.example/")
	var dns *net.DNSError
	if !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("unknown name: %v", err)
	}
	rs := s.Requests()
	if len(rs) != 4 || rs[1].URL != b.URL("/x?y") || rs[1].Addr != b.Addr() || rs[1].UserAgent != ua || rs[3].Line != "GET /none HTTP/1.1" {
		t.Errorf("log %+v", rs)
	}
	s.Close()
	if _, _, err := get(c, a.URL("/")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v", err)
	}
}

func TestServerRawConnWithALPN(t *testing.T) {
	s := NewServer(t)
	got := make(chan string, 1)
	site := s.Site("https://a.example").ALPN("h2").RawConn(func(c net.Conn) {
		preface := make([]byte, len("PRI * HTTP/2.0"))
		_, _ = io.ReadFull(c, preface)
		got <- c.(*tls.Conn).ConnectionState().NegotiatedProtocol + " " + string(preface)
		_, _ = io.WriteString(c, "these are no frames")
		idle(c, hold)
	})
	if _, _, err := get(serverClient(t, s), site.URL("/")); err == nil {
		t.Error("an answer without frames was accepted")
	}
	if p := <-got; p != "h2 PRI * HTTP/2.0" {
		t.Errorf("got %q", p)
	}
}
