package machine_test

import (
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
	"github.com/amble-crawler/amble/weburl"
)

func turn(gate string) *politeness.Turn {
	return &politeness.Turn{Gate: gate, Crawl: gate, Host: "h.test", Port: "80", Delay: 2 * time.Second}
}

// waitFor returns how long the crawl of a gate has to wait for a turn, or 0 if it gets one.
func waitFor(t *testing.T, m *machine.Hosts, gate string) time.Duration {
	t.Helper()
	var w *politeness.NotYet
	if err := m.Take(turn(gate)); err != nil && !errors.As(err, &w) {
		t.Error(err)
	}
	if w == nil {
		return 0
	}
	return time.Until(w.Until)
}

// Other processes notice within a second that a process was killed. From then on, its request counts as ended, and the pause
// begins.
func TestKilledProcessHoldsNobodyUpAndLosesNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		killed, other := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{})), open(t, dir)
		longer := turn("killed")
		longer.Delay = 3 * time.Second // longer than the other crawl's delay, and applies to that crawl, too
		if err := killed.Take(longer); err != nil {
			t.Fatal(err)
		}
		if d := waitFor(t, other, "b"); d <= 0 || d > time.Second {
			t.Errorf("looks again after %v", d)
		}
		time.Sleep(time.Minute)
		if d := waitFor(t, other, "b"); d <= 0 {
			t.Error("two requests at once")
		}
		killed.Kill()
		if d := waitFor(t, other, "b"); d != 3*time.Second {
			t.Errorf("after the kill: %v, want the pause", d)
		}
		time.Sleep(3 * time.Second)
		if d := waitFor(t, other, "b"); d != 0 {
			t.Errorf("after the pause: %v", d)
		}
	})
}

// A requested pause survives the process that received the request. The process's place among the waiting crawls does not.
func TestPauseOutlivesProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, waits := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{})), machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
		x := turn("a")
		if err := first.Take(x); err != nil {
			t.Fatal(err)
		}
		waitFor(t, waits, "w")
		first.Done(x, politeness.Owed{Ended: time.Now(), Host: time.Now().Add(time.Minute)})
		first.Kill()
		waits.Kill()
		time.Sleep(time.Second)
		other := open(t, dir)
		if d := waitFor(t, other, "b"); d != 59*time.Second {
			t.Errorf("waits %v for a pause of another process", d)
		}
		time.Sleep(59 * time.Second)
		if d := waitFor(t, other, "b"); d != 0 {
			t.Errorf("waits %v for a killed process in the queue", d)
		}
	})
}

// If a state directory cannot be used, the process leaves the directory unchanged and continues without sharing hosts.
func TestStateDirectoryThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(dir, clocks string) error
		want string
	}{
		"a foreign file": {func(_, clocks string) error {
			return os.WriteFile(clocks, []byte("my notes, which nobody may lose\n"), 0o600)
		}, "is no file of clocks"},
		"a short file": {func(_, clocks string) error { return os.WriteFile(clocks, []byte("x"), 0o600) }, "is no file of clocks"},
		"another version": {func(_, clocks string) error {
			return errors.Join(os.WriteFile(clocks, []byte("amble-clocks 2\n"), 0o600), os.Truncate(clocks, 64<<20))
		}, "is of another version"},
		"a symbolic link": {func(dir, clocks string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "target"), nil, 0o600), os.Symlink("target", clocks))
		}, "symbolic link"},
		"a hard link": {func(dir, clocks string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "target"), nil, 0o600), os.Link(filepath.Join(dir, "target"), clocks))
		}, "second name"},
		"a directory": {func(_, clocks string) error { return os.Mkdir(clocks, 0o700) }, "directory"},
		"a file others can write": {func(_, clocks string) error {
			return errors.Join(os.WriteFile(clocks, nil, 0o600), os.Chmod(clocks, 0o666))
		}, "others can write"},
		"a place others can write": {func(dir, _ string) error { return os.Chmod(dir, 0o777) }, "chmod 700"},
		"a file as the place":      {func(dir, _ string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			clocks := filepath.Join(dir, "clocks")
			if err := errors.Join(os.Mkdir(dir, 0o700), tc.make(dir, clocks)); err != nil {
				t.Skip(err)
			}
			before, _ := os.ReadFile(clocks)
			m := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
			if err := m.NotShared(); err == nil || !strings.Contains(err.Error(), tc.want) && name != "a symbolic link" || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if after, _ := os.ReadFile(clocks); string(after) != string(before) {
				t.Error("the file was changed")
			}
			if waitFor(t, m, "a") != 0 || waitFor(t, m, "b") == 0 {
				t.Error("crawls of the process do not take turns")
			}
			m.Leave("a")
		})
	}
}

