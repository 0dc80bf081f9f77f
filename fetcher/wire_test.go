package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// If a reused connection closes without a response, net/http repeats the request at once, without the required delay.
// Here there is only one request.
func TestNoRequestIsRepeated_ReusedConnectionClosesUnanswered(t *testing.T) {
	var requests, conns atomic.Int32
	url := raw(t, func(c net.Conn) {
		conns.Add(1)
		for i := 0; request(c) != ""; i++ {
			if requests.Add(1); i == 1 {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	r := newRig(t, Config{})
	r.page(url)
	e := r.wantReason(url, PhaseHeader, reasonNoAnswer)
	if !e.Temporary() || e.Written.IsZero() || !e.FirstByte.IsZero() {
		t.Fatalf("%+v", e)
	}
	if requests.Load() != 2 || conns.Load() != 1 {
		t.Fatalf("%d requests on %d connections for 2 permits", requests.Load(), conns.Load())
	}
}

// No request is repeated over HTTP/2 either, where a server may refuse a stream or send GOAWAY.
func TestNoRequestIsRepeated_HTTP2(t *testing.T) {
	var requests atomic.Int32
	s, c := serveTLS(t, true, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "ok")
	})
	r := newRig(t, c)
	r.page(named(s, "/"))
	if _, err := r.fetch(named(s, "/")); err == nil {
		t.Fatal("no error from an aborted stream")
	}
	if requests.Load() != 2 {
		t.Fatalf("%d requests for 2 permits", requests.Load())
	}
}

// An idle connection closed by the server is not an error, because nothing was written to it.
func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			time.Sleep(time.Second)
		})
		r := n.rig(t, Config{})
		r.page("http://a.test/")
		time.Sleep(2 * time.Second)
		r.page("http://a.test/")
		if n.dialled() != 2 {
			t.Fatalf("%d connections", n.dialled())
		}
	})
}

// A connection is also replaced if its closure is noticed only when the request is written.
func TestConnectionThatDiesBeforeTheFirstByteIsReplaced(t *testing.T) {
	var conns atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	r := newRig(t, Config{DialContext: counting(&conns)})
	u := parse(t, s.URL)
	p := r.page(s.URL)
	c := r.f.pool.get(connKey{"http", u.Host(), p.Addr})
	c.wire.dead = true
	c.client.Release()
	r.f.pool.put(c)
	if p := r.page(s.URL); string(p.Body) != "ok" || conns.Load() != 2 {
		t.Fatalf("%q on connection %d", p.Body, conns.Load())
	}
}

// After Begin has refused, nothing may be written to the connection, even if net/http tries to: the request would be sent
// without a Begin.
func TestNothingIsWrittenAfterARefusedBegin(t *testing.T) {
	for _, h1 := range []bool{true, false} {
		client, server := net.Pipe()
		var got bytes.Buffer
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(&got, server) }()
		r := newRig(t, Config{})
		r.gate = newGate(t, politeness.Config{Ledger: brokenLedger{}})
		p, err := r.gate.Admit(politeness.Request{URL: parse(t, "http://a.test/"), Addr: pipeAddr})
		if err != nil {
			t.Fatal(err)
		}
		grant, err := p.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		w, x := &wire{Conn: client, h1: h1}, &turn{grant: grant}
		w.take(x)
		w.arm(x)
		_, first := w.Write([]byte("GET / HTTP/1.1\r\n"))
		_, second := w.Write([]byte("Host: a.test\r\n\r\n"))
		_ = client.Close()
		<-done
		if first == nil || !errors.Is(second, errDead) || got.Len() != 0 || x.beginErr == nil {
			t.Errorf("HTTP/1.1 %v: %v, then %v; %d bytes were written", h1, first, second, got.Len())
		}
	}
}

// HTTP/2 control frames do not count as a request, and a request is not written after its fetch has ended.
func TestControlFramesBeginNothing(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go io.Copy(io.Discard, server)
	r := newRig(t, Config{})
	grant, err := r.permit("http://127.0.0.1:2/", politeness.Page).Redeem()
	if err != nil {
		t.Fatal(err)
	}
	w, x := &wire{Conn: client}, &turn{grant: grant}
	w.take(x)
	if _, err := w.Write([]byte("SETTINGS")); err != nil || grant.Begun() || !x.written.IsZero() {
		t.Fatal("a control frame is taken for the request:", err)
	}
	w.arm(x)
	if _, err := w.Write([]byte("HEADERS")); err != nil || !grant.Begun() || x.written.IsZero() {
		t.Fatal("the request was written without Begin:", err)
	}
	w.leave()
	w.arm(x)
	if _, err := w.Write([]byte("HEADERS")); !errors.Is(err, errDead) {
		t.Fatal("a request was written after the end of its fetch:", err)
	}
}

