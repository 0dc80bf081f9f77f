package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/jobs"
)

// helperDir is the name of the environment variable with the directory for the process that a test kills.
const helperDir = "AMBLE_SERVER_DIR"

// serveJobs runs in the process that the test kills. It prints the address of its server.
func serveJobs(dir string) {
	ann, err := NewToken("ann", annSecret, Read, Write)
	if err != nil {
		panic(err)
	}
	ann.MaxRate = 1e6
	var ln net.Listener
	if ln, err = Listen("127.0.0.1:0", "", "", false); err != nil {
		panic(err)
	}
	s, err := Open(dir, Config{Listener: ln, Tokens: []Token{ann}, AllowAddresses: loopback, Jobs: jobs.Config{Running: 4, State: filepath.Join(dir, "state")}})
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Printf("http://%s\n", ln.Addr())
	if err := s.Serve(context.Background(), time.Minute); err != nil {
		panic(err)
	}
}

// process represents a server in another process.
type process struct {
	*service
	cmd *exec.Cmd
}

func launch(t *testing.T, dir string) *process {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), helperDir+"="+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &process{&service{nil, t, strings.TrimSpace(url)}, c}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// read returns the results after the number from, until it has the maximum number of lines or the answer ends.
func (p *process) read(id string, from, most int) (lines []string) {
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, fmt.Sprintf("%s/v1/jobs/%s/results?follow=1&from=%d", p.url, id, from), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+annSecret)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer a.Body.Close()
	for in := bufio.NewScanner(a.Body); len(lines) < most && in.Scan(); {
		if line := in.Text(); json.Valid([]byte(line)) { // a kill may leave the last line incomplete
			lines = append(lines, line)
		}
	}
	return lines
}

// A server with ten jobs is killed several times. A client that continues with from=, set to the number of results that it has, gets every
// page of every job exactly once. Paused jobs stay paused.
func TestKilledServerResumesResultsWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	const count, pages, kills = 10, 12, 5
	site, dir := newSite(t, pages, nil), t.TempDir()
	p := launch(t, dir)
	ids, got := []string{}, map[string][]string{}
	for i := range count {
		ids = append(ids, p.start(body(site, fmt.Sprintf(`"key":"%d"`, i))).ID)
	}
	paused := p.start(body(site, `"key":"paused"`, `"priority":-1`)).ID
	p.want(http.StatusOK, nil, "POST", "/v1/jobs/"+paused+"/pause", "")
	for range kills {
		for _, at := range rand.Perm(count)[:3] {
			id := ids[at]
			if left := pages - len(got[id]); left > 0 {
				got[id] = append(got[id], p.read(id, len(got[id]), 1+rand.IntN(left))...)
			}
		}
		p.kill()
		p = launch(t, dir)
	}
	defer p.kill()
	for i, id := range ids {
		if again := p.start(body(site, fmt.Sprintf(`"key":"%d"`, i))).ID; again != id {
			t.Errorf("job %d is %s and was %s", i, again, id)
		}
		got[id] = append(got[id], p.read(id, len(got[id]), pages+1)...)
		all := p.lines(id, 0)
		for at := range all {
			all[at] = strings.TrimSuffix(all[at], "\n")
		}
		if !slices.Equal(all, got[id]) {
			t.Errorf("job %d: %d results as they came, and %d others afterwards", i, len(got[id]), len(all))
		}
		once := map[string]bool{}
		for _, line := range all {
			var v struct{ URL string }
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			once[v.URL] = true
		}
		if len(once) != pages || len(all) != pages {
			t.Errorf("job %d: %d results of %d pages, want %d", i, len(all), len(once), pages)
		}
	}
	var info jobs.Info
	if p.want(http.StatusOK, &info, "GET", "/v1/jobs/"+paused, ""); info.State != jobs.Paused {
		t.Errorf("what was paused is %s", info.State)
	}
}
