package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// smallDisk mounts a file system of size bytes at dir. The function remount changes the size or makes the file system read-only.
func smallDisk(t *testing.T, size int) (dir string, remount func(flags uintptr, size int)) {
	t.Helper()
	dir = t.TempDir()
	mount := func(flags uintptr, size int) error {
		return syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%d", size))
	}
	if err := mount(0, size); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, func(flags uintptr, size int) {
		t.Helper()
		if err := mount(syscall.MS_REMOUNT|flags, size); err != nil {
			t.Fatal(err)
		}
	}
}

const roomy = 64 << 20

// amble runs the command and returns its exit code and what it printed to stderr.
func amble(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	cmd := exec.Command("amble", args...)
	var b strings.Builder
	cmd.Stderr = &b
	_ = cmd.Run() // code is the exit code
	return cmd.ProcessState.ExitCode(), b.String()
}

var namesFile = regexp.MustCompile(`(?m)^amble: .*/job/.*no space left on device`)

// TestFullDisk runs crawls on disks of different sizes, which fill up sooner or later. It resumes each crawl when there is space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	for _, size := range []int{4 << 10, 40 << 10, 120 << 10, 200 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			disk, remount := smallDisk(t, size)
			web := newCrashWeb(t)
			j := &killedJob{t: t, web: web, dir: filepath.Join(disk, "job"), rng: rand.New(rand.NewPCG(1, 1))}
			args := append([]string{"crawl", "-q", "-o", j.dir, "-d", "none", "--min-free", "none", "-w", crashDelay.String()}, web.seeds...)
			if code, stderr := amble(t, args...); code != cli.ExitOutput || !namesFile.MatchString(stderr) {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			remount(0, roomy)
			j.kills = 1 // for the number of allowed repeated requests, a full disk counts as a kill
			if code, stderr := amble(t, args...); code != cli.ExitDone {
				t.Errorf("with room again: exit code %d, stderr %s", code, stderr)
			}
			j.check()
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	disk, remount := smallDisk(t, roomy)
	web := newCrashWeb(t)
	dir := filepath.Join(disk, "job")
	if code, stderr := amble(t, "crawl", "-q", "-o", dir, "-w", "0", "--max-pages", "3", web.seeds[0]); code != cli.ExitDone {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	before, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	remount(syscall.MS_RDONLY, roomy)
	for _, args := range [][]string{{"resume", dir}, {"crawl", "-o", dir, web.seeds[0]}, {"crawl", "-o", filepath.Join(disk, "new"), web.seeds[0]}} {
		if code, stderr := amble(t, args...); code != cli.ExitOutput || !strings.Contains(stderr, disk) || !strings.Contains(stderr, "cannot be written: read-only file system") {
			t.Errorf("amble %q: exit code %d, stderr %s", args, code, stderr)
		}
	}
	for _, command := range []string{"verify", "show"} {
		if code, stderr := amble(t, command, dir); code != cli.ExitDone || strings.Contains(stderr, "read-only file system") != (command == "show") {
			t.Errorf("amble %s of a read-only job: exit code %d, stderr %s", command, code, stderr)
		}
	}
	remount(0, roomy)
	if after, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err != nil || string(after) != string(before) {
		t.Errorf("the manifest was changed: %s, %v", after, err)
	}
	if code, stderr := amble(t, "resume", "-q", dir, "--max-pages", "5"); code != cli.ExitDone {
		t.Errorf("writable again: exit code %d, stderr %s", code, stderr)
	}
}

// ambleOut is like amble, but also returns what the command printed to stdout.
func ambleOut(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.Command("amble", args...)
	out, _ := cmd.CombinedOutput() // code is the exit code
	return cmd.ProcessState.ExitCode(), string(out)
}

// Names of files need not be UTF-8, and are not changed.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "\xff.html")
	if err := os.WriteFile(file, []byte("<p>A sentence that is long enough to be the text of this page."), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(page("Page"))
	t.Cleanup(srv.Close)
	out := filepath.Join(t.TempDir(), "\xfe")
	for _, args := range [][]string{{"text", file}, {"crawl", "-q", "-w", "0", "-o", out, srv.URL + "/"}, {"show", out}, {"resume", out}, {"verify", out}, {"show", "--since", out, out}} {
		if code, stderr := amble(t, args...); code != 0 {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}
