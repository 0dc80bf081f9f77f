package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// zone is a resolver that counts look-ups, takes time and answers as configured.
type zone struct {
	delay  time.Duration
	asked  atomic.Int32
	answer func(host string) ([]netip.Addr, error)
}

func (z *zone) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	z.asked.Add(1)
	select {
	case <-time.After(z.delay):
		return z.answer(host)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func addrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, a := range list {
		out[i] = netip.MustParseAddr(a)
	}
	return out
}

func resolving(t *testing.T, c Config, z *zone, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Resolver = z
		f(newRig(t, c))
	})
}

func (r *rig) resolve(url string) string {
	r.t.Helper()
	a, err := r.f.Resolve(r.t.Context(), parse(r.t, url))
	if err != nil {
		return ReasonOf(err)
	}
	return a.String()
}

// A look-up that fails for lack of a file descriptor is repeated as soon as a descriptor is free.
func TestLookupsWaitForDescriptors(t *testing.T) {
	var freed time.Time
	z := &zone{answer: func(host string) ([]netip.Addr, error) {
		if time.Now().Before(freed) { // no descriptor is free: the error is that of package net's resolvers
			return nil, &net.DNSError{Err: "dial udp 127.0.0.1:53: socket: too many open files", Name: host, Server: "127.0.0.1:53"}
		}
		return addrs("1.1.1.1"), nil
	}}
	resolving(t, Config{}, z, func(r *rig) {
		freed = time.Now().Add(3 * time.Second)
		if got := r.resolve("http://a.test/"); got != "1.1.1.1" {
			t.Errorf("got %s", got)
		}
		freed = time.Now().Add(time.Hour)
		if got := r.resolve("http://b.test/"); got != ReasonNoResources {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnswersAreKept(t *testing.T) {
	z := &zone{answer: func(string) ([]netip.Addr, error) { return addrs("2606:4700::1111", "1.1.1.1", "1.0.0.1"), nil }}
	resolving(t, Config{}, z, func(r *rig) {
		for range 5 {
			if a := r.resolve("http://a.test/"); a != "1.1.1.1" {
				t.Fatal("IPv4 first, then the resolver's order:", a)
			}
			time.Sleep(defaultDNSTTL/5 - 1)
		}
		if z.asked.Load() != 1 {
			t.Fatalf("asked %d times", z.asked.Load())
		}
		time.Sleep(time.Second)
		r.resolve("https://a.test:444/x")
		if z.asked.Load() != 2 {
			t.Fatalf("asked %d times after the answer's time", z.asked.Load())
		}
	})
}

func TestNegativeLookupsAreCachedBrieflyAndFailuresNever(t *testing.T) {
	for _, tc := range []struct {
		err    error
		reason string
		kept   time.Duration
		temp   bool
	}{
		{&net.DNSError{Err: "no such host", IsNotFound: true}, reasonNXDomain, defaultDNSNegativeTTL, false},
		{nil, reasonNXDomain, defaultDNSNegativeTTL, false},
		{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, reasonDNSFailure, 0, true},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, reasonDNSTimeout, 0, true},
		{errors.New("odd"), reasonDNSFailure, 0, true},
	} {
		z := &zone{answer: func(string) ([]netip.Addr, error) { return nil, tc.err }}
		resolving(t, Config{}, z, func(r *rig) {
			_, err := r.f.Resolve(r.t.Context(), parse(r.t, "http://a.test/"))
			var e *Error
			if !errors.As(err, &e) || e.Reason != tc.reason || e.Phase != phaseDNS || e.Temporary() != tc.temp || e.Ended.IsZero() {
				t.Fatalf("%v: %v", tc.err, err)
			}
			if rep := ReplyForError(err); rep.Err == nil || !rep.Written.IsZero() || rep.Ended != time.Now() {
				t.Fatalf("%+v", rep)
			}
			time.Sleep(max(tc.kept-1, 1))
			r.resolve("http://a.test/")
			if kept := z.asked.Load() == 1; kept != (tc.kept > 0) {
				t.Fatalf("%v: asked %d times", tc.err, z.asked.Load())
			}
			time.Sleep(tc.kept + 1)
			before := z.asked.Load()
			r.resolve("http://a.test/")
			if z.asked.Load() != before+1 {
				t.Fatalf("%v: kept too long", tc.err)
			}
		})
	}
}

func TestLookupTimeLimit(t *testing.T) {
	z := &zone{delay: time.Hour}
	resolving(t, Config{}, z, func(r *rig) {
		start := time.Now()
		if got := r.resolve("http://a.test/"); got != reasonDNSTimeout || time.Since(start) != DefaultDNSTimeout {
			t.Fatal(got, time.Since(start))
		}
	})
}

func TestOneLookupServesAllWhoWait(t *testing.T) {
	z := &zone{delay: 2 * time.Second, answer: func(string) ([]netip.Addr, error) { return addrs("1.1.1.1"), nil }}
	resolving(t, Config{}, z, func(r *rig) {
		var wg sync.WaitGroup
		first, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		wg.Go(func() { // the first caller may give up
			_, err := r.f.Resolve(first, parse(r.t, "http://a.test/"))
			if ReasonOf(err) != ReasonCanceled {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 10 {
			wg.Go(func() {
				if got := r.resolve("http://a.test/"); got != "1.1.1.1" {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		if z.asked.Load() != 1 {
			t.Fatalf("asked %d times", z.asked.Load())
		}
	})
}

func TestCloseEndsLookups(t *testing.T) {
	z := &zone{delay: time.Hour}
	resolving(t, Config{}, z, func(r *rig) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := r.resolve("http://a.test/"); got != ReasonCanceled {
				t.Error(got)
			}
		})
		synctest.Wait()
		start := time.Now()
		r.f.Close()
		wg.Wait()
		if time.Since(start) != 0 {
			t.Fatal("Close waited", time.Since(start))
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	z := &zone{answer: func(string) ([]netip.Addr, error) { return addrs("1.1.1.1"), nil }}
	resolving(t, Config{DNSCacheSize: 3}, z, func(r *rig) {
		for i := range 100 {
			r.resolve(fmt.Sprintf("http://h%d.test/", i))
			r.resolve("http://h0.test/") // always in use, so never evicted
		}
		if n := z.asked.Load(); n != 100 {
			t.Fatalf("asked %d times", n)
		}
		if n, m := r.f.names.recent.Len(), len(r.f.names.entries); n != 3 || m != 3 || len(r.f.names.flights) != 0 {
			t.Fatalf("%d and %d names kept", n, m)
		}
	})
}

func TestLiteralsAreNotLookedUp(t *testing.T) {
	z := &zone{}
	resolving(t, Config{}, z, func(r *rig) {
		for url, want := range map[string]string{"http://1.1.1.1/": "1.1.1.1", "http://[2606:4700::1111]:8080/": "2606:4700::1111"} {
			if got := r.resolve(url); got != want {
				t.Error(got)
			}
		}
		if z.asked.Load() != 0 {
			t.Fatal("asked")
		}
	})
}

// After a failed connection, the name's next address is used.
func TestFailedAddressGivesWay(t *testing.T) {
	z := &zone{answer: func(string) ([]netip.Addr, error) { return addrs("1.1.1.1", "1.0.0.1"), nil }}
	c := Config{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") }}
	resolving(t, c, z, func(r *rig) {
		for _, want := range []string{"1.1.1.1", "1.0.0.1", "1.1.1.1"} {
			if got := r.resolve("http://a.test/"); got != want {
				t.Fatal(got)
			}
			r.wantReason("http://a.test/", phaseConnect, reasonConnectFailed)
		}
	})
}

func TestLocalAddressChoosesTheFamily(t *testing.T) {
	z := &zone{answer: func(h string) ([]netip.Addr, error) {
		if h == "four.test" {
			return addrs("1.1.1.1"), nil
		}
		return addrs("1.1.1.1", "2606:4700::1111"), nil
	}}
	resolving(t, Config{LocalAddr: netip.MustParseAddr("2001:db8::5")}, z, func(r *rig) {
		if got := r.resolve("http://a.test/"); got != "2606:4700::1111" {
			t.Error(got)
		}
		if got := r.resolve("http://four.test/"); got != reasonNXDomain {
			t.Error(got)
		}
	})
}