func TestResponseWithoutBytesAfterTheRequestIsMalformed(t *testing.T) {
	r := newRig(t, Config{})
	x := &exchange{f: r.f, conn: &conn{wire: &wire{}}, turn: &turn{}}
	if e := x.judge(&http.Response{StatusCode: http.StatusOK}); e == nil || e.Reason != reasonMalformed {
		t.Fatal(e)
	}
}

func TestDialerRefusesABegunGrant(t *testing.T) {
	r := newRig(t, Config{})
	grant, err := r.permit("http://127.0.0.1:2/", politeness.Page).Redeem()
	if err != nil || grant.Begin() != nil {
		t.Fatal(err)
	}
	a := &attempt{f: r.f, grant: grant, url: grant.URL()}
	if _, err := a.dial(t.Context()); !errors.Is(err, politeness.ErrUsed) {
		t.Fatalf("dial after Begin: %v", err)
	}
}

func TestPermitWorksOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	r := newRig(t, Config{})
	p := r.permit(s.URL, politeness.Page)
	if _, err := r.f.Fetch(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.f.Fetch(t.Context(), p); ReasonOf(err) != reasonPermitInvalid || !errors.Is(err, politeness.ErrUsed) {
		t.Fatalf("second Fetch: %v", err)
	}
	if _, err := r.f.Fetch(t.Context(), politeness.Permit{}); ReasonOf(err) != reasonPermitInvalid {
		t.Fatalf("zero Permit: %v", err)
	}
}

// A Permit that expires while the connection is being made must not be used (suspended process, slow dial).
func TestExpiredPermitWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		n := newPipes(func(c net.Conn) { io.Copy(&got, c) })
		n.delay = 4 * time.Second
		r := n.rig(t, Config{})
		r.gate = newGate(t, politeness.Config{PermitTTL: 3 * time.Second})
		e := r.wantReason("http://a.test/", PhaseRequest, ReasonPermit)
		synctest.Wait()
		if got.Len() != 0 || !e.Written.IsZero() || !e.Temporary() || !errors.Is(e, politeness.ErrExpired) {
			t.Fatalf("%d bytes written after expiry; %+v", got.Len(), e)
		}
	})
}

type brokenLedger struct{}

func (brokenLedger) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestLedgerFailureWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		n := newPipes(func(c net.Conn) { io.Copy(&got, c) })
		r := n.rig(t, Config{})
		p := r.permit("http://a.test/", politeness.Page)
		r.gate = newGate(t, politeness.Config{Ledger: brokenLedger{}})
		p2, err := r.gate.Admit(politeness.Request{URL: p.URL(), Addr: pipeAddr})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.f.Fetch(t.Context(), p2)
		synctest.Wait()
		if ReasonOf(err) != ReasonLedger || got.Len() != 0 {
			t.Fatalf("%v; %d bytes written", err, got.Len())
		}
	})
}

// The start line is written to the ledger after the handshake and the HTTP/2 preface, and before the first byte of the
// request.
func TestBeginIsCalledRightBeforeTheFirstByte(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("h2=", h2), func(t *testing.T) {
			s, c := serveTLS(t, h2, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
			var log eventLog
			c.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				var d net.Dialer
				conn, err := d.DialContext(ctx, network, addr)
				return &loggedConn{conn, &log}, err
			}
			r := newRig(t, c)
			r.gate = newGate(t, politeness.Config{Ledger: &log})
			p := r.permit(named(s, "/"), politeness.Page)
			before := log.len() // after the lines about robots.txt
			page, err := r.f.Fetch(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			r.gate.Report(p, page.Reply())
			events := log.from(before)
			i := strings.IndexByte(events, 'L')
			if i < 2 || i+1 >= len(events) || events[i+1] != 'w' {
				t.Fatalf("order of writes (w) and ledger lines (L): %s", events)
			}
			if h2 && strings.Count(events[:i], "w") < 3 {
				t.Fatalf("the ledger line was written before the HTTP/2 preface: %s", events)
			}
		})
	}
}

// eventLog records writes to connections and to the ledger in order.
type eventLog struct {
	mu     sync.Mutex
	events []byte
}

