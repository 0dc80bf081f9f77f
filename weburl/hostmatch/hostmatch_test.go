package hostmatch

import (
	"net/netip"
	"strings"
	"testing"
)

func TestTheFirstEntryHolds(t *testing.T) {
	all := []string{"www.a.test:8080", "www.a.test", "*.shop.a.test", "a.test", "*.a.test", "b.test:80", "bücher.test", "192.0.2.9:*", "[2001:db9::5]:*", "[2001:db9::6]:8080", "192.0.2.7", "192.0.2.0/24", "2001:db8::/32"}
	table, err := Compile(all)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"www.a.test:8080": "www.a.test:8080", "www.a.test:443": "www.a.test", "www.a.test": "www.a.test", "www.a.test.:443": "www.a.test",
		"a.test:80": "a.test", "x.shop.a.test:80": "*.shop.a.test", "shop.a.test:80": "*.shop.a.test", "y.a.test:80": "*.a.test",
		"b.test:80": "b.test:80", "b.test:443": "", "ba.test:80": "", "xn--bcher-kva.test:443": "bücher.test", "[::1]:80": "", "test:80": "",
		"192.0.2.9:8080": "192.0.2.9:*", "192.0.2.7:8080": "", "[2001:db9::5]:443": "[2001:db9::5]:*",
		"[2001:db9::6]:8080": "[2001:db9::6]:8080", "[2001:db9::6]:80": "",
	} {
		if i := table.Host(host); i == None && want != "" || i != None && all[i] != want {
			t.Errorf("%s: %d, want %q", host, i, want)
		}
	}
	for addr, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "192.0.2.8": "192.0.2.0/24", "::ffff:192.0.2.8": "192.0.2.0/24", "192.0.3.1": "",
		"2001:db8::1": "2001:db8::/32", "2001:db9::1": "",
	} {
		if i := table.Addr(netip.MustParseAddr(addr)); i == None && want != "" || i != None && all[i] != want {
			t.Errorf("%s: %d, want %q", addr, i, want)
		}
	}
	if !table.Ranges() || !table.ByName(9) || table.ByName(10) || table.ByName(None) {
		t.Error("names and ranges are confused")
	}
	var none *Table
	if none.Host("a.test:80") != None || none.Addr(netip.MustParseAddr("192.0.2.7")) != None || none.Ranges() {
		t.Error("the nil Table matches")
	}
}

func TestPatternsThatNeverMatch(t *testing.T) {
	for patterns, want := range map[string]string{
		"a.test a.test":                        `"a.test": never holds, because "a.test" comes before it`,
		"a.test a.test:80":                     `"a.test:80": never holds, because "a.test"`,
		"*.a.test www.a.test":                  `"www.a.test": never holds, because "*.a.test"`,
		"*.a.test *.b.a.test":                  `"*.b.a.test": never holds`,
		"192.0.2.0/24 192.0.2.7":               `"192.0.2.7": never holds, because "192.0.2.0/24"`,
		"192.0.2.0/24 a.test":                  `"a.test": a name must come before all ranges of addresses, and this one follows "192.0.2.0/24"`,
		"*":                                    `"*": want a host`,
		"*.":                                   `"*.": want a host`,
		"*.a.test:80":                          `want a host`,
		"*.a.test:*":                           `want a host`,
		"a.test a.test:*":                      `"a.test:*": never holds`,
		"a*.test":                              `want a host`,
		"http://a.test":                        `want a host`,
		"a.test/x":                             `want a host`,
		"192.0.2.0/33":                         `want a host`,
		"":                                     `"": want a host`,
		"u@a.test":                             `want a host`,
		"a.test *.a.test a.test:80 *.a.test":   `"*.a.test": never holds`,
		"10.0.0.0/8 10.1.0.0/16 *.a.test b./x": `"10.1.0.0/16": never holds`,
	} {
		if _, err := Compile(strings.Split(patterns, " ")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", patterns, err, want)
		}
	}
	for _, patterns := range []string{"a.test *.a.test", "a.test:80 a.test", "*.b.a.test *.a.test", "192.0.2.7 192.0.2.0/24", "[::1]:8080 ::1"} {
		if _, err := Compile(strings.Split(patterns, " ")); err != nil {
			t.Errorf("%s: %v", patterns, err)
		}
	}
}
