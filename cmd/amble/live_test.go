//go:build unix

package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// page returns the address of the page that p serves, and its token.
func (p *process) page(t *testing.T) (base, token string) {
	t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		if err != nil {
			t.Fatal("no page is served:", err)
		}
		if _, url, ok := strings.Cut(strings.TrimSpace(line), "watch it at "); ok {
			base, token, _ = strings.Cut(url, "/?token=")
			return base, token
		}
	}
}

// request makes a request of a live page, and returns the status and the body.
func request(t *testing.T, method, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// checkRefusals makes requests without permission, for the page and for orders, and checks that they are refused.
func checkRefusals(t *testing.T, base, token string) {
	t.Helper()
	for _, c := range []struct {
		what, method, path, token, host, origin string
		status                                  int
	}{
		{"a wrong token", http.MethodPost, "/drain", token[1:], "", "", http.StatusUnauthorized},
		{"no token", http.MethodGet, "/", "", "", "", http.StatusUnauthorized},
		{"another Host", http.MethodPost, "/drain", token, "evil.test", "", http.StatusMisdirectedRequest},
		{"another Origin", http.MethodPost, "/drain", token, "", "https://evil.test", http.StatusForbidden},
		{"GET", http.MethodGet, "/drain", token, "", "", http.StatusMethodNotAllowed},
		{"GET", http.MethodGet, "/pause", token, "", "", http.StatusMethodNotAllowed},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, base+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != c.status {
			t.Errorf("%s: %s %s: %d, want %d", c.what, c.method, c.path, res.StatusCode, c.status)
		}
	}
}

// TestListenAndServe watches a crawl and ends it on its live page. Later it serves the page from the job's directory.
func TestListenAndServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	for _, args := range [][]string{{"--no-keep"}, {"-o", dir}} {
		site := newSlowSite(t)
		p := start(t, append([]string{"crawl", "--listen", "loopback:0", "--delay", "none", site.URL + "/"}, args...)...)
		base, token := p.page(t)
		<-site.asked
		status, text := request(t, http.MethodGet, base+"/", token)
		if status != 200 || !strings.Contains(text, "Crawl of "+site.URL) || strings.Contains(text, "Explain") != (args[0] == "-o") {
			t.Errorf("%v: %d %s", args, status, text)
		}
		if status, text = request(t, http.MethodGet, base+"/metrics", token); status != 200 || !strings.Contains(text, "amble_early_requests_total 0") {
			t.Errorf("%v: %d %s", args, status, text)
		}
		if args[0] == "-o" {
			status, text = request(t, http.MethodGet, base+"/?url="+site.URL+"/", token)
			if status != 200 || !strings.Contains(text, "  verdict  ") {
				t.Errorf("why: %d %s", status, text)
			}
		}
		checkRefusals(t, base, token)
		if status, text = request(t, http.MethodGet, base+"/", token); status != 200 || !strings.Contains(text, `action="pause"`) {
			t.Errorf("%v: the crawl does not run any more: %d %s", args, status, text)
		}
		if status, _ = request(t, http.MethodPost, base+"/drain", token); status != http.StatusSeeOther {
			t.Errorf("%v: the order to end: %d", args, status)
		}
		site.release()
		if _, err := io.ReadAll(p.stderr); err != nil {
			t.Error(err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	p := start(t, "show", "--listen", "loopback:0", dir)
	base, token := p.page(t)
	status, text := request(t, http.MethodGet, base+"/", token)
	if status != 200 || !strings.Contains(text, "(drained)") || !strings.Contains(text, "with 2 URLs left") && !strings.Contains(text, "with 1 URL left") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ = request(t, http.MethodPost, base+"/pause", token); status != http.StatusForbidden {
		t.Errorf("an order to what is over: %d", status)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 143 {
		t.Errorf("after SIGTERM: %v", err)
	}
	for _, args := range [][]string{{"serve", t.TempDir()}, {"serve", "--listen", "nowhere", dir}, {"crawl", "--listen", "nowhere", "http://127.0.0.1/"}, {"crawl", "--debug", "http://127.0.0.1/"}} {
		if err := exec.Command("amble", args...).Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestQuietListenPrintsItsAddress checks that with -q, the command prints only the address of the page with the token, because nobody could
// open the page without it.
func TestQuietListenPrintsItsAddress(t *testing.T) {
	for _, c := range []struct{ format, begin string }{{"text", "amble: watch it at http://127.0.0.1:"}, {"json", `{"time":`}} {
		site := newSlowSite(t)
		p := start(t, "crawl", "-q", "--log-format", c.format, "--listen", "127.0.0.1:0", "--delay", "none", site.URL+"/")
		<-site.asked
		line, err := p.stderr.ReadString('\n')
		if _, url, ok := strings.Cut(line, "watch it at "); err != nil || !ok || !strings.HasPrefix(line, c.begin) {
			t.Errorf("%s: %q, %v", c.format, line, err)
		} else if base, token, ok := strings.Cut(strings.TrimRight(url, "\"}\n"), "/?token="); !ok {
			t.Errorf("%s: %q", c.format, line)
		} else if status, text := request(t, http.MethodPost, base+"/drain", token); status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", c.format, status, text)
		}
		site.release()
		if code, rest := p.end(t); code != 0 || rest != "" {
			t.Errorf("%s: exit code %d, and it also told %q", c.format, code, rest)
		}
	}
}

// TestServeHearsSignalsFromTheBeginning checks that the process handles signals from the time that it prints its address.
func TestServeHearsSignalsFromTheBeginning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(dir, os.DirFS("testdata/job-0.1.0/finished")); err != nil {
		t.Fatal(err)
	}
	a, _, errs := testApp(nil)
	a.notify = func(c chan<- os.Signal) {
		if errs.Len() > 0 {
			t.Errorf("the address was told before: %s", errs)
		}
		c <- syscall.SIGTERM
	}
	if code := a.run([]string{"show", "--listen", "loopback:0", dir}); code != cli.ExitTerminated {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
