package job

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

// TestJobRefusesSecondProcessAndFinishedJob checks that a second process cannot work on a job, that a finished job cannot be run again, and
// that a directory without a job cannot be resumed. These attempts change nothing.
func TestJobRefusesSecondProcessAndFinishedJob(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	var c Config
	c.Crawl.Politeness.Delay = crawler.NoDelay
	if _, err := Open(dir); !errors.Is(err, ErrNoJob) {
		t.Errorf("opened: %v", err)
	}
	if _, err := Create(dir, c, "https://site.university.edu/"); err == nil {
		t.Error("a crawl without a contact")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", dir, err)
	}
	j, err := Create(dir, c, srv.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(dir, c, srv.URL+"/"); !errors.Is(err, ErrHeld) {
		t.Errorf("held: %v", err)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context()); err == nil {
		t.Error("run twice")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, c, srv.URL+"/"); err == nil {
		t.Error("created twice")
	}
	if _, err := Open(dir); !errors.Is(err, ErrFinished) {
		t.Errorf("finished: %v", err)
	}
	other := c
	other.Crawl.Limits.Depth = 1
	var key *KeyError
	if _, err := Resume(dir, other, []string{srv.URL + "/"}); !errors.As(err, &key) || key.Key != "depth" {
		t.Errorf("another depth: %v", err)
	}
	if _, err := Open(dir, "fetched"); err == nil {
		t.Error("retry of what was fetched")
	}
	if after, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err != nil || string(after) != string(before) {
		t.Errorf("the manifest was changed (%v)\n%s", err, after)
	}
}

// TestClosedWithoutARun checks that a job that was created and closed, but never run, can be resumed.
func TestClosedWithoutARun(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	var c Config
	c.Crawl.Politeness.Delay = crawler.NoDelay
	j, err := Create(dir, c, srv.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	rep, err := j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil || rep.Finish != crawler.FinishDone {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestADirectoryOfANode checks that commands refuse the directory of one node of a cluster's job, and say what to do instead.
func TestADirectoryOfANode(t *testing.T) {
	node := t.TempDir()
	epoch := filepath.Join(node, "3", "1")
	if err := errors.Join(os.MkdirAll(epoch, 0o755), os.WriteFile(filepath.Join(node, NodeName), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{node: "collect the job of the cluster", epoch: "collect the job of the cluster", t.TempDir(): "holds no crawl"} {
		r, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Manifest(); !errors.Is(err, ErrNoJob) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
