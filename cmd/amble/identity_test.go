package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// newIdentity makes the folder of an identity with the amble command.
func newIdentity(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "labbot")
	a, _, errs := testApp(nil)
	code := a.run([]string{
		"identity", "init", dir, "--agent", "labbot/1.0", "--contact", "https://lab.university.edu/crawl", "--operator", "Web Lab",
		"--reach", "crawl@lab.university.edu", "--purpose", "research", "--why", "We study.", "--kept", "Text, for a year.", "--addresses", "198.51.100.16/30",
	})
	if code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	return dir
}

// wary is a site that answers only requests that are signed.
type wary struct {
	verifier identity.Verifier

	mu       sync.Mutex
	requests []string // "signed", "unsigned", or what is wrong with the signature, for each request
}

func newWary(t *testing.T, dir string) *wary {
	t.Helper()
	folder, err := identity.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &wary{verifier: identity.Verifier{Nonces: identity.NewNonces(1000), Keys: func(agent, id string) (identity.PublicKey, error) {
		profile := folder.Profile()
		k, ok := folder.PublicKey(id)
		if !ok || agent != profile.AgentURL() {
			return identity.PublicKey{}, fmt.Errorf("no key %s of %s", id, agent)
		}
		return identity.PublicKey{Key: k}, nil
	}}}
}

func (w *wary) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	how := "unsigned"
	if r.Header.Get("Signature") != "" {
		how = "signed"
		if _, err := w.verifier.Verify(identity.RequestMessage(r), time.Now()); err != nil {
			how = err.Error()
		}
	}
	w.mu.Lock()
	w.requests = append(w.requests, r.URL.Path+" "+how)
	w.mu.Unlock()
	switch {
	case how != "signed":
		out.Header().Set("Accept-Signature", `sig1=("@method" "@authority" "@path");created;expires;tag="web-bot-auth"`)
		out.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/robots.txt":
		_, _ = out.Write([]byte("User-agent: *\nDisallow: /no\n"))
	case r.URL.Path == "/moved":
		http.Redirect(out, r, "/1", http.StatusFound)
	default:
		out.Header().Set("Content-Type", "text/html")
		_, _ = out.Write([]byte("<a href=/moved>x</a><a href=/no>x</a>"))
	}
}

// TestSignedCrawl crawls a site that demands signatures for all requests, even for robots.txt. The request for the target of a redirect
// must have a new signature: the site checks path and nonce.
func TestSignedCrawl(t *testing.T) {
	labbot := newIdentity(t)
	site := newWary(t, labbot)
	srv := httptest.NewTLSServer(site)
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	a, _, errs := testApp(nil)
	code := a.run([]string{
		"crawl", "-o", dir, "-w", "0s", "--agent", "labbot/1.0", "--contact", "https://lab.university.edu/crawl",
		"--sign", labbot, "--insecure-hosts", "127.0.0.1", srv.URL + "/",
	})
	if code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	if want := []string{"/robots.txt unsigned", "/robots.txt signed", "/ signed", "/moved signed", "/1 signed"}; !slices.Equal(site.requests, want) {
		t.Errorf("requests\n%s\nwant\n%s", strings.Join(site.requests, "\n"), strings.Join(want, "\n"))
	}
	ledger, err := os.ReadFile(filepath.Join(dir, job.LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	if signed, challenged := strings.Count(string(ledger), `"signed":"`), strings.Count(string(ledger), `"challenged":true`); signed != 4 || challenged != 1 {
		t.Errorf("%d signed, %d challenged in\n%s", signed, challenged, ledger)
	}
	visits, err := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err != nil || strings.Count(string(visits), `"outcome":"fetched"`) != 2 || strings.Count(string(visits), `"outcome":"refused"`) != 1 {
		t.Errorf("%v\n%s", err, visits)
	}
	a, out, errs := testApp(nil)
	if code := a.run([]string{"verify", dir}); code != cli.ExitDone {
		t.Errorf("verify: %d\n%s%s", code, out, errs)
	}
	noSecrets(t, labbot, dir)
}

// TestChallengeWithoutIdentity checks that a crawl that does not sign treats a request for a signature as an ordinary response.
func TestChallengeWithoutIdentity(t *testing.T) {
	site := newWary(t, newIdentity(t))
	srv := httptest.NewTLSServer(site)
	defer srv.Close()
	a, out, errs := testApp(nil)
	a.run([]string{"crawl", "-w", "0s", "--insecure-hosts", "127.0.0.1", srv.URL + "/"})
	if want := []string{"/robots.txt unsigned", "/ unsigned"}; !slices.Equal(site.requests, want) || !strings.Contains(out.String(), `"status":401`) {
		t.Errorf("requests %q\n%s\n%s", site.requests, out, errs)
	}
}

// TestRejectedSignature checks that a site whose clock is wrong costs only one more request, and that the user is told.
func TestRejectedSignature(t *testing.T) {
	labbot := newIdentity(t)
	late := newWary(t, labbot)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		if r.URL.Path != "/robots.txt" {
			r.Header.Del("Signature") // simulates a signature that does not verify
		}
		late.ServeHTTP(w, r)
	}))
	defer srv.Close()
	a, out, errs := testApp(nil)
	a.run([]string{"crawl", "-w", "0s", "--sign", labbot, "--insecure-hosts", "127.0.0.1", srv.URL + "/"})
	if want := []string{"/robots.txt unsigned", "/robots.txt signed", "/ unsigned"}; !slices.Equal(late.requests, want) {
		t.Errorf("requests %q", late.requests)
	}
	if !strings.Contains(errs.String(), "ahead of this machine's") {
		t.Errorf("%s\n%s", out, errs)
	}
}

