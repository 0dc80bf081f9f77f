package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// TestVerifyComputesVerdictsAgain checks that a wrong verdict is named by its URL, whatever else is wrong.
func TestVerifyComputesVerdictsAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: *\nContent-Usage: /no train-ai=n\nContent-Usage: / train-ai=y\nLicense: /l.xml\n"))
		case "/l.xml":
			_, _ = w.Write([]byte(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/paid"><license><payment type="crawl"><amount currency="USD">0.01</amount></payment></license></content></rsl>`))
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<a href=/no>x</a><a href=/paid>x</a>"))
		}
	}))
	defer srv.Close()
	visits := func(old, changed string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, job.VisitsName), func(s string) string {
				if !strings.Contains(s, old) {
					t.Fatalf("no %s in %s", old, s)
				}
				return strings.Replace(s, old, changed, 1)
			})
		}
	}
	for name, c := range map[string]struct {
		tamper func(t *testing.T, dir string)
		want   string
	}{
		"nothing":              {func(*testing.T, string) {}, ""},
		"a verdict":            {visits(`"effect":"forbids"`, `"effect":"allows"`), "/no, line"},
		"an outcome":           {visits(`"outcome":"refused","reason":"usage_signal","detail":"refused: train-ai is forbidden`, `"outcome":"fetched","reason":"","detail":"refused: train-ai is forbidden`), "/no, line"},
		"a statement":          {visits(`"text":"/no train-ai=n"`, `"text":"/no train-ai=y"`), "/no, line"},
		"what a statement is":  {visits(`"train_ai":"forbids"`, `"train_ai":"allows"`), "/no, line"},
		"what a licence means": {visits(`"train_ai":"unmet"`, `"train_ai":"allows"`), "/paid, line"},
		"no terms": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, job.VisitsName), func(s string) string {
				begin := strings.Index(s, `,"terms":`)
				return s[:begin] + s[begin+strings.Index(s[begin:], `]}`)+2:]
			})
		}, "line 1 of"},
		"a kept licence": {func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "robots", "*.txt"))
			if err != nil || len(files) != 3 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				edit(t, f, func(s string) string { return strings.ReplaceAll(s, `type="crawl"`, `type="free"`) })
			}
		}, "/paid, line"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			a, _, errs := testApp(nil)
			if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--purpose", "train-ai", srv.URL + "/"}); code != cli.ExitDone {
				t.Fatal(code, errs)
			}
			c.tamper(t, dir)
			a, out, _ := testApp(nil)
			code := a.run([]string{"verify", dir})
			if c.want == "" {
				if code != cli.ExitDone || !strings.Contains(out.String(), "3 verdicts about uses computed again") {
					t.Errorf("exit code %d\n%s", code, out)
				}
				return
			}
			if code != cli.ExitPoliteness || !strings.Contains(out.String(), "wrong verdict: "+srv.URL) || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %q in\n%s", code, c.want, out)
			}
		})
	}
}
