package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n"

// dripping returns a server that reads the request, sends the parts with pauses between them, and then stays silent.
func dripping(pause time.Duration, parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		if request(c) == "" {
			return
		}
		for _, p := range parts {
			time.Sleep(pause)
			if _, err := io.WriteString(c, p); err != nil {
				return
			}
		}
		io.Copy(io.Discard, c)
	}
}

func repeat(n int, s string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// TestTimeLimits checks each time limit at its default, in virtual time: when the limit expires, and with which reason.
func TestTimeLimits(t *testing.T) {
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	for _, tc := range []struct {
		name          string
		url           string
		config        Config
		connect       time.Duration
		talk          func(net.Conn)
		phase, reason string // the expected error
		truncated     string // why the page is truncated; then there is no error
		after         time.Duration
		body          int
	}{
		{name: "connect", connect: time.Hour, phase: phaseConnect, reason: reasonConnectTimeout, after: DefaultConnectTimeout},
		{name: "TLS handshake", url: "https://a.test/", talk: silent, phase: phaseTLS, reason: reasonTLSTimeout, after: DefaultTLSTimeout},
		{name: "connect, then TLS", url: "https://a.test/", connect: 9 * time.Second, talk: silent, phase: phaseTLS, reason: reasonTLSTimeout, after: 19 * time.Second},
		{name: "first byte", talk: silent, phase: PhaseHeader, reason: reasonHeaderTimeout, after: DefaultFirstByteTimeout},
		{name: "silence in the header", talk: dripping(time.Second, "HTTP/1.1 200 OK\r\nServer: x"), phase: PhaseHeader, reason: reasonIdleTimeout, after: 16 * time.Second},
		{name: "header in drips", talk: dripping(time.Second, repeat(60, "HTTP/1.1 200 OK\r\nX: y")...), phase: PhaseHeader, reason: reasonFetchTimeout, after: DefaultFetchTimeout},
		{name: "informational answers in drips", talk: dripping(2*time.Second, repeat(60, "HTTP/1.1 102 Processing\r\n\r\n")...), phase: PhaseHeader, reason: reasonFetchTimeout, after: DefaultFetchTimeout},
		{name: "silence in the body", talk: dripping(0, okHead, "some"), truncated: reasonIdleTimeout, after: DefaultIdleTimeout, body: 4},
		{name: "silence before the body", talk: dripping(0, okHead), truncated: reasonIdleTimeout, after: DefaultIdleTimeout},
		{name: "body in drips", talk: dripping(1100*time.Millisecond, append([]string{okHead}, repeat(60, "x")...)...), truncated: reasonFetchTimeout, after: DefaultFetchTimeout, body: 26},
		{name: "chunk extension in drips", talk: dripping(time.Second, append([]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;"}, repeat(60, "x")...)...), truncated: reasonFetchTimeout, after: DefaultFetchTimeout},
		{name: "too slow", config: Config{MinRate: 10}, talk: dripping(700*time.Millisecond, append([]string{okHead}, repeat(60, "x")...)...), truncated: reasonSlow, after: 5700 * time.Millisecond, body: 7},
		{name: "just fast enough, then not", config: Config{MinRate: 1}, talk: dripping(time.Second, append([]string{okHead}, repeat(8, "xx")...)...), truncated: reasonSlow, after: 16 * time.Second, body: 16},
		{name: "unlimited by close, in drips", talk: dripping(1100*time.Millisecond, append([]string{"HTTP/1.0 200 OK\r\n\r\n"}, repeat(60, "x")...)...), truncated: reasonFetchTimeout, after: DefaultFetchTimeout, body: 26},
		{name: "switching protocols and silence", talk: dripping(0, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), phase: PhaseHeader, reason: reasonSwitching},
		{name: "longer whole", config: Config{FetchTimeout: time.Minute, IdleTimeout: 50 * time.Second}, talk: dripping(0, okHead, "some"), truncated: reasonIdleTimeout, after: 50 * time.Second, body: 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newPipes(tc.talk)
				n.delay = tc.connect
				r := n.rig(t, tc.config)
				r.gate = newGate(t, politeness.Config{PermitTTL: time.Hour})
				url := tc.url
				if url == "" {
					url = "http://a.test/"
				}
				p := r.permit(url, politeness.Page)
				start := time.Now()
				page, err := r.f.Fetch(t.Context(), p)
				if d := time.Since(start); d != tc.after {
					t.Errorf("ended after %v, want %v", d, tc.after)
				}
				if tc.reason != "" {
					var e *Error
					if !errors.As(err, &e) || e.Reason != tc.reason || e.Phase != tc.phase || e.Ended != time.Now() || e.Temporary() != (tc.reason != reasonSwitching) {
						t.Fatalf("got %#v, want %s/%s", err, tc.phase, tc.reason)
					}
				} else if err != nil || page.Truncated != tc.truncated || len(page.Body) != tc.body || page.Ended != time.Now() {
					t.Fatalf("got %+v, %v; want a page cut by %s", page, err, tc.truncated)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

func TestCancelEndsAFetchAtOnce(t *testing.T) {
	for name, talk := range map[string]func(net.Conn){
		PhaseHeader: func(c net.Conn) { io.Copy(io.Discard, c) },
		PhaseBody:   dripping(0, okHead, "some"),
	} {
		bubble(t, Config{}, talk, func(r *rig) {
			p := r.permit("http://a.test/", politeness.Page)
			ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := r.f.Fetch(ctx, p)
			var e *Error
			if !errors.As(err, &e) || e.Reason != ReasonCanceled || e.Phase != name || e.Temporary() || time.Since(start) != time.Second {
				t.Fatalf("%s: %v after %v", name, err, time.Since(start))
			}
		})
	}
}

func TestTimeBudgetIsSharedByThePhases(t *testing.T) {
	bubble(t, Config{FetchTimeout: 5 * time.Second}, func(c net.Conn) { io.Copy(io.Discard, c) }, func(r *rig) {
		e := r.wantReason("http://a.test/", PhaseHeader, reasonFetchTimeout)
		if !e.Temporary() {
			t.Fatal("not temporary")
		}
	})
}

func TestHeaderLimits(t *testing.T) {
	field := "X-Filler: " + strings.Repeat("x", 1000) + "\r\n"
	for _, tc := range []struct{ name, answer, reason string }{
		{"256 KiB of header", "HTTP/1.1 200 OK\r\n" + strings.Repeat(field, 300), reasonHeaderTooBig},
		{"one endless line", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300_000), reasonHeaderTooBig},
		{"501 fields", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 501) + "\r\n", reasonHeaderTooBig},
		{"endless status line", "HTTP/1.1 200 " + strings.Repeat("O", 300_000), reasonHeaderTooBig},
		{"21 informational answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 21) + "HTTP/1.1 204 No Content\r\n\r\n", reasonHeaderTooBig},
		{"few long informational answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\n"+strings.Repeat(field, 100)+"\r\n", 4) + "HTTP/1.1 204 No Content\r\n\r\n", reasonHeaderTooBig},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", reasonSwitching},
		{"switching without upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n", reasonSwitching},
		{"status 99", "HTTP/1.1 099 What\r\n\r\n", reasonMalformed},
		{"status with letters", "HTTP/1.1 2x0 OK\r\n\r\n", reasonMalformed},
		{"no status", "HTTP/1.1\r\n\r\n", reasonMalformed},
		{"another protocol", "220 mail.test ESMTP\r\n", reasonMalformed},
		{"HTTP/0.9", "<html>hello</html>\r\n\r\n", reasonMalformed},
		{"HTTP/3 text", "HTTP/3.0 200 OK\r\n\r\n", ""},
		{"field without colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", reasonMalformed},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", reasonMalformed},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab", reasonMalformed},
		{"unknown transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", reasonMalformed},
		{"ends in the header", "HTTP/1.1 200 OK\r\nServ", ReasonCutShort},
		{"ends at once", "", reasonNoAnswer},
		{"500 fields", "HTTP/1.1 204 No Content\r\n" + strings.Repeat("X: y\r\n", 500) + "\r\n", ""},
		{"20 informational answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20) + "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{"status 999", "HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n", ""},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Config{})
			url := answer(t, tc.answer)
			if tc.reason != "" {
				e := r.wantReason(url, PhaseHeader, tc.reason)
				if want := tc.reason == ReasonCutShort || tc.reason == reasonNoAnswer; e.Temporary() != want {
					t.Errorf("Temporary is %v", !want)
				}
			} else {
				r.page(url)
			}
		})
	}
}

func TestHeaderLimitsHTTP2(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"size": func(w http.ResponseWriter, r *http.Request) {
			for i := range 300 {
				w.Header().Set(fmt.Sprintf("X-Filler-%d", i), strings.Repeat("x", 1000))
			}
		},
		"fields": func(w http.ResponseWriter, r *http.Request) {
			for i := range 501 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "y")
			}
		},
		"informational": func(w http.ResponseWriter, r *http.Request) {
			for range 21 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := serveTLS(t, true, h)
			newRig(t, c).wantReason(named(s, "/"), PhaseHeader, reasonHeaderTooBig)
		})
	}
}