// noSecrets checks that no file in a directory contains the private key of an identity.
func noSecrets(t *testing.T, labbot, dir string) {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(labbot, "private", "*.pem"))
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	pem, err := os.ReadFile(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(string(pem), "\n")[1]
	for _, root := range []string{dir, filepath.Join(labbot, "public")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), secret) {
				t.Errorf("%s has the key", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdentityCommands(t *testing.T) {
	labbot := newIdentity(t)
	run := func(want int, args ...string) string {
		t.Helper()
		a, out, errs := testApp(nil)
		if code := a.run(append([]string{"identity"}, args...)); code != want {
			t.Errorf("%s: exit code %d, want %d\n%s%s", args, code, want, out, errs)
		}
		return out.String() + errs.String()
	}
	if text := run(cli.ExitDone, "check", labbot); strings.Contains(text, "defect") {
		t.Error(text)
	}
	if text := run(cli.ExitDone, "publish", labbot, "--operator", "Another Lab", "--delay", "3s"); !strings.Contains(text, "key directory") {
		t.Error(text)
	}
	page, err := os.ReadFile(filepath.Join(labbot, "public", "crawl", "index.html"))
	if err != nil || !strings.Contains(string(page), "Another Lab") || !strings.Contains(string(page), "3 s") {
		t.Errorf("%v\n%s", err, page)
	}
	if text := run(cli.ExitDone, "rotate", labbot); strings.Count(text, "\nkey  ") != 2 {
		t.Error(text)
	}
	if text := run(cli.ExitDone, "show", "--json", labbot); !strings.Contains(text, `"page":"https://lab.university.edu/crawl"`) {
		t.Error(text)
	}
	edit(t, filepath.Join(labbot, "public", "crawl", "ips.json"), func(s string) string { return "[" + s })
	if text := run(cli.ExitPoliteness, "check", labbot); !strings.Contains(text, "defect: https://lab.university.edu/crawl/ips.json") {
		t.Error(text)
	}
	run(cli.ExitUsage, "check", filepath.Join(labbot, "none"))
	run(cli.ExitUsage, "init", labbot, "--contact", "https://lab.university.edu/crawl")
	run(cli.ExitUsage, "init", filepath.Join(t.TempDir(), "x"))
	run(cli.ExitUsage, "init", filepath.Join(t.TempDir(), "x"), "--contact", "https://lab.university.edu/crawl", "--addresses", "everywhere")
}
