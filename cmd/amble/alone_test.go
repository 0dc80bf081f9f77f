package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsSayThatHostsAreNotShared checks that every command that makes requests warns if its state directory cannot be used.
func TestCommandsSayThatHostsAreNotShared(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	if err := os.WriteFile(state, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"crawl", "-w", "0"}, {"crawl", "-w", "0", "-o", filepath.Join(dir, "job")}, {"check", "-w", "0"}, {"plan"}, {"robots"}, {"explain"}, {"links"},
	} {
		for _, at := range []string{state, filepath.Join(dir, "state-"+args[0])} {
			a, out, errs := testApp(nil)
			code := a.run(append(args, "--state", at, srv.URL+"/"))
			if said := strings.Contains(errs.String()+out.String(), "shared with no other process: "); said != (at == state) {
				t.Errorf("%v with %s: exit code %d\n%s%s", args, at, code, out, errs)
			}
			_ = os.RemoveAll(filepath.Join(dir, "job"))
		}
	}
	a, _, _ := testApp(nil)
	if code := a.run([]string{"crawl", "-w", "0", "-q", "--state", filepath.Join(dir, "state-watched"), "-o", filepath.Join(dir, "job"), srv.URL + "/"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, at := range []string{state, filepath.Join(dir, "state-watched")} {
		a, out, errs := testApp(nil)
		code := a.run([]string{"watch", filepath.Join(dir, "job"), "--budget", "50/day", "--for", "1s", "--state", at})
		if said := strings.Contains(errs.String()+out.String(), "shared with no other process: "); said != (at == state) {
			t.Errorf("watch with %s: exit code %d\n%s%s", at, code, out, errs)
		}
	}
}