func TestBodyLimits(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.URL.Query().Get("n"), &n)
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		if r.URL.Query().Has("chunked") {
			w.(http.Flusher).Flush()
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(n))
		}
		piece := make([]byte, 64<<10)
		for n > 0 {
			m, err := w.Write(piece[:min(n, len(piece))])
			if n -= m; err != nil {
				return
			}
		}
	})
	for _, tc := range []struct {
		purpose politeness.Purpose
		n       int
		want    int
		reason  string
	}{
		{politeness.Page, DefaultMaxBody, DefaultMaxBody, ""},
		{politeness.Page, DefaultMaxBody + 1, DefaultMaxBody, reasonLength},
		{politeness.Robots, DefaultMaxRobots, DefaultMaxRobots, ""},
		{politeness.Robots, DefaultMaxRobots + 1, DefaultMaxRobots, reasonLength},
		{politeness.Sitemap, DefaultMaxBody + 1, DefaultMaxBody + 1, ""},
		{politeness.Sitemap, DefaultMaxSitemap + 1, DefaultMaxSitemap, reasonLength},
	} {
		for _, chunked := range []string{"", "&chunked"} {
			if chunked != "" && tc.n > 2*DefaultMaxBody {
				continue // a long case that tests nothing new
			}
			r := newRig(t, Config{})
			url := fmt.Sprintf("%s/?n=%d%s", s.URL, tc.n, chunked)
			var p *Page
			var err error
			if tc.purpose == politeness.Robots {
				p, err = r.fetchRobots(url)
			} else {
				p, err = r.fetchAs(url, tc.purpose)
			}
			if err != nil || len(p.Body) != tc.want || p.Truncated != tc.reason {
				t.Errorf("%v %d%s: %d bytes, %q, %v", tc.purpose, tc.n, chunked, len(p.Body), p.Truncated, err)
			}
		}
	}
	r := newRig(t, Config{Wanted: func(ct string) bool { return ct != "video/mp4" }})
	for _, tc := range []struct {
		ct     string
		n      int
		want   int
		reason string
	}{
		{"video/mp4", 1 << 20, defaultUnwantedLimit, reasonUnwanted},
		{"video/mp4", defaultUnwantedLimit + 1, defaultUnwantedLimit, reasonUnwanted},
		{"video/mp4", defaultUnwantedLimit, defaultUnwantedLimit, ""},
		{"application/x-custom", 1 << 20, 1 << 20, ""},
	} {
		p := r.page(fmt.Sprintf("%s/?n=%d&type=%s", s.URL, tc.n, tc.ct))
		if len(p.Body) != tc.want || p.Truncated != tc.reason {
			t.Errorf("%s %d: %d bytes, %q", tc.ct, tc.n, len(p.Body), p.Truncated)
		}
	}
}

