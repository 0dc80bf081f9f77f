package kept

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/machine"
)

func TestJobThatRunsStays(t *testing.T) {
	state := t.TempDir()
	folder, err := Folder(state)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder, "site-1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	before := read(dir) // state of the job before it is created
	j, err := job.Create(dir, job.Config{State: state}, "http://127.0.0.1:9/")
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := List(state)
	if err != nil || len(jobs) != 1 || jobs[0].State != "running" {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for _, k := range []Job{before, jobs[0]} {
		if err := k.Remove(); err == nil {
			t.Errorf("a job that is %s in the list was removed", k.State)
		}
	}
	if !job.Holds(dir) {
		t.Error("it is gone")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := before.Remove(); err != nil || job.Holds(dir) {
		t.Errorf("a job that does not run: %v", err)
	}
}

func TestNamesDoNotLeaveTheDirectoryOfKeptJobs(t *testing.T) {
	state := t.TempDir()
	t.Setenv(machine.StateVariable, state)
	folder, err := Folder("")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(folder, "site-1", "deep"), filepath.Join(filepath.Dir(folder), "other")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(filepath.Dir(folder), "other"), filepath.Join(folder, "linked")); err != nil {
		t.Logf("no links here: %v", err)
	}
	if got, want := Path("site-1"), filepath.Join(folder, "site-1"); got != want {
		t.Errorf("site-1 is %s, want %s", got, want)
	}
	for _, name := range []string{"", ".", "..", "../other", "site-1/deep", "./site-1", "linked", "https://site.test/", "none"} {
		if got := Path(name); got != name {
			t.Errorf("%q is %s", name, got)
		}
	}
}

func TestReportsAreNoJobs(t *testing.T) {
	state := t.TempDir()
	folder, err := Folder(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"site-1", "site-2", "site-2-report"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"site": " (did you mean site-2?)", "site-1x": " (did you mean site-1?)", "site-2-repor": "", "other": ""} {
		if got := DidYouMean(state, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	jobs, _, err := List(state)
	if err != nil || len(jobs) != 2 {
		t.Errorf("%+v, %v", jobs, err)
	}
}
