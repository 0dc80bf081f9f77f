package natsserver_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/cluster/natsserver"
)

// TestTwoServers starts a second server with the directory or the address of a running one.
func TestTwoServers(t *testing.T) {
	conf := natsserver.Config{Name: "s1", Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	s, err := natsserver.Start(conf)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := natsserver.Start(conf); err == nil || !strings.Contains(err.Error(), "another server uses "+conf.Dir) {
		t.Errorf("the same directory: %v", err)
		if err == nil {
			other.Close()
		}
	}
	taken := natsserver.Config{Name: "s1", Dir: t.TempDir(), Listen: strings.TrimPrefix(s.URL(), "nats://")}
	if _, err := natsserver.Start(taken); err == nil || !strings.Contains(err.Error(), "does not listen on "+taken.Listen) {
		t.Errorf("the same address: %v", err)
	}
	s.Close()
	if s, err = natsserver.Start(conf); err != nil {
		t.Fatal(err)
	}
	s.Close()
}
