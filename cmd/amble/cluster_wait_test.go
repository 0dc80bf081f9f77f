//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterNodeWaitsForServers checks that a node that starts before its servers says that it waits, and works as soon as the servers
// run. A waiting node that is told to stop ends.
func TestClusterNodeWaitsForServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and nodes")
	}
	skipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	engine := filepath.Join(dir, "engine")
	server := launch(t, "cluster", "serve", "--name", "s1", "--dir", engine, "--listen", ownHost()+":0")
	url := listens(t, server)
	serve := []string{"cluster", "serve", "--name", "s1", "--dir", engine, "--listen", strings.TrimPrefix(url, "nats://")}
	web := newClusterWeb(t, 1, 2)
	at := []string{"--cluster", url, "--job", "later"}
	create := append([]string{"cluster", "create", "--shards", "1", "--replicas", "1", "--lease", "6s", "--delay", "20ms"}, at...)
	launch(t, append(create, web.bases[0]+"/0")...).ends(0)
	_ = server.cmd.Process.Kill()
	<-server.done
	node := func(name string) *proc {
		return launch(t, append([]string{"cluster", "work", "--name", name, "-o", filepath.Join(dir, name)}, at...)...)
	}
	waits, stopped := node("waits"), node("stopped")
	for _, p := range []*proc{waits, stopped} {
		until(t, "it says that it waits", func() bool {
			return strings.Contains(p.says.String(), "is a server running there?; the node waits for it")
		})
	}
	if err := stopped.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stopped.ends(130)
	launch(t, serve...)
	waits.ends(0)
}
