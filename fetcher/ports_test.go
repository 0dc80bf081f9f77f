package fetcher

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness"
)

func TestBadPortsAreInOrder(t *testing.T) {
	if !slices.IsSortedFunc(badPorts, func(a, b badPort) int { return cmp.Compare(a.port, b.port) }) || len(badPorts) != 83 {
		t.Error(len(badPorts))
	}
}

// A port to which browsers make no requests is refused before any look-up, for seeds and literals too.
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

// The port is checked again when the connection is made.
func TestFetchRefusesABadPort(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.f.Fetch(t.Context(), r.permitAt(parse(t, "http://a.test:25/"), netip.MustParseAddr("127.0.0.1"), politeness.Page))
	if ReasonOf(err) != ReasonPort {
		t.Fatal(err)
	}
}
