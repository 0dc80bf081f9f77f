package fetcher

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness"
)

func TestGuard(t *testing.T) {
	g := newGuard()
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.0.1",
		"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "2001:db8::1", "2001::1",
		"3fff::1", "5f00::1", "64:ff9b:1::a00:1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::",
		"93.184.215.14%eth0", "2606:4700::1111%eth0",
	} {
		addr, err := netip.ParseAddr(a)
		if err != nil {
			addr = netip.Addr{} // IPv4 addresses with a zone cannot even be parsed
		}
		if err := g.check(addr); !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{
		"1.1.1.1", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"2606:4700::1111", "2a00::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1", "2001:200::1", "2003::1",
	} {
		if err := g.check(netip.MustParseAddr(a)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	g = newGuard(netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8"))
	for a, ok := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "fd00::1": true, "fd00::1%lo": false, "127.0.0.1": false} {
		if err := g.check(netip.MustParseAddr(a)); (err == nil) != ok {
			t.Errorf("allowed ranges: %s: %v", a, err)
		}
	}
}

// Resolve consults the guard for names and literal addresses.
func TestResolveRefusesPrivateAddresses(t *testing.T) {
	private, public := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("93.184.215.14")
	c := Config{
		AllowAddresses: []netip.Prefix{},
		Resolver:       hosts{"private.test": {private}, "both.test": {private, public}, "named.test": {private}, "mapped.test": {netip.MustParseAddr("::ffff:127.0.0.1")}},
		AllowHosts:     func(h string) bool { return h == "named.test" || h == "127.0.0.9" },
	}
	r := newRig(t, c)
	for url, want := range map[string]netip.Addr{
		"http://private.test/":            {},
		"http://mapped.test/":             {},
		"http://127.0.0.1/":               {},
		"http://2130706433/":              {},
		"http://0x7f.1/":                  {},
		"http://017700000001/":            {},
		"http://[::1]/":                   {},
		"http://[::ffff:7f00:1]/":         {},
		"http://[fd00:ec2::254]/":         {},
		"http://169.254.169.254/latest/":  {},
		"http://both.test/":               public,
		"http://named.test/":              private,
		"http://127.0.0.9/":               netip.MustParseAddr("127.0.0.9"),
		"http://[2606:4700::1111]/":       netip.MustParseAddr("2606:4700::1111"),
		"http://[::ffff:93.184.215.14]/x": public,
	} {
		got, err := r.f.Resolve(t.Context(), parse(t, url))
		if got != want || (err == nil) != want.IsValid() {
			t.Errorf("%s: %v, %v", url, got, err)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Reason != ReasonAddress || !errors.Is(err, errAddress) || e.Temporary()) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// The guard is consulted again for the connection, wherever the Grant's address came from.
func TestFetchRefusesAPrivateAddress(t *testing.T) {
	r := newRig(t, Config{AllowAddresses: []netip.Prefix{}})
	p := r.permitAt(parse(t, "http://a.test/"), netip.MustParseAddr("127.0.0.1"), politeness.Page)
	_, err := r.f.Fetch(t.Context(), p)
	var e *Error
	if !errors.As(err, &e) || e.Reason != ReasonAddress || e.Phase != phaseConnect || !errors.Is(err, errAddress) || !e.Written.IsZero() {
		t.Fatal(err)
	}
}

// TestListenersAreRefused checks that no connection is made to a listener of this process, by any name, even if the
// operator named it.
func TestListenersAreRefused(t *testing.T) {
	own := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		listens, url string
		refused      bool
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080/", true},
		{"127.0.0.1:8080", "https://own.test:8080/", true},
		{"127.0.0.1:8080", "http://0.0.0.0:8080/", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8081/", false},
		{"127.0.0.1:8080", "http://127.0.0.2:8080/", false},
		{"127.0.0.1:80", "http://own.test/", true},
		{"127.0.0.1:80", "https://own.test/", false},
		{"0.0.0.0:8080", "http://127.0.0.3:8080/", true},
		{"[::]:8080", "http://own.test:8080/", true},
		{"[::]:8080", "http://[::ffff:127.0.0.1]:8080/", true},
		{"[::1]:8080", "http://[::1]:8080/", true},
		{"0.0.0.0:8080", "http://93.184.215.14:8080/", false},
	} {
		r := newRig(t, Config{
			AllowAddresses: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
			AllowHosts:     func(string) bool { return true },
			Resolver:       hosts{"own.test": {own}},
			Listeners:      []netip.AddrPort{netip.MustParseAddrPort(c.listens)},
		})
		_, err := r.f.Resolve(t.Context(), parse(t, c.url))
		if (ReasonOf(err) == ReasonAddress) != c.refused || !c.refused && err != nil {
			t.Errorf("%s, which listens on %s: %v", c.url, c.listens, err)
		}
	}
}

// TestListenersAreRefusedWhenDialing checks that even a Permit for the address of a listener cannot be used.
func TestListenersAreRefusedWhenDialing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the listener was requested") }))
	defer srv.Close()
	own := netip.MustParseAddrPort(srv.Listener.Addr().String())
	r := newRig(t, Config{Listeners: []netip.AddrPort{own}})
	_, err := r.f.Fetch(t.Context(), r.permitAt(parse(t, srv.URL+"/"), own.Addr(), politeness.Page))
	if ReasonOf(err) != ReasonAddress {
		t.Error(err)
	}
}

func TestBadPortsAreSorted(t *testing.T) {
	if !slices.IsSortedFunc(badPorts, func(a, b badPort) int { return cmp.Compare(a.port, b.port) }) || len(badPorts) != 83 {
		t.Error(len(badPorts))
	}
}

// Ports that browsers block are refused before any look-up, for seeds and literal addresses, too.
func TestBadPortsAreRefused(t *testing.T) {
	z := changing(addrs("93.184.215.14"))
	resolving(t, Config{AllowHosts: func(string) bool { return true }, AllowPorts: []uint16{6667}}, z, func(r *rig) {
		for url, want := range map[string]string{
			"http://a.test:22/": ReasonPort, "https://a.test:25/": ReasonPort, "http://a.test:6000/": ReasonPort, "http://93.184.215.14:10080/": ReasonPort,
			"http://a.test:0/": ReasonPort, "http://127.0.0.1:6666/": ReasonPort,
			"http://a.test/": "93.184.215.14", "https://a.test/": "93.184.215.14", "http://a.test:443/": "93.184.215.14", "http://a.test:8080/": "93.184.215.14",
			"http://a.test:24/": "93.184.215.14", "http://a.test:65535/": "93.184.215.14", "http://a.test:6667/": "93.184.215.14",
		} {
			before := z.asked.Load()
			if got := r.resolve(url); got != want || want == ReasonPort && z.asked.Load() != before {
				t.Errorf("%s: %s after %d look-ups", url, got, z.asked.Load()-before)
			}
		}
		for _, b := range badPorts {
			if got := r.resolve(fmt.Sprintf("http://a.test:%d/", b.port)); got != ReasonPort && b.port != 6667 {
				t.Errorf("%d: %s", b.port, got)
			}
		}
		_, err := r.f.Resolve(r.t.Context(), parse(r.t, "http://a.test:25/"))
		var e *Error
		if !errors.As(err, &e) || e.Temporary() || !errors.Is(err, errPort) || !strings.Contains(err.Error(), "25 is for smtp") {
			t.Error(err)
		}
	})
}

// The port is checked again for the connection.
func TestFetchRefusesABadPort(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.f.Fetch(t.Context(), r.permitAt(parse(t, "http://a.test:25/"), netip.MustParseAddr("127.0.0.1"), politeness.Page))
	if ReasonOf(err) != ReasonPort {
		t.Fatal(err)
	}
}
