package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
)

// TestRollingUpgradeFromVersion020: while servers and nodes of version 0.2.0 crawl a job, they are replaced one by one by this version.
// Nodes of this version wait until the last node of version 0.2.0 has ended. Each page is requested once, no pause is too short, and the
// collected job is complete.
func TestRollingUpgradeFromVersion020(t *testing.T) {
	if *clusterReal == 0 {
		t.Skip("takes minutes: -cluster.real 250")
	}
	old := version020(t)
	servers := func(c *realCluster) {
		for i := range c.servers {
			c.upgradeServer(i)
		}
	}
	nodes := func(c *realCluster) {
		for _, name := range []string{"a", "b"} {
			c.upgradeNode(name)
		}
	}
	for name, steps := range map[string][]func(*realCluster){
		"servers first": {servers, nodes},
		"nodes first":   {nodes, servers},
	} {
		t.Run(name, func(t *testing.T) {
			web := newRealWeb(t, *clusterReal)
			c := newRealCluster(t, web, "none", old)
			until(t, "all nodes own shards", func() bool { return len(c.owned("a")) > 0 && len(c.owned("b")) > 0 && len(c.owned("c")) > 0 })
			until(t, "some pages", func() bool { return c.ended() || web.count() > 10*realHosts })
			for _, step := range steps {
				web.wantPauses(c) // nodes of the other version have to keep these pauses
				time.Sleep(2 * time.Second)
				step(c)
			}
			n := web.count()
			until(t, "pages for the last node of version 0.2.0", func() bool { return c.ended() || web.count() > n+5*realHosts })
			if len(c.owned("a")) > 0 || len(c.owned("b")) > 0 {
				t.Error("nodes of both versions own shards")
			}
			c.upgradeNode("c")
			until(t, "this version owns shards", func() bool { return c.ended() || len(c.owned("a")) > 0 })
			n = web.count()
			until(t, "pages for this version", func() bool { return c.ended() || web.count() > n+5*realHosts })
			c.running("this version has requested pages")
			c.over(web, 0)
		})
	}
}

// version020 builds version 0.2.0 from the history of the repository.
func version020(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	run := func(in []byte, name string, args ...string) []byte {
		cmd := exec.Command(name, args...)
		cmd.Stdin, cmd.Stderr, cmd.Env = bytes.NewReader(in), os.Stderr, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		if name == "go" {
			cmd.Dir = dir
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		return out
	}
	commit := strings.TrimSpace(string(run(nil, "git", "log", "--format=%H", "--grep", `^Version 0\.2\.0$`)))
	if commit == "" {
		t.Skip("the history does not reach back to version 0.2.0")
	}
	run(run(nil, "git", "-C", "../..", "archive", commit), "tar", "-xC", dir)
	program = filepath.Join(t.TempDir(), "amble-0.2.0")
	run(nil, "go", "build", "-o", program, "./cmd/amble")
	return program
}

// upgradeServer replaces a server of version 0.2.0 by one of this version, and waits until the new server is ready.
func (c *realCluster) upgradeServer(i int) {
	c.t.Helper()
	c.program = thisVersion
	c.running(fmt.Sprintf("server %d is replaced", i))
	if err := c.servers[i].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	c.servers[i].ends(0)
	c.servers[i] = c.serve(i)
	until(c.t, "the server is ready", func() bool {
		res, err := http.Get("http://" + c.ports[6+i] + "/readyz")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// upgradeNode replaces a node of version 0.2.0 by one of this version.
func (c *realCluster) upgradeNode(name string) {
	c.t.Helper()
	c.program = thisVersion
	c.running("node " + name + " is replaced")
	c.signal(name, syscall.SIGTERM)
	c.nodes[name].ends(cli.ExitTerminated)
	c.node(name)
}
