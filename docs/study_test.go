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

// study is the program of research-crawls.md; pause is its line with a pause that is too long for a test.
const (
	study = "study"
	pause = "cfg.Crawl.Politeness.Delay = 5 * time.Second"
)

// shownPrograms returns the programs of documents that tests run, by name: those of the cookbook, and the program of research-crawls.md
// without its pause.
func shownPrograms() (map[string]string, error) {
	docs, err := readDocuments()
	if err != nil {
		return nil, err
	}
	code := map[string]string{}
	for first, recipe := range recipes(docs, "docs/cookbook.md", "go") {
		code[strings.Fields(first)[2]] = recipe // the line has the form: Command NAME …
	}
	for _, d := range docs {
		for _, b := range d.blocks {
			if d.path == "docs/research-crawls.md" && b.lang == "go" {
				code[study] = b.code
			}
		}
	}
	if !strings.Contains(code[study], pause) {
		return nil, fmt.Errorf("the program of research-crawls.md has no %q", pause)
	}
	code[study] = strings.Replace(code[study], pause, "cfg.Crawl.Politeness.Delay = crawler.NoDelay", 1)
	return code, nil
}

// The directory that the program of research-crawls.md writes can be checked with amble verify. The program is run unchanged except for the
// pause, with a server on loopback.
func TestResearchProgramCanBeVerified(t *testing.T) {
	t.Parallel()
	amble := program(t, "cmd/amble")
	dir := t.TempDir()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /no\n") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<a href=/no>no</a><a href=/yes>yes</a>") })
	mux.HandleFunc("GET /yes", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	write(t, filepath.Join(dir, "seeds.txt"), srv.URL+"/\n")
	run(t, dir, filepath.Join(programsDir, study))
	out := run(t, dir, amble, "verify", "study-1")
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
	return runWith(t, nil, dir, name, args...)
}

// runWith runs a command with environment variables.
func runWith(t *testing.T, env []string, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
