package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/crawler"
)

// TestNoLinkLeadsToThePage checks that a crawl of loopback does not follow links to its own page, whether they have its address or a name.
func TestNoLinkLeadsToThePage(t *testing.T) {
	o, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	page := "http://" + o.server.Addr().String()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<a href=" + page + "/>page</a><a href=" + strings.Replace(page, "127.0.0.1", "localhost", 1) + "/healthz>page</a>"))
	}))
	defer site.Close()
	var mu sync.Mutex
	got := map[string]string{}
	c := crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 10}, Trace: &crawler.Trace{Visited: func(v *crawler.Visit) {
		mu.Lock()
		defer mu.Unlock()
		got[v.URL.String()] = string(v.Outcome) + " " + v.Reason
	}}}
	c.Politeness.Delay = crawler.NoDelay
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	o.live = New(Config{Source: new(Feed)})
	o.Configure(&c, false)
	x, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), site.URL+"/"); err != nil {
		t.Fatal(err)
	}
	for url, outcome := range got {
		if want := "refused address_refused"; url != site.URL+"/" && outcome != want || len(got) != 3 {
			t.Errorf("%s: %s, want %s; %v", url, outcome, want, got)
		}
	}
}

// TestLoopbackIsARandomAddress checks that the page shares its address, and thus its cookies, with no other server on this machine.
func TestLoopbackIsARandomAddress(t *testing.T) {
	a, err := Listen("loopback:0")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := Listen("loopback:0")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if a.Public() || b.Public() || !strings.HasPrefix(a.URL(), "http://"+a.Addr().String()+"/?token=") {
		t.Error(a.URL(), b.URL())
	}
	if one := netip.MustParseAddr("127.0.0.1"); runtime.GOOS == "linux" && (a.Addr().Addr() == one || a.Addr().Addr() == b.Addr().Addr()) {
		t.Errorf("%v and %v", a.Addr(), b.Addr())
	}
	c, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Addr().Addr().String(); got != "127.0.0.1" {
		t.Errorf("%s instead of the address that was given", got)
	}
}

// silent is a listener whose 900 clients connect, but never send anything.
type silent struct {
	clients []net.Conn
	closed  chan struct{}
}

func (s *silent) Accept() (net.Conn, error) {
	if len(s.clients) == 900 {
		<-s.closed
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	s.clients = append(s.clients, client)
	return server, nil
}

func (s *silent) Close() error   { close(s.closed); return nil }
func (s *silent) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000} }

// TestConnectionsAreLimited checks that of 900 silent connections the server accepts 64, and another one when one of these ends.
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &silent{closed: make(chan struct{})}
		s := &Server{listener: ln, guard: newGuard("127.0.0.1:4000", ln.Addr())}
		s.Serve(New(Config{Source: new(Feed)}))
		synctest.Wait()
		if n := len(ln.clients); n != 64 {
			t.Errorf("%d connections", n)
		}
		_ = ln.clients[0].Close()
		synctest.Wait()
		if n := len(ln.clients); n != 65 {
			t.Errorf("%d connections after one has ended", n)
		}
		for _, c := range ln.clients {
			defer c.Close()
		}
		s.Close()
	})
}
