package crawler_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// scarce has no file descriptors for connections or look-ups for some minutes.
type scarce struct {
	web         *crawltest.Web
	dial, names time.Time // when descriptors are available again
}

func (s *scarce) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if time.Now().Before(s.dial) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	return s.web.DialContext(ctx, network, addr)
}

func (s *scarce) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if time.Now().Before(s.names) {
		return nil, &net.DNSError{Err: "dial udp 127.0.0.1:53: socket: too many open files", Name: host}
	}
	return s.web.LookupNetIP(ctx, network, host)
}

// A crawl without file descriptors waits. Nothing fails, no attempt is used up, and no host is blamed.
func TestDescriptorsAreNoFailures(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<a href=/b>b</a>`)
		s.Page("/b", "")
		few := &scarce{web: w, names: time.Now().Add(2 * time.Minute), dial: time.Now().Add(5 * time.Minute)}
		cfg, seen := config(w, crawler.Config{Retries: crawler.Retries{Max: crawler.Zero}}), &visits{}
		cfg.Fetch.DialContext, cfg.Fetch.Resolver, cfg.Handler = few.DialContext, few, seen
		c, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := c.Run(t.Context(), s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		seen.expect(t, map[string]string{"http://a.example/": "fetched 200", "http://a.example/b": "fetched 200"})
		if rep.Requests != 3 || rep.Elapsed.Minutes() < 5 || rep.Elapsed.Minutes() > 7 {
			t.Errorf("%d requests in %v", rep.Requests, rep.Elapsed)
		}
	})
}
