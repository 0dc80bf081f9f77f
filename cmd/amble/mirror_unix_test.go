//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// If the command that makes a mirror is killed several times, the mirror becomes the same as one made without interruption.
func TestKilledMirrorResumes(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const pages, kills = 60, 4 // each process has enough work left to reach its kill
	var asked atomic.Int64
	killed, reached := make(chan struct{}), make(chan struct{})
	var at atomic.Int64 // number of the request that gets no response until the process is killed
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == at.Load() {
			reached <- struct{}{}
			<-killed
		}
		var links []string
		for i := range pages {
			links = append(links, fmt.Sprintf("/p%d", i))
		}
		page(r.URL.Path, links...)(w, r)
	}))
	t.Cleanup(srv.Close)
	tmp := t.TempDir()
	mirror := func(dir string) *exec.Cmd {
		return exec.Command("amble", "mirror", "-q", "-w", "0", srv.URL+"/", filepath.Join(tmp, dir))
	}
	for i := range kills {
		at.Store(asked.Load() + int64(3+5*i))
		cmd := mirror("killed")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-reached
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // returns an error, because the process was killed
		killed <- struct{}{}
	}
	if out, err := mirror("killed").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := mirror("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if a, b := copyOf(t, filepath.Join(tmp, "killed")), copyOf(t, filepath.Join(tmp, "whole")); a != b || strings.Count(a, "\n") != pages+2 {
		t.Errorf("%s\nwant\n%s", a, b)
	}
}

// copyOf returns the names and lengths of a mirror's files.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && name == ".amble" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			text, readErr := fs.ReadFile(root, name)
			fmt.Fprintln(&b, name, len(text))
			err = readErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