// fetchRobots makes the first request to a new origin, which is always for robots.txt. The server treats this request like
// any other request.
func (r *rig) fetchRobots(url string) (*Page, error) {
	r.t.Helper()
	u := parse(r.t, url)
	x := r.permitForRobots(u.String())
	return r.f.Fetch(r.t.Context(), x)
}

// Message framing counts towards the limit: a body in chunks of one byte is mostly framing.
func TestWireLimitCountsFraming(t *testing.T) {
	url := raw(t, func(c net.Conn) {
		if request(c) == "" {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for range 1000 {
			if _, err := io.WriteString(c, strings.Repeat("1\r\ny\r\n", 100)); err != nil {
				return
			}
		}
		io.WriteString(c, "0\r\n\r\n")
	})
	p := newRig(t, Config{MaxBody: 200_000, WireSlack: 10_000}).page(url)
	if p.Truncated != reasonLength || len(p.Body) > (210_000+(8<<10))/6 { // the limit plus one read
		t.Fatalf("%d bytes, truncated %q", len(p.Body), p.Truncated)
	}
}

// HTTP/2 servers can keep a connection busy without responding.
func TestPingsAreNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cert, trust := selfSigned(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "a.test")
		n := newPipes(func(c net.Conn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
			go io.Copy(io.Discard, s)
			frame := []byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS frame (RFC 9113 section 6.5)
			for {
				if _, err := s.Write(frame); err != nil {
					return
				}
				time.Sleep(3 * time.Second)
				frame = []byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00amble...") // PING frame (section 6.7)
			}
		})
		r := n.rig(t, Config{RootCAs: trust})
		start := time.Now()
		r.wantReason("https://a.test/", PhaseHeader, reasonHeaderTimeout)
		if d := time.Since(start); d != DefaultFirstByteTimeout {
			t.Fatal(d)
		}
	})
}