func (l *eventLog) add(e byte) { l.mu.Lock(); l.events = append(l.events, e); l.mu.Unlock() }
func (l *eventLog) len() int   { l.mu.Lock(); defer l.mu.Unlock(); return len(l.events) }
func (l *eventLog) from(i int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.events[i:])
}
func (l *eventLog) Write(p []byte) (int, error) { l.add('L'); return len(p), nil }

type loggedConn struct {
	net.Conn
	log *eventLog
}

func (c *loggedConn) Write(p []byte) (int, error) { c.log.add('w'); return c.Conn.Write(p) }

// If a name has two addresses, the pinned one is dialled, and the idle connection to the other address is ignored.
func TestPinnedAddressIsTheOneConnectedTo(t *testing.T) {
	l1, l2 := listenBoth(t)
	var hits [2]atomic.Int32
	for i, l := range []net.Listener{l1, l2} {
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hits[i].Add(1)
			io.WriteString(w, r.Host)
		})}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
	}
	a, b := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	r := newRig(t, Config{Resolver: hosts{"a.test": {a, b}}})
	u := parse(t, fmt.Sprintf("http://a.test:%d/", l1.Addr().(*net.TCPAddr).Port))
	for _, addr := range []netip.Addr{a, b, b, a} {
		p := r.permitAt(u, addr, politeness.Page)
		page, err := r.f.Fetch(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if page.Addr != addr || string(page.Body) != u.Authority() {
			t.Fatalf("%v %q", page.Addr, page.Body)
		}
		r.gate.Report(p, page.Reply())
	}
	if hits[0].Load() != 2 || hits[1].Load() != 2 {
		t.Fatalf("requests by address: %d, %d", hits[0].Load(), hits[1].Load())
	}
}

// listenBoth listens on one port of two loopback addresses.
func listenBoth(t *testing.T) (net.Listener, net.Listener) {
	t.Helper()
	for range 20 {
		l1, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l2, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", l1.Addr().(*net.TCPAddr).Port))
		if err == nil {
			return l1, l2
		}
		l1.Close()
	}
	t.Skip("no port free on two loopback addresses")
	return nil, nil
}

// Data after a complete response is not taken for the response to the next request.
func TestSurplusNeverFeedsTheNextRequest(t *testing.T) {
	for name, first := range map[string]string{
		"a second answer":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"a second, no body":    "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"length too short":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"two answers, chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
	} {
		t.Run(name, func(t *testing.T) {
			url := raw(t, func(c net.Conn) {
				for i := 0; request(c) != ""; i++ {
					io.WriteString(c, first)
				}
			})
			r := newRig(t, Config{})
			for range 3 {
				p, err := r.fetch(url)
				if err == nil && strings.Contains(string(p.Body), "evil") {
					t.Fatalf("%q taken for an answer", p.Body)
				}
			}
		})
	}
}

// A connection is not reused after a truncated body, whether the server or the fetcher truncated it.
func TestCutAnswerEndsItsConnection(t *testing.T) {
	var conns atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		w.Write(make([]byte, 200_000))
	})
	for _, c := range []Config{{MaxBody: 1000}, {MaxBody: 100_000, WireSlack: 1}, {Wanted: func(string) bool { return false }}} {
		conns.Store(0)
		c.DialContext = counting(&conns)
		r := newRig(t, c)
		for range 3 {
			if p := r.page(s.URL); p.Truncated == "" {
				t.Fatal("not cut")
			}
		}
		if conns.Load() != 3 {
			t.Fatalf("%d connections for 3 cut answers", conns.Load())
		}
	}
}

// Bytes that arrive before the request begins are not its response.
func TestBytesBeforeTheRequestAreNoAnswer(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		io.WriteString(server, "HTTP/1.1 200 OK\r\n")
	}()
	w := &wire{Conn: client, h1: true}
	w.take(&turn{})
	if n, err := w.Read(make([]byte, 100)); n != 0 || !errors.Is(err, errUnsolicited) {
		t.Fatal(n, err)
	}
	if _, err := w.Write([]byte("GET")); !errors.Is(err, errDead) {
		t.Fatal("a request may still be written:", err)
	}
}

func TestBytesOnAnIdleConnectionEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(func(c net.Conn) {
			request(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			time.Sleep(time.Second)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			io.Copy(io.Discard, c)
		})
		r := n.rig(t, Config{})
		for range 3 {
			if p := r.page("http://a.test/"); string(p.Body) != "ok" {
				t.Fatalf("%q", p.Body)
			}
			time.Sleep(2 * time.Second)
		}
		if n.dialled() != 3 {
			t.Fatalf("%d connections", n.dialled())
		}
	})
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(keepAlive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		r := n.rig(t, Config{IdleConnTimeout: 30 * time.Second, MaxIdle: 2})
		r.page("http://a.test/")
		time.Sleep(29 * time.Second)
		r.page("http://a.test/")
		if n.dialled() != 1 || n.open() != 1 {
			t.Fatalf("%d connections made, %d open, within the limit", n.dialled(), n.open())
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n.open() != 0 {
			t.Fatalf("%d connections open after IdleConnTimeout", n.open())
		}
		for _, h := range []string{"a", "b", "c"} {
			r.page("http://" + h + ".test/")
		}
		synctest.Wait()
		if n.open() != 2 {
			t.Fatalf("%d connections open, MaxIdle is 2", n.open())
		}
		r.f.CloseIdle("c.test:80")
		synctest.Wait()
		if n.open() != 1 {
			t.Fatalf("%d connections open after CloseIdle", n.open())
		}
		r.f.Close()
		synctest.Wait()
		if n.open() != 0 {
			t.Fatalf("%d connections open after Close", n.open())
		}
		_, err := r.f.Resolve(t.Context(), parse(t, "http://a.test/"))
		if ReasonOf(err) != reasonClosed {
			t.Fatalf("Resolve after Close: %v", err)
		}
		p := r.permitAt(parse(t, "http://a.test/"), pipeAddr, politeness.Page)
		if _, err := r.f.Fetch(t.Context(), p); ReasonOf(err) != reasonClosed {
			t.Fatalf("Fetch after Close: %v", err)
		}
	})
}

// If this machine runs out of ports or memory, idle connections are closed.
func TestNoResourcesClosesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(keepAlive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		full := false
		r := newRig(t, Config{Resolver: n, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if full {
				return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENOBUFS)}
			}
			return n.dial(ctx, network, addr)
		}})
		r.page("http://a.test/")
		full = true
		if e := r.wantReason("http://b.test/", phaseConnect, ReasonNoResources); !e.Temporary() {
			t.Error("not temporary")
		}
		synctest.Wait()
		if n.open() != 0 {
			t.Fatalf("%d idle connections", n.open())
		}
	})
}

// If there is no file descriptor left, idle connections are closed. Then the fetch waits for a descriptor, even beyond
// its own time limits.
func TestDescriptorsAreWaitedFor(t *testing.T) {
	for _, no := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		synctest.Test(t, func(t *testing.T) {
			n := newPipes(keepAlive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			freed := time.Time{}
			dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
				if n.open() > 0 || time.Now().Before(freed) {
					return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", no)}
				}
				return n.dial(ctx, network, addr)
			}
			r := newRig(t, Config{Resolver: n, DialContext: dial, ConnectTimeout: time.Second, FetchTimeout: 2 * time.Second})
			r.page("http://a.test/")
			r.page("http://b.test/")
			began := time.Now()
			freed = began.Add(10 * time.Second)
			r.page("http://c.test/")
			if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
				t.Errorf("waited %v", took)
			}
			r.f.CloseIdle("c.test:80")
			freed = time.Now().Add(time.Hour)
			if e := r.wantReason("http://d.test/", phaseConnect, ReasonPermit); !errors.Is(e, no) {
				t.Errorf("waited for nothing: %v", e)
			}
		})
	}
}

// A wait for a file descriptor can be cancelled by the caller's context.
func TestWaitForDescriptorsCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipes(keepAlive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
		r := newRig(t, Config{Resolver: n, DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := r.permit("http://a.test/", politeness.Page)
		if _, err := r.f.Fetch(ctx, p); ReasonOf(err) != ReasonCanceled {
			t.Errorf("got %v", err)
		}
	})
}

// A proxy does not count as unusable if dialling it fails for lack of a file descriptor.
func TestDescriptorsForAProxyAreWaitedFor(t *testing.T) {
	for _, proxy := range []string{"http://proxy.test:3128", "socks5://proxy.test:1080"} {
		synctest.Test(t, func(t *testing.T) {
			u, _ := url.Parse(proxy)
			r := newRig(t, Config{Proxy: u, Resolver: newPipes(nil), DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
			}})
			r.wantReason("http://a.test/", phaseConnect, ReasonPermit)
		})
	}
}
