package docs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recipes returns the code blocks of a document in one language, by their first line.
func recipes(all []document, path, lang string) map[string]string {
	code := map[string]string{}
	for _, d := range all {
		for _, b := range d.blocks {
			if d.path == path && b.lang == lang {
				first, _, _ := strings.Cut(b.code, "\n")
				code[first] = b.code
			}
		}
	}
	return code
}

// The programs and the script of the cookbook do what it says. They crawl servers on loopback, with the default pause.
func TestCookbook(t *testing.T) {
	t.Parallel()
	program(t, "cmd/amble")
	for name, f := range map[string]func(*testing.T){
		"members": members, "club": club, "daily": daily,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
}

// recipe returns the path of a program of the cookbook.
func recipe(name string) string { return filepath.Join(programsDir, name) }

func members(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token is sent to another site")
		}
	}))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	}))
	defer site.Close()
	if out := runWith(t, []string{"SITE_TOKEN=secret"}, t.TempDir(), recipe("members"), site.URL); !strings.Contains(out, "redirected 302") {
		t.Errorf("not logged in:\n%s", out)
	}
}

func club(t *testing.T) {
	const password = "s3cret"
	posts := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch c, _ := r.Cookie("session"); {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.Method == http.MethodPost && r.URL.Path == "/login":
			if posts++; r.PostFormValue("username") == "reader" && r.PostFormValue("password") == password {
				http.SetCookie(w, &http.Cookie{Name: "session", Value: "x", Path: "/"})
				http.Redirect(w, r, "/", http.StatusSeeOther)
			}
		case r.Method != http.MethodGet || c == nil:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, "<form method=post action=/delete><button></form><a href=/logout>bye</a>")
		}
	}))
	defer site.Close()
	out := runWith(t, []string{"SITE_PASSWORD=" + password}, t.TempDir(), recipe("club"), site.URL+"/login", site.URL+"/")
	if posts != 1 || out != "fetched 200 "+site.URL+"/\n" {
		t.Errorf("%d forms\n%s", posts, out)
	}
}

// daily runs the script on two days: on the second, the page is not sent again.
func daily(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	sent := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.URL.Path == "/" && r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.URL.Path != "/robots.txt" {
			sent++
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<title>Home</title>")
		}
	}))
	defer srv.Close()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "crawls"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "crawls", "job.yaml"), "urls: ["+srv.URL+"/]\ndelay: 0\n")
	script := filepath.Join(home, "crawl-daily")
	write(t, script, recipes(documents(t), "docs/cookbook.md", "sh")["#!/bin/sh"])
	bin := t.TempDir() // a folder with a fake clock for the script
	env := []string{"HOME=" + home, "PATH=" + strings.Join([]string{bin, programsDir, os.Getenv("PATH")}, string(os.PathListSeparator))}
	for _, day := range []string{"2026-11-01", "2026-11-02"} {
		write(t, filepath.Join(bin, "date"), "#!/bin/sh\necho "+day+"\n")
		if err := os.Chmod(filepath.Join(bin, "date"), 0o755); err != nil {
			t.Fatal(err)
		}
		runWith(t, env, home, "sh", script)
	}
	visits, err := os.ReadFile(filepath.Join(home, "crawls", "2026-11-02", "visits.jsonl"))
	if sent != 1 || !strings.Contains(string(visits), `"not_modified"`) {
		t.Errorf("sent %d times, %v\n%s", sent, err, visits)
	}
}
