package machine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestJobsAreKnownByTheirDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if jobs, err := Jobs(dir); err != nil || len(jobs) > 0 {
		t.Errorf("a missing directory knows %v, %v", jobs, err)
	}
	m := process(t, dir)
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, path := range []string{a, b, a} {
		if err := m.AddJob(path); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, jobsName))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries { // job b was started first
		path := filepath.Join(dir, jobsName, e.Name())
		text, err := os.ReadFile(path)
		at := time.Now()
		if string(text) == b {
			at = at.Add(-time.Hour)
		}
		if err != nil || os.Chtimes(path, at, at) != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"foreign": "relative/path", tempPrefix + "1": a, "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, jobsName, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if jobs, err := Jobs(dir); err != nil || !slices.Equal(jobs, []string{b, a}) {
		t.Errorf("%v, %v, want %v", jobs, err, []string{b, a})
	}
}
