package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// changing returns a name whose look-ups return the given results in turn, and then always the last one.
func changing(answers ...[]netip.Addr) *zone {
	var mu sync.Mutex
	return &zone{answer: func(string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return a, nil
	}}
}

// If the operator named a host, the exemption covers only the private addresses that its first look-up found.
func TestNamedHostIsPinnedToItsFirstLookup(t *testing.T) {
	const no = ReasonAddress
	for name, tc := range map[string]struct {
		answers [][]netip.Addr
		want    []string // results of consecutive Resolves
	}{
		"private":                     {[][]netip.Addr{addrs("10.0.0.1")}, []string{"10.0.0.1", "10.0.0.1"}},
		"rebound":                     {[][]netip.Addr{addrs("93.184.215.14"), addrs("10.0.0.1")}, []string{"93.184.215.14", no, no}},
		"rebound to metadata":         {[][]netip.Addr{addrs("10.0.0.1"), addrs("169.254.169.254")}, []string{"10.0.0.1", no}},
		"private, other, and back":    {[][]netip.Addr{addrs("10.0.0.1"), addrs("10.0.0.2"), addrs("10.0.0.1")}, []string{"10.0.0.1", no, "10.0.0.1"}},
		"several":                     {[][]netip.Addr{addrs("10.0.0.1", "10.0.0.2"), addrs("10.0.0.3", "10.0.0.2")}, []string{"10.0.0.1", "10.0.0.2"}},
		"mixed":                       {[][]netip.Addr{addrs("10.0.0.1", "93.184.215.14"), addrs("10.0.0.1")}, []string{"93.184.215.14", no}},
		"private, then mixed":         {[][]netip.Addr{addrs("10.0.0.1"), addrs("10.0.0.1", "93.184.215.14")}, []string{"10.0.0.1", "93.184.215.14"}},
		"private, then public":        {[][]netip.Addr{addrs("10.0.0.1"), addrs("93.184.215.14"), addrs("10.0.0.1")}, []string{"10.0.0.1", "93.184.215.14", "10.0.0.1"}},
		"allowed range, then another": {[][]netip.Addr{addrs("172.16.0.1"), addrs("10.0.0.1")}, []string{"172.16.0.1", no}},
		"IPv4 in IPv6":                {[][]netip.Addr{addrs("::ffff:10.0.0.1"), addrs("10.0.0.1")}, []string{"10.0.0.1", "10.0.0.1"}},
		"with a zone":                 {[][]netip.Addr{addrs("fe80::1%eth0")}, []string{no}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{AllowHosts: func(h string) bool { return h == "named.test" }, AllowAddresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/16")}}
			resolving(t, c, changing(tc.answers...), func(r *rig) {
				for i, want := range tc.want {
					if got := r.resolve("http://named.test/"); got != want {
						t.Errorf("look-up %d: %s, want %s", i+1, got, want)
					}
					time.Sleep(defaultDNSTTL)
				}
			})
		})
	}
}