func TestBodyFaults(t *testing.T) {
	for _, tc := range []struct{ name, answer, body, reason string }{
		{"shorter than its length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome", "some", ReasonCutShort},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n", "some", ReasonCutShort},
		{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nsome", "some", ReasonCutShort},
		{"chunk size is no number", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\nzz\r\n", "some", ReasonCutShort},
		{"chunk size overflows", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nsome", "", ReasonCutShort},
		{"trailer without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\nX: " + strings.Repeat("x", 100_000), "some", ReasonCutShort},
		{"length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n", "some", ""},
		{"until close", "HTTP/1.0 200 OK\r\n\r\nsome", "some", ""},
		{"trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\nX: y\r\n\r\n", "some", ""},
		{"body on 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nsome", "", ""},
		{"huge length", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nsome", "some", ReasonCutShort},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newRig(t, Config{}).page(answer(t, tc.answer))
			if string(p.Body) != tc.body || p.Truncated != tc.reason {
				t.Fatalf("%q, %q", p.Body, p.Truncated)
			}
			if rep := p.Reply(); rep.Truncated != tc.reason || rep.Err != nil || rep.Status != p.Status {
				t.Fatalf("reply %+v", rep)
			}
		})
	}
}

func TestReset(t *testing.T) {
	url := raw(t, func(c net.Conn) {
		if request(c) != "" {
			c.(*net.TCPConn).SetLinger(0)
		}
	})
	if e := newRig(t, Config{}).wantReason(url, PhaseHeader, reasonReset); !e.Temporary() {
		t.Error("not temporary")
	}
}

func TestConnectFaults(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	r := newRig(t, Config{})
	if e := r.wantReason("http://"+addr, phaseConnect, reasonRefused); !e.Temporary() || !e.Written.IsZero() {
		t.Fatalf("%+v", e)
	}
	if _, err := r.f.Resolve(t.Context(), parse(t, "http://nowhere.test/")); ReasonOf(err) != reasonNXDomain {
		t.Fatal(err)
	}
}

// Error codes for system errors that cannot be provoked on every machine.
func TestSystemErrors(t *testing.T) {
	for no, want := range map[syscall.Errno]string{
		syscall.ECONNREFUSED: reasonRefused, syscall.ECONNRESET: reasonReset, syscall.EPIPE: reasonReset, syscall.EHOSTUNREACH: reasonUnreachable,
		syscall.ENETUNREACH: reasonUnreachable, syscall.EMFILE: ReasonNoResources, syscall.ENFILE: ReasonNoResources,
		syscall.EADDRNOTAVAIL: ReasonNoResources, syscall.ETIMEDOUT: reasonConnectTimeout, syscall.EACCES: reasonConnectFailed,
	} {
		e := failure(phaseConnect, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", no)})
		if e.Reason != want || !e.Temporary() || !errors.Is(e, no) || !strings.HasPrefix(e.Error(), "fetcher: connect: "+want+": ") {
			t.Errorf("%v: %v", no, e)
		}
	}
	if ReasonOf(fmt.Errorf("x: %w", &Error{Reason: reasonReset})) != reasonReset || ReasonOf(io.EOF) != "" {
		t.Error("ReasonOf")
	}
}
