//go:build unix

package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// Servers and nodes report their state to clients that have the token. Other clients only learn whether the process works.
func TestClusterPages(t *testing.T) {
	dir := clusterHome(t)
	web := newClusterWeb(t, 2, 400)
	server := launch(t, "cluster", "serve", "--dir", filepath.Join(dir, "engine"), "--listen", "127.0.0.1:0", "--monitor", "127.0.0.1:0", "--log-format", "json")
	engine := listens(t, server)
	until(t, "the server is ready", func() bool { return strings.Contains(server.says.String(), "is ready: it stores") })
	create := []string{"crawl", "--cluster", engine, "--job", "shops", "--shards", "4", "--replicas", "1", "--lease", "6s", "-w", "100ms", "--max-pages", "none", "--depth", "none", web.bases[0] + "/0"}
	launch(t, create...).ends(0)
	node := launch(t, "cluster", "work", "--cluster", engine, "--job", "shops", "--name", "n1", "-o", filepath.Join(dir, "n1"), "--page", "127.0.0.1:0")
	address := func(p *proc) (base, token string) {
		t.Helper()
		var found []string
		until(t, "a page", func() bool {
			found = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/)\?token=([A-Z0-9]+)`).FindStringSubmatch(p.says.String())
			return found != nil
		})
		return found[1], found[2]
	}
	get := func(url, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	serverAt, serverToken := address(server)
	nodeAt, nodeToken := address(node)
	if status, _ := get(nodeAt, ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	until(t, "a node that is ready", func() bool {
		status, _ := get(nodeAt+"readyz", "")
		return status == http.StatusOK
	})
	until(t, "the page of the node", func() bool {
		_, page := get(nodeAt, nodeToken)
		return strings.Contains(page, "Job shops") && strings.Contains(page, "at work") && strings.Contains(page, strings.TrimPrefix(web.bases[0], "http://"))
	})
	if _, text := get(nodeAt+"metrics", nodeToken); !strings.Contains(text, `amble_cluster_nodes{state="live"} 1`) || !strings.Contains(text, "amble_requests_total") {
		t.Errorf("the node's numbers: %s", text)
	}
	launch(t, "cluster", "pause", "--cluster", engine, "--job", "shops").ends(0)
	until(t, "the page of a job that is paused", func() bool {
		_, page := get(nodeAt, nodeToken)
		return strings.Contains(page, "nothing is requested until it is resumed")
	})
	if _, text := get(serverAt+"metrics", serverToken); !strings.Contains(text, "amble_engine_stores 1") {
		t.Errorf("the server's numbers: %s", text)
	}
	if status, text := get(serverAt+"readyz", ""); status != http.StatusOK {
		t.Errorf("the server: %d %s", status, text)
	}
	for _, line := range strings.Split(strings.TrimSpace(server.says.String()), "\n") {
		if !strings.HasPrefix(line, `{"time":`) {
			t.Errorf("a log line: %s", line)
		}
	}
	for _, args := range [][]string{
		{"cluster", "work", "--job", "shops", "-o", "x", "--page-token", "f"},
		{"cluster", "serve", "--dir", filepath.Join(dir, "other"), "--monitor", "nowhere"},
	} {
		p := launch(t, args...)
		p.ends(cli.ExitUsage)
		if !regexp.MustCompile(`--page-token|--monitor`).MatchString(p.says.String()) {
			t.Errorf("%v: %s", args, p.says)
		}
	}
}
