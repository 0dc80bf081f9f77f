package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// TestReplayCommand replays a crawl. It then changes visits of the job and replays the crawl again.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	dir, _ := limitedJob(t)
	if code, stderr := amble(t, "verify", "--replay", dir); code != cli.ExitDone || stderr != "" {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	path := filepath.Join(dir, job.VisitsName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte(`"status":200`), []byte(`"status":201`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, stderr := amble(t, "verify", "--replay", dir); code != cli.ExitOutput || !strings.Contains(stderr, "1 visit not what the archive") {
		t.Errorf("a status was changed: exit code %d, stderr %s", code, stderr)
	}
}
