package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The directory that the program of research-crawls.md writes can be checked with amble verify. The program is run
// unchanged except for the pause, with a server on loopback.
func TestResearchProgramCanBeVerified(t *testing.T) {
	code := ""
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if filepath.Base(d.path) == "research-crawls.md" && b.lang == "go" {
				code = b.code
			}
		}
	}
	const pause = "cfg.Crawl.Politeness.Delay = 5 * time.Second"
	if !strings.Contains(code, pause) {
		t.Fatalf("the program has no %q", pause)
	}
	dir := t.TempDir()
	writeModule(t, dir)
	write(t, filepath.Join(dir, "main.go"), strings.Replace(code, pause, "cfg.Crawl.Politeness.Delay = crawler.None", 1))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /no\n") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<a href=/no>no</a><a href=/yes>yes</a>") })
	mux.HandleFunc("GET /yes", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	write(t, filepath.Join(dir, "seeds.txt"), srv.URL+"/\n")
	run(t, dir, "go", "run", ".")
	out := run(t, dir, program(t, "cmd/amble"), "verify", "study-1")
	for _, want := range []string{"3 requests to 1 host", "no violation"} {
		if !strings.Contains(out, want) {
			t.Errorf("amble verify does not say %q:\n%s", want, out)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a directory and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