// A failed look-up, or one that finds no such name, does not count as the first look-up.
func TestFailedLookupPinsNothing(t *testing.T) {
	failures := []error{&net.DNSError{IsTimeout: true}, &net.DNSError{IsNotFound: true}}
	z := &zone{answer: func(string) ([]netip.Addr, error) {
		if len(failures) > 0 {
			err := failures[0]
			failures = failures[1:]
			return nil, err
		}
		return addrs("10.0.0.1"), nil
	}}
	resolving(t, Config{AllowHosts: func(string) bool { return true }, AllowAddresses: []netip.Prefix{}}, z, func(r *rig) {
		for _, want := range []string{reasonDNSTimeout, reasonNXDomain, "10.0.0.1"} {
			if got := r.resolve("http://named.test/"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			time.Sleep(defaultDNSTTL)
		}
	})
}

// A literal address that AllowHosts names may be private.
func TestNamedLiteralIsExempt(t *testing.T) {
	r := newRig(t, Config{AllowAddresses: []netip.Prefix{}, AllowHosts: func(h string) bool { return h == "10.0.0.1" || h == "fd00::1" }})
	for url, want := range map[string]string{
		"http://10.0.0.1/": "10.0.0.1", "http://0xa.1/": "10.0.0.1", "http://[fd00::1]/": "fd00::1",
		"http://10.0.0.2/": ReasonAddress, "http://[::ffff:10.0.0.1]/": ReasonAddress,
	} {
		if got := r.resolve(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// The error names the pinned address.
func TestRefusalNamesThePin(t *testing.T) {
	z := changing(addrs("10.0.0.1"), addrs("10.0.0.2"))
	resolving(t, Config{AllowHosts: func(string) bool { return true }, AllowAddresses: []netip.Prefix{}}, z, func(r *rig) {
		r.resolve("http://named.test/")
		time.Sleep(defaultDNSTTL)
		_, err := r.f.Resolve(r.t.Context(), parse(r.t, "http://named.test/"))
		if !errors.Is(err, errAddress) || !strings.Contains(err.Error(), "10.0.0.2") || !strings.Contains(err.Error(), "named.test was first found at 10.0.0.1") {
			t.Error(err)
		}
	})
}

// The pin is also checked for the connection, wherever the Grant's address came from, with or without a proxy.
func TestFetchHoldsToThePin(t *testing.T) {
	for name, proxy := range map[string]string{"directly": "", "by CONNECT": "http://proxy.test:3128", "by SOCKS": "socks5://proxy.test:1080"} {
		t.Run(name, func(t *testing.T) {
			var dialed []string
			c := Config{
				AllowAddresses: []netip.Prefix{}, AllowHosts: func(h string) bool { return h == "named.test" || h == "10.0.0.9" },
				DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
					dialed = append(dialed, addr)
					return nil, errors.New("not here")
				},
			}
			if proxy != "" {
				c.Proxy = mustURL(t, proxy)
			}
			resolving(t, c, changing(addrs("10.0.0.1")), func(r *rig) {
				r.resolve("http://named.test/")
				for _, tc := range []struct {
					url, addr string
					ok        bool
				}{
					{"http://named.test/", "10.0.0.1", true},
					{"http://named.test/", "10.0.0.2", false},
					{"http://other.test/", "10.0.0.1", false}, // the address is pinned for another name
					{"http://10.0.0.9/", "10.0.0.9", true},
					{"http://10.0.0.9/", "10.0.0.1", false},
				} {
					dialed = nil
					_, err := r.f.Fetch(r.t.Context(), r.permitAt(parse(t, tc.url), netip.MustParseAddr(tc.addr), politeness.Page))
					if ok := ReasonOf(err) != ReasonAddress; ok != tc.ok || ok != (len(dialed) == 1) {
						t.Errorf("%s at %s: %v after %v", tc.url, tc.addr, err, dialed)
					}
				}
			})
		})
	}
}

// Pin is called once for each name, at its first look-up, and its result is binding.
func TestPinRemembers(t *testing.T) {
	var told []string
	remembered := map[string][]netip.Addr{"public.test": {}, "moved.test": addrs("10.0.0.7")}
	c := Config{
		AllowAddresses: []netip.Prefix{}, AllowHosts: func(h string) bool { return h != "link.test" },
		Pin: func(_ context.Context, host string, private []netip.Addr) ([]netip.Addr, error) {
			told = append(told, fmt.Sprint(host, private))
			if host == "broken.test" {
				return nil, errors.New("the disk is full")
			}
			if was, ok := remembered[host]; ok {
				return was, nil
			}
			return private, nil
		},
	}
	z := &zone{answer: func(host string) ([]netip.Addr, error) {
		if host == "mixed.test" {
			return addrs("10.0.0.1", "93.184.215.14"), nil
		}
		return addrs("10.0.0.1"), nil
	}}
	resolving(t, c, z, func(r *rig) {
		for range 2 {
			for host, want := range map[string]string{
				"new.test": "10.0.0.1", "public.test": ReasonAddress, "moved.test": ReasonAddress, "mixed.test": "93.184.215.14",
				"link.test": ReasonAddress, "broken.test": ReasonPin, "10.0.0.1": "10.0.0.1",
			} {
				if got := r.resolve("http://" + host + "/"); got != want {
					t.Errorf("%s: %s, want %s", host, got, want)
				}
			}
			time.Sleep(defaultDNSTTL)
		}
	})
	if n := strings.Join(told, " "); len(told) != 6 || strings.Count(n, "broken") != 2 || !strings.Contains(n, "mixed.test[]") || !strings.Contains(n, "new.test[10.0.0.1]") {
		t.Error(told)
	}
}
