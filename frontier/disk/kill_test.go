package disk

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/long"
)

var kills = flag.Int("kills", long.N(2, 5), "how often TestKilled kills the process that has the store open")

var damages = flag.Int("damages", long.N(1, 3), "how many bits TestDamaged flips in each file, one at a time")

// victimDir is an environment variable that makes the test binary a process to be killed.
const victimDir = "FRONTIER_DISK_VICTIM"

// victim crawls until it is killed.
func victim(dir, life string) error {
	s, err := Open(dir, victimConfig())
	if err != nil {
		return err
	}
	fmt.Println("open")
	w := &witness{s: s, life: life, say: func(line string) { fmt.Println(line) }}
	return w.crawl(context.Background(), 1<<30)
}

// victimConfig has small memtables, so that kills also hit flushes and compactions.
func victimConfig() Config {
	return Config{ClaimTimeout: time.Hour, CacheSize: 4 << 20, MemTableSize: 256 << 10}
}

// TestKilled repeatedly kills a crawling process and opens its directory. Everything reported as done must be there,
// and the last commit entirely or not at all.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for processes")
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	finished := map[string]bool{}
	commits, half := int64(0), 0
	for life := range *kills {
		h := listen(killed(t, dir, life))
		s, err := Open(dir, victimConfig())
		if err != nil {
			t.Fatalf("after kill %d: %v", life, err)
		}
		h.verify(t, s, finished)
		if _, begun := h.tries[h.done+1]; begun {
			half++
		}
		commits = s.Offsets("")["commits"]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("that was kill %d", life)
		}
	}
	t.Logf("%d kills, %d of them during a Commit; %d commits, %d URLs done", *kills, half, commits, len(finished))
}

// killed returns the output of a process that was killed at a random time after it opened the store.
func killed(t *testing.T, dir string, life int) (lines []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, fmt.Sprintf("%s_LIFE=%d", victimDir, life))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			if lines = append(lines, sc.Text()); len(lines) == 1 {
				close(open)
			}
		}
	}()
	select {
	case <-open:
	case <-read:
	}
	timer := time.NewTimer(time.Duration(rand.IntN(250)) * time.Millisecond)
	<-timer.C
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-read
	_ = cmd.Wait() // the process was killed
	if len(lines) == 0 || lines[0] != "open" || strings.HasPrefix(lines[len(lines)-1], "failed") {
		t.Fatalf("the process ended by itself: %q", lines)
	}
	return lines
}
