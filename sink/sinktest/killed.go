package sinktest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Environment variables of a process that will be killed.
const (
	victimDir    = "SINKTEST_DIR"
	victimOffset = "SINKTEST_OFFSET"
	victimCount  = "SINKTEST_COUNT"
)

// RunKilled tests sinks in processes that are killed while they append, sync, restore and close. After Restore, the output must contain
// what the processes had synced, once each and in order, and nothing else (S1 to S8). For each kill, RunKilled starts the test's own binary
// again, which repeats everything that the calling test does before the call. OpenFull, Thorough, Runs and Seed are not used.
func RunKilled(t *testing.T, s Suite, kills int) {
	t.Helper()
	if dir := os.Getenv(victimDir); dir != "" {
		(&kit{T: t, suite: s, dir: dir}).live()
	}
	const perOutput = 8 // number of kills for one output, which is checked after each kill
	for done := 0; done < kills; {
		h := &killedOutput{kit: &kit{T: t, suite: s, dir: t.TempDir()}, acked: []ack{{}}}
		for range min(perOutput, kills-done) {
			h.kill()
			h.check()
			done++
		}
	}
}

// live appends to an output until the process is killed. It starts at the offset and record in the environment, and prints how much is
// synced.
func (k *kit) live() {
	k.Helper()
	var from ack
	if _, err := fmt.Sscan(os.Getenv(victimOffset)+" "+os.Getenv(victimCount), &from.offset, &from.n); err != nil {
		k.Fatal(err)
	}
	say(k.T, "begin")
	s := k.open()
	k.restore(s, from.offset)
	for k.n = from.n; ; {
		for range rand.IntN(4) {
			k.add(s, rand.IntN(7))
			say(k.T, fmt.Sprintf("ack %d %d", k.sync(s), k.n))
		}
		k.add(s, rand.IntN(2))
		k.close(s)
		s = k.open()
		say(k.T, fmt.Sprintf("ack %d %d", k.sync(s), k.n))
	}
}

func say(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Println(line); err != nil {
		t.Fatal(err)
	}
}

// ack is a line that a process printed before it was killed. It says that the first n records are synced.
type ack struct {
	offset int64
	n      int
}

// killedOutput is an output to which several processes write, one after the other, each until it is killed.
type killedOutput struct {
	*kit
	acked []ack // acks in increasing order
}

// kill starts a process, waits for a few lines and kills it some time later.
func (h *killedOutput) kill() {
	h.Helper()
	cmd := h.victim()
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 1 + rand.IntN(8) {
		if !lines.Scan() {
			break
		}
		h.hear(lines.Text())
	}
	for range rand.IntN(3000) {
		runtime.Gosched()
	}
	if err := cmd.Process.Kill(); err != nil {
		h.Error(err)
	}
	for lines.Scan() { // lines printed before the kill
		h.hear(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // returns an error, because the process was killed
	if h.Failed() {
		h.FailNow()
	}
}

// victim returns the command that runs this test in another process.
func (h *killedOutput) victim() *exec.Cmd {
	var path []string
	for name := range strings.SplitSeq(h.Name(), "/") {
		path = append(path, "^"+regexp.QuoteMeta(name)+"$")
	}
	own := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-test.") })
	cmd := exec.CommandContext(h.Context(), os.Args[0], append([]string{"-test.run=" + strings.Join(path, "/")}, own...)...)
	from := h.acked[len(h.acked)-1]
	cmd.Env = append(os.Environ(), victimDir+"="+h.dir, fmt.Sprintf("%s=%d", victimOffset, from.offset), fmt.Sprintf("%s=%d", victimCount, from.n))
	return cmd
}

// hear reads a line of a process. A line that is neither "begin" nor an ack reports a failure.
func (h *killedOutput) hear(line string) {
	h.Helper()
	var a ack
	if _, err := fmt.Sscanf(line, "ack %d %d", &a.offset, &a.n); err != nil {
		if line != "begin" {
			h.Errorf("before it was killed: %s", line)
		}
		return
	}
	last := h.acked[len(h.acked)-1]
	if a.offset < last.offset || a.offset == last.offset && a.n != last.n {
		h.Errorf("Sync %d with %d records, after %d with %d", a.offset, a.n, last.offset, last.n)
	}
	h.acked = append(h.acked, a)
}

// check restores a copy of the output and reads it. It restores the last offset or, now and then, an earlier one. The next process
// continues from there.
func (h *killedOutput) check() {
	h.Helper()
	if len(h.acked) > 1 && rand.IntN(4) == 0 {
		h.acked = h.acked[:1+rand.IntN(len(h.acked)-1)]
	}
	last, left := h.acked[len(h.acked)-1], h.dir
	h.lay(h.snapshot())
	s := h.open()
	if err := s.Restore(context.Background(), last.offset+1<<50); err == nil {
		h.Errorf("Restore to %d, which the output cannot reach", last.offset+1<<50)
	}
	h.restore(s, last.offset)
	if got := h.sync(s); got != last.offset {
		h.Errorf("Sync %d after Restore(%d)", got, last.offset)
	}
	h.n = last.n
	h.add(s, 2)
	h.close(s)
	var want []string
	for n := 1; n <= last.n+2; n++ {
		want = append(want, urlOf(n))
	}
	h.want(true, want...)
	h.dir = left
}