// If the state file is removed while it is used, later processes create another one. The processes of both files report that.
func TestRemovedStateDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		m := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
		waitFor(t, m, "a")
		if err := os.RemoveAll(dir); err != nil {
			t.Skip(err)
		}
		time.Sleep(10 * time.Second)
		waitFor(t, m, "b")
		if err := m.NotShared(); err == nil || !strings.Contains(err.Error(), "removed") {
			t.Error(err)
		}
	})
}

// The state file has its full size from the beginning. The system allocates space only for the parts that were written.
func TestStateDirectoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	info, err := os.Stat(filepath.Join(dir, "clocks"))
	if err != nil || info.Size() > 64<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

// If a page of the state file has no room for the clock of another host, crawls of that host wait. No pause is lost.
func TestFullPageMakesCrawlsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, t.TempDir())
		held := map[string]bool{}
		for i := range 9 {
			x := turn("a")
			x.Host = machine.OnePage(i)
			err := m.Take(x)
			if (err != nil) != (i == 8) {
				t.Fatalf("clock %d: %v", i, err)
			}
			held[x.Host] = err == nil
		}
		other := turn("b")
		other.Host = machine.OnePage(0)
		if m.Take(other) == nil {
			t.Error("a clock was lost")
		}
	})
}

// TestKilledProcessKeepsTheTotalRate: if a process is killed while it has the turn of the total rate, it counts as having sent a
// request.
func TestKilledProcessKeepsTheTotalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		killed, other := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{})), open(t, dir)
		rate := func(gate string) *politeness.Turn {
			return &politeness.Turn{Gate: gate, Crawl: gate, Total: true, Delay: 2 * time.Second}
		}
		if err := killed.Take(rate("killed")); err != nil {
			t.Fatal(err)
		}
		killed.Kill()
		for _, want := range []time.Duration{2 * time.Second, 0} {
			var w *politeness.NotYet
			if err := other.Take(rate("b")); errors.As(err, &w) != (want > 0) || want > 0 && time.Until(w.Until) != want {
				t.Errorf("%v, want to wait for %v", err, want)
			}
			time.Sleep(want)
		}
	})
}

// killer is a ledger that kills its process before or after it stores a certain line.
type killer struct {
	strings.Builder
	kill          func()
	before, after int // number of that line; negative: never
	n             int
}

func (k *killer) Write(line []byte) (int, error) {
	if k.n == k.before {
		k.kill()
		return 0, errors.New("killed")
	}
	n, err := k.Builder.Write(line)
	if k.n == k.after {
		k.kill()
	}
	k.n++
	return n, err
}

// TestKilledProcessLosesNoPauseThatItsLedgerHas: at whatever step a process is killed, other processes keep its pauses until it
// resumes.
func TestKilledProcessLosesNoPauseThatItsLedgerHas(t *testing.T) {
	u, _ := weburl.Parse("http://h.test/") // the first request is for robots.txt
	q := politeness.Request{URL: u, Addr: netip.MustParseAddr("192.0.2.1")}
	for _, answer := range []struct {
		reply politeness.Reply
		owed  time.Duration
	}{
		{politeness.Reply{Status: 503, Header: http.Header{"Retry-After": {"60"}}}, time.Minute},
		{politeness.Reply{Status: 200, Header: http.Header{"Ratelimit": {`"a";r=0;t=40`}}}, 40 * time.Second},
		{politeness.Reply{Status: 404}, 5 * time.Second}, // after a slow response
		{politeness.Reply{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 30\n")}, 30 * time.Second},
	} {
		for step := range 6 {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				killed, other := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{})), open(t, dir)
				lines := &killer{kill: killed.Kill, before: -1, after: -1}
				switch step {
				case 1, 3:
					lines.before = step / 2
				case 2, 4:
					lines.after = step/2 - 1
				}
				g, err := politeness.NewGate(politeness.Config{
					Identity: politeness.Identity{Product: "testbot", Contact: "https://lab.university.edu"}, Shared: killed, Ledger: lines,
				})
				if err != nil {
					t.Fatal(err)
				}
				p, err := g.Admit(q)
				if err != nil {
					t.Fatal(err)
				}
				if step == 0 {
					killed.Kill()
				}
				if grant, err := p.Redeem(); err == nil && step > 0 && grant.Begin() == nil && step > 2 {
					time.Sleep(5 * time.Second)
					r := answer.reply
					r.Ended = time.Now()
					g.Report(p, r)
				}
				if step == 5 {
					killed.Kill()
				}
				want := time.Second // others must assume that the request was sent, and wait for its delay
				if strings.Contains(lines.String(), `"event":"end"`) {
					want = answer.owed
				}
				var w *politeness.NotYet
				err = other.Take(&politeness.Turn{Gate: "b", Crawl: "b", Host: "h.test", Port: "80", Delay: time.Second})
				if !errors.As(err, &w) || time.Until(w.Until) < want {
					t.Errorf("%d, killed at step %d: %v, want a pause of %v", answer.reply.Status, step, err, want)
				}
			})
		}
	}
}
