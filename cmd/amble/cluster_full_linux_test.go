package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/internal/cli"
)

// TestFullEngineDiskHeals checks that the commands status and check report a full disk of a server with exit code 9, and that once there is
// space again, the server stores new data without a restart, at the same address, and still has the old data.
func TestFullEngineDiskHeals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	skipUnderRace(t)
	t.Parallel()
	for name, fill := range map[string]bool{"by the job": false, "by others": true} {
		t.Run(name, func(t *testing.T) {
			disk, remount := smallDisk(t, 6<<20)
			p := launch(t, "cluster", "serve", "--insecure", "--name", "s1", "--dir", filepath.Join(disk, "engine"), "--listen", ownHost()+":0")
			url := listens(t, p)
			at := []string{"--cluster", url, "--job", "test"}
			do := func(command string, args ...string) *proc {
				return launch(t, append(append([]string{"cluster", command}, at...), args...)...)
			}
			do("create", "--shards", "1", "--replicas", "1", "--max-pages", "1", "http://127.0.0.1:9/").ends(0)
			e, err := nats.Connect(t.Context(), nats.Config{URLs: url, Job: "test", Shards: 1, Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			offer, stored := make([]byte, 100<<10), 0
			store := func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				err := e.Send(ctx, 0, fmt.Sprint(stored), offer)
				if err == nil {
					stored++
				}
				return err == nil
			}
			store()
			if fill {
				fillDisk(t, disk)
			}
			until(t, "the disk is full", func() bool { return !store() })
			if !fill { // the server runs, but can store nothing
				for _, command := range []string{"status", "check"} {
					p := do(command)
					p.ends(cli.ExitUnavailable)
					if !strings.Contains(p.says.String(), "the disk of a server is full") {
						t.Errorf("%s says %s", command, p.says)
					}
				}
			}
			remount(0, roomy)
			until(t, "the server stores again", store)
			n := 0
			until(t, "the messages are read", func() bool {
				n = 0
				for _, err := range e.Inbox(t.Context(), 0, 0) {
					if err != nil { // the server is busy: try again
						return false
					}
					n++
				}
				return true
			})
			if n < stored { // n may exceed stored: an unacknowledged message may be stored, too
				t.Errorf("%d messages are there, %d were acknowledged", n, stored)
			}
			do("status").ends(0)
		})
	}
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 4<<10); err == nil; {
		_, err = f.Write(b)
	}
}
