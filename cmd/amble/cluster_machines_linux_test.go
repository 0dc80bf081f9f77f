package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClusterBadMachines checks that a node with a wrong clock and a node with a full disk report the problem and how to solve it, and that
// another node crawls instead.
func TestClusterBadMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and nodes")
	}
	skipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	engine := serveEngine(t, filepath.Join(dir, "engine"))
	t.Run("clock", func(t *testing.T) {
		t.Parallel()
		wrongClock(t, engine, filepath.Join(dir, "engine", "token"), t.TempDir())
	})
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		fullDisk(t, engine, t.TempDir())
	})
}

// createFor creates a job for a site, and returns the flags that name the job.
func createFor(t *testing.T, engine, name string, web *clusterWeb) (at []string) {
	t.Helper()
	at = []string{"--cluster", engine, "--job", name}
	args := append([]string{"cluster", "create"}, at...)
	launch(t, append(args, "--shards", "2", "--replicas", "1", "--lease", "6s", "--delay", "20ms", "--depth", "1000", "--scope", "any",
		"--archive", "--max-pages", "none", "--max-time", "1h", web.bases[0]+"/0")...).ends(0)
	return at
}

func workOn(at []string, more ...string) []string {
	return slices.Concat([]string{"cluster", "work", "--verbose"}, at, more)
}

// wrongClock runs a node that gets times from the engine that are a year old, so that the node's own clock appears to be wrong.
func wrongClock(t *testing.T, engine, token, dir string) {
	web := newClusterWeb(t, 2, 3)
	at := createFor(t, engine, "clock", web)
	late := slices.Clone(at)
	late[1] = "nats://" + lastYear(t, strings.TrimPrefix(engine, "nats://"))
	wrong := launch(t, workOn(late, "--cluster-creds", token, "--name", "wrong", "-o", filepath.Join(dir, "wrong"))...)
	until(t, "it says that its clock is wrong", func() bool {
		return strings.Contains(wrong.says.String(), "clock is off by more than the job allows") && strings.Contains(wrong.says.String(), "set it right")
	})
	launch(t, workOn(at, "--name", "right", "-o", filepath.Join(dir, "right"))...).ends(0)
	wrong.ends(0)
	if strings.Contains(wrong.says.String(), "taken") {
		t.Errorf("a node whose clock is wrong owns shards: %s", wrong.says)
	}
}

// lastYear forwards connections to a server, but sets back the times in its answers by a year. It returns the forwarding address.
func lastYear(t *testing.T, server string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	year := time.Now().UTC().Year()
	from, to := fmt.Appendf(nil, `"ts":"%d`, year), fmt.Appendf(nil, `"ts":"%d`, year-1)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { replace(in, out, from, to); _ = in.Close() }()
		}
	}()
	return l.Addr().String()
}

// replace copies r to w, and replaces the text from by the text to, which has the same length.
func replace(w io.Writer, r io.Reader, from, to []byte) {
	var b []byte
	part := make([]byte, 32<<10)
	for {
		n, err := r.Read(part)
		b = bytes.ReplaceAll(append(b, part[:n]...), from, to)
		keep := 0 // number of bytes at the end of b that may begin the text
		for k := min(len(from)-1, len(b)); k > 0 && err == nil; k-- {
			if bytes.HasSuffix(b, from[:k]) {
				keep = k
				break
			}
		}
		if _, werr := w.Write(b[:len(b)-keep]); err != nil || werr != nil {
			return
		}
		b = append([]byte(nil), b[len(b)-keep:]...)
	}
}

// fullDisk checks that a node on a disk that is too small gives its shards back and ends, and that another node continues. When the small
// disk is gone, its files are reported as missing.
func fullDisk(t *testing.T, engine, dir string) {
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	mounted := func(script string, args ...string) *exec.Cmd { // the mount is visible only to this command
		return exec.Command("unshare", append([]string{"-rm", "sh", "-ec", `mount -t tmpfs -o size=8m none "$0"; ` + script, small}, args...)...)
	}
	if out, err := mounted("true").CombinedOutput(); err != nil {
		t.Skipf("mounting is not allowed: %v %s", err, out)
	}
	web := newClusterWeb(t, 4, 6)
	web.filler = func() string { return filler(800 << 10) }
	at := createFor(t, engine, "disk", web)
	full := launchAs(t, mounted(`exec amble "$@"`, workOn(at, "--name", "small", "-o", filepath.Join(small, "n"))...))
	big := filepath.Join(dir, "big")
	full.ends(6)
	if says := full.says.String(); !strings.Contains(says, "the disk is full") || !strings.Contains(says, "make room and start the node again") {
		t.Errorf("a full disk: %s", says)
	}
	launch(t, workOn(at, "--name", "big", "-o", big)...).ends(0)
	out := launch(t, slices.Concat([]string{"cluster", "collect"}, at, []string{"-o", filepath.Join(dir, "out"), big})...)
	out.ends(6)
	if !strings.Contains(out.says.String(), "node small") {
		t.Errorf("what was on a disk that is lost: %s", out.says)
	}
}

// filler returns a comment that hardly compresses.
func filler(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b)
	return "<!--" + hex.EncodeToString(b) + "-->"
}
