package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// All commands that make requests send the same header fields, cookies and languages as a crawl, to the same sites and with every request,
// whether they come from flags or from entries of a job file.
func TestCommandsSendHeaderFieldsAndCookies(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h := r.Header
		asked = append(asked, strings.Join([]string{r.URL.Path, h.Get("X-Token"), h.Get("X-Entry"), h.Get("Accept-Language"), h.Get("Cookie")}, " "))
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		page("page", "/2")(w, r)
	}))
	defer srv.Close()
	dir := t.TempDir()
	t.Setenv("ACCESS_TOKEN", "s3cret")
	file := filepath.Join(dir, "cookies.txt")
	site := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) // entries with header fields need host names
	if err := os.WriteFile(file, []byte("localhost\tFALSE\t/\tFALSE\t0\tsession\tc00kie\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(entries, []byte("hosts: [{match: localhost, headers: {X-Entry: env:ACCESS_TOKEN}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		entries bool // whether the command uses the host entries of the job file
		page    bool // whether the command requests the page besides robots.txt
	}{{"robots", true, false}, {"plan", true, false}, {"explain", true, false}, {"links", false, true}, {"shell", false, true}} {
		asked = nil
		a, out, errs := testApp(nil)
		code := a.run([]string{c.command, "--config", entries, "-H", "X-Token: env:ACCESS_TOKEN", "--accept-language", "de", "--load-cookies", file, site + "/"})
		want := " s3cret"
		if c.entries {
			want += " s3cret de session=c00kie"
		} else {
			want += "  de session=c00kie"
		}
		all := []string{"/robots.txt" + want}
		if c.page {
			all = append(all, "/"+want)
		}
		for _, line := range all {
			if !slices.Contains(asked, line) {
				t.Errorf("%s: exit %d, asked %q, want %q\n%s%s", c.command, code, asked, line, out, errs)
			}
		}
		if said := fmt.Sprint(out, errs); code != 0 || strings.Contains(said, "s3cret") || strings.Contains(said, "c00kie") {
			t.Errorf("%s: exit %d\n%s", c.command, code, said)
		}
		a, _, errs = testApp(nil)
		if code := a.run([]string{c.command, "-H", "X-Token: env:NO_SUCH_TOKEN", site + "/"}); code != 2 || !strings.Contains(errs.String(), `--header "X-Token": the environment has no NO_SUCH_TOKEN`) {
			t.Errorf("%s: exit %d, %s", c.command, code, errs)
		}
	}
}

// A directory that the user may not enter may hold a job.
func TestExplainOfADirectoryThatCannotBeEntered(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may enter every directory")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	a, _, errs := testApp(nil)
	if code := a.run([]string{"explain", dir, "http://127.0.0.1/"}); code != cli.ExitUsage || !strings.Contains(errs.String(), "permission denied") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
