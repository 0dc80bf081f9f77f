//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/jobs"
)

// After SIGTERM, the request in flight may end. The next start of the service continues the job, and has the token of the first start.
func TestServeEndsNormallyAndResumes(t *testing.T) {
	dir, site := filepath.Join(t.TempDir(), "data"), newSlowSite(t)
	serve := func() (*process, func(method, path, body string) string) {
		return startService(t, dir, "serve", "--jobs", dir, "--listen", "127.0.0.1:0")
	}
	p, ask := serve()
	var info jobs.Info
	request := fmt.Sprintf(`{"seeds":[%q],"settings":{"delay":"1ms"}}`, site.URL+"/")
	if err := json.Unmarshal([]byte(ask("POST", "/v1/jobs", request)), &info); err != nil {
		t.Fatal(err)
	}
	<-site.asked
	p.signal(t, syscall.SIGTERM)
	site.release()
	if code, stderr := p.end(t); code != cli.ExitTerminated {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	p, ask = serve()
	if got := ask("GET", "/v1/jobs/"+info.ID+"/results?follow=1", ""); strings.Count(got, "\n") != 4 {
		t.Errorf("results: %s", got)
	}
	p.signal(t, syscall.SIGTERM)
	if code, stderr := p.end(t); code != cli.ExitTerminated {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	log, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil || strings.Count(string(log), "\n") != 2 || !strings.Contains(string(log), `"token":"operator"`) {
		t.Errorf("audit log: %s, %v", log, err)
	}
}

func TestServeRefusesWhatIsNotSafe(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("ann 9d1c6f0fb0a94b5e8a6a4e2f0c7d3b1a read\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--jobs DIR":                  {},
		"chmod 600":                   {"--jobs", dir, "--token", open},
		"nothing is encrypted":        {"--jobs", dir, "--listen", "0.0.0.0:0"},
		"--max-running 0":             {"--jobs", dir, "--max-running", "0"},
		`--allow-address "127.0.0.1"`: {"--jobs", dir, "--allow-address", "127.0.0.1"},
	} {
		a, _, errs := testApp(nil)
		if code := a.run(append([]string{"serve"}, args...)); code != cli.ExitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit code %d, %s, want %q", args, code, errs, want)
		}
	}
}

// startService starts a command that serves the jobs of dir over HTTP. It also returns a function that makes requests with the token.
func startService(t *testing.T, dir string, args ...string) (p *process, ask func(method, path, body string) string) {
	t.Helper()
	p = start(t, args...)
	line, err := p.stderr.ReadString('\n')
	_, rest, _ := strings.Cut(line, " at ")
	base, _, ok := strings.Cut(rest, ";")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	base = strings.TrimSuffix(base, "/")
	tokens, err := os.ReadFile(filepath.Join(dir, "tokens"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Fields(strings.Split(string(tokens), "\n")[1])[1]
	return p, func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode > 299 {
			t.Fatalf("%s %s: %s %s %v", method, path, a.Status, b, err)
		}
		return string(b)
	}
}

// Agents need a token. They can reach only public addresses, unless the operator allows others.
func TestAgentsAreServedByHTTP(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<a href="/next">next</a>`)
	}))
	defer site.Close()
	fetch := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"links","arguments":{"url":%q}}}`, site.URL+"/")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "is not a public address, and the operator of the server has not allowed it"},
		{[]string{"--allow-address", "127.0.0.0/8"}, `"state":"done"`},
	} {
		dir := filepath.Join(t.TempDir(), "agents")
		p, ask := startService(t, dir, append([]string{"mcp", "--jobs", dir, "--listen", "127.0.0.1:0"}, c.args...)...)
		if got := ask("POST", "", fetch); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.args, got)
		}
		p.signal(t, syscall.SIGTERM)
		if code, stderr := p.end(t); code != cli.ExitTerminated {
			t.Errorf("exit code %d, %s", code, stderr)
		}
		log, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
		if err != nil || !strings.Contains(string(log), `"path":"/mcp"`) {
			t.Errorf("audit log: %s, %v", log, err)
		}
	}
}
