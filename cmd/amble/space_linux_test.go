package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// bigPages serves 250 pages of 128 KiB that hardly compress. Each page links to two more.
func bigPages(t *testing.T) (seed string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil && r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=/%d>x</a><a href=/%d>x</a><p>", min(n*2+1, 249), min(n*2+2, 249))
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for range 8192 {
			fmt.Fprintf(w, "%016x", rng.Uint64())
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

func TestCrawlEndsBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const keep = 20 << 20
	disk, remount := smallDisk(t, 48<<20)
	dir := filepath.Join(disk, "job")
	args := []string{"crawl", "-q", "-o", dir, "--archive", "-d", "none", "-w", "0", "--max-per-host", "none", "--min-free", fmt.Sprint(keep), bigPages(t)}

	code, said := amble(t, args...)
	if want := "the disk is nearly full"; code != cli.ExitLimit || !strings.Contains(said, want) {
		t.Fatalf("exit code %d, %s; want %d and %q", code, said, cli.ExitLimit, want)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	if free := int64(s.Bavail) * s.Bsize; free < keep-1<<20 {
		t.Errorf("%d bytes are free, want %d", free, keep)
	}
	if code, said := amble(t, "verify", dir); code != cli.ExitDone {
		t.Errorf("verify: exit code %d, %s", code, said)
	}
	if _, said := ambleOut(t, "show", dir); !strings.Contains(said, "limit min-free reached") || !strings.Contains(said, "until min-free of 20.0 MiB") {
		t.Errorf("show: %s", said)
	}
	remount(0, 48<<20-int(s.Bavail)*int(s.Bsize)+keep/2)
	code, said = amble(t, "resume", "-q", dir)
	if want := "min-free (20.0 MiB): make room, or set min-free"; code != cli.ExitLimit || !strings.Contains(said, want) {
		t.Errorf("resumed without room: exit code %d, %s; want %q", code, said, want)
	}

	remount(0, 4*roomy)
	if code, said := amble(t, "resume", "-q", dir); code != cli.ExitDone {
		t.Errorf("resumed with room: exit code %d, %s", code, said)
	}
	if _, said := ambleOut(t, "show", dir); !strings.Contains(said, "fetched 250") {
		t.Errorf("show: %s", said)
	}
}

func TestCrawlEndsAtMaxDisk(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	dir := filepath.Join(t.TempDir(), "job")
	code, said := ambleOut(t, "crawl", "-o", dir, "--archive", "-d", "none", "-w", "0", "--max-disk", "4MiB", "--fail-on-limit", bigPages(t))
	for _, want := range []string{"the limit max-disk ended the crawl", "amble resume " + dir + " --max-disk 8MiB"} {
		if code != cli.ExitLimit || !strings.Contains(said, want) {
			t.Errorf("exit code %d, %s; want %d and %q", code, said, cli.ExitLimit, want)
		}
	}
	code, said = amble(t, "resume", "-q", dir)
	if want := "too little of max-disk (4.0 MiB): give more"; code != cli.ExitLimit || !strings.Contains(said, want) {
		t.Errorf("resumed: exit code %d, %s; want %q", code, said, want)
	}
}
