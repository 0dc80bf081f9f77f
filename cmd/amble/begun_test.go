package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/job"
)

// TestUnreadableJobHasBegun checks that the directory of a job that cannot be read does not count as one in which none has begun, which
// is removed.
func TestUnreadableJobHasBegun(t *testing.T) {
	dir := t.TempDir()
	if begun(dir) || begun(filepath.Join(dir, "missing")) {
		t.Error("a directory without a manifest")
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !begun(dir) || job.Holds(dir) {
		t.Error("a manifest without a job file")
	}
}
