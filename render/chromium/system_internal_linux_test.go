package chromium

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfined(t *testing.T) {
	if err := confined(os.Getpid(), Namespace); err == nil || !strings.Contains(err.Error(), "shares our network namespace") {
		t.Errorf("our own process: %v", err)
	}
	if err := confined(1<<30, Namespace); err == nil {
		t.Error("no process: no error")
	}
	if err := confined(os.Getpid(), Flags); err != nil {
		t.Errorf("with flags: %v", err)
	}
}

func TestNoWayOut(t *testing.T) {
	const (
		devHead = "Inter-|   Receive  |  Transmit\n face |bytes    packets|bytes\n"
		lo      = "    lo:       0       0    0    0\n"
		routes  = "Iface\tDestination\tGateway \tFlags\n"
		lo6     = "00000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001       lo\n"
	)
	for _, c := range []struct{ name, dev, route, route6, want string }{
		{"as it should be", devHead + lo, routes, "", ""},
		{"with IPv6 on lo", devHead + lo, routes, lo6, ""},
		{"another interface", devHead + lo + "  eth0: 1 1\n", routes, "", `interface "eth0"`},
		{"nothing but another interface", devHead + "  eth0: 1 1\n", routes, "", `interface "eth0"`},
		{"a line that is none", devHead + "what\n", routes, "", `interface`},
		{"a route", devHead + lo, routes + "eth0\t00000000\t0101A8C0\t0003\n", "", "1 routes"},
		{"an IPv6 route", devHead + lo, routes, lo6 + strings.ReplaceAll(lo6, " lo", " eth0"), "IPv6 route"},
		{"no file of interfaces", "-", routes, "", "reading the browser's interfaces"},
		{"no file of routes", devHead + lo, "-", "", "reading the browser's routes"},
		{"no IPv6 at all", devHead + lo, routes, "-", ""},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"dev": c.dev, "route": c.route, "ipv6_route": c.route6} {
			if text == "-" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := noWayOut(dir)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestStaleDirectories(t *testing.T) {
	temp := t.TempDir()
	live, err := newProfile(temp, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dead/lock", "foreign/other", "../" + dirPrefix + "file"} {
		path := filepath.Join(temp, dirPrefix+name)
		if strings.HasPrefix(name, "..") {
			path = filepath.Join(temp, strings.TrimPrefix(name, "../"))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	removeStale(temp)
	for name, want := range map[string]bool{live.dir: true, dirPrefix + "dead": false, dirPrefix + "foreign": true, dirPrefix + "file": true} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(temp, name)
		}
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := live.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(live.dir); err == nil {
		t.Error("its own directory is still there")
	}
}
