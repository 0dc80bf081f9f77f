package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// secretOf is part of every secret value. It must appear in no output.
const secretOf = "t0psecret"

// members is a site whose pages need a token and the cookie that was set by the previous page.
type members struct {
	*httptest.Server
	mu      sync.Mutex
	seen    []string // page number, token and cookies of each request
	hold    int      // number of the page that is not answered the first time
	reached chan struct{}
	once    sync.Once
}

func newMembers(t *testing.T, pages, hold int) *members {
	m := &members{hold: hold, reached: make(chan struct{})}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		m.mu.Lock()
		m.seen = append(m.seen, fmt.Sprint(n, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Cookie")))
		m.mu.Unlock()
		if n == hold {
			m.once.Do(func() {
				close(m.reached)
				<-r.Context().Done()
			})
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: secretOf + strconv.Itoa(n), Path: "/"})
		w.Header().Set("Content-Type", "text/html")
		if n+1 < pages {
			fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// TestAccessSurvivesAKill kills a crawl whose pages need a header field and the cookie of the previous page, and resumes the crawl. The
// secret values appear in no output, and in no file except cookies.json, which only the file's owner can read.
func TestAccessSurvivesAKill(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const pages, hold = 9, 5
	m := newMembers(t, pages, hold)
	dir := filepath.Join(t.TempDir(), "job")
	cookies := filepath.Join(t.TempDir(), "cookies.txt")
	if err := os.WriteFile(cookies, []byte("127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t"+secretOf+"file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	amble := func(args ...string) *exec.Cmd {
		cmd := exec.Command("amble", args...)
		cmd.Env = append(os.Environ(), "TEST_TOKEN=Bearer "+secretOf)
		cmd.Stdout, cmd.Stderr = &said, &said
		return cmd
	}
	first := amble("crawl", "-v", "-w", "0", "-d", "none", "-o", dir, "--archive", "-H", "Authorization: env:TEST_TOKEN",
		"--load-cookies", cookies, "--keep-cookies", m.URL+"/0")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-m.reached
	kept := base64.StdEncoding.EncodeToString([]byte(secretOf + strconv.Itoa(hold-1)))
	for giveUp := time.Now().Add(time.Minute); time.Now().Before(giveUp); { // until the last received cookie is committed
		if b, _ := os.ReadFile(filepath.Join(dir, "cookies.json")); bytes.Contains(b, []byte(kept)) {
			break
		}
		runtime.Gosched()
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // returns an error, because the process was killed
	for _, args := range [][]string{
		{"resume", "-v", dir}, {"report", dir}, {"report", "--json", dir}, {"verify", "--json", dir}, {"explain", dir, m.URL + "/3"},
		{"explain", "--json", dir, m.URL + "/3"}, {"crawl", "--print-config", "-H", "X-Token: " + secretOf},
		{"crawl", "-v", "-w", "0", "-H", "Authorization: Bearer " + secretOf, "--log-format", "json", m.URL + "/7"},
		{"crawl", "-w", "0", "-H", "Authorization " + secretOf, m.URL}, {"crawl", "-w", "0", "-H", "Host: " + secretOf, m.URL},
	} {
		err := amble(args...).Run()
		if refused := len(args) == 6 && args[3] == "-H"; err != nil && !refused {
			t.Errorf("%q: %v\n%s", args, err, said.String())
		}
	}
	m.check(t, pages, hold)
	if strings.Contains(said.String(), secretOf) {
		t.Errorf("a secret was said:\n%s", said.String())
	}
	noSecretIn(t, dir)
}

// check compares the received requests with the expected ones: one for each page, and two for the page hold.
func (m *members) check(t *testing.T, pages, hold int) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var want []string
	for n := range pages {
		cookie := secretOf + strconv.Itoa(n-1)
		if n == 0 {
			cookie = secretOf + "file"
		}
		line := fmt.Sprint(n, " Bearer ", secretOf, " session=", cookie)
		if want = append(want, line); n == hold {
			want = append(want, line)
		}
	}
	if got := strings.Join(m.seen[:min(len(m.seen), len(want))], "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the pages were requested with\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// noSecretIn checks that no file of a job contains the secret, except cookies.json, and that only the owner can read cookies.json.
func noSecretIn(t *testing.T, dir string) {
	t.Helper()
	archived := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b := must(os.ReadFile(path))
		if strings.HasSuffix(path, ".gz") {
			b = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(b)))))
			archived = archived || bytes.Contains(b, []byte("Set-Cookie: session=***")) && bytes.Contains(b, []byte("Authorization: ***"))
		}
		if e.Name() == "cookies.json" {
			if mode := must(e.Info()).Mode().Perm(); mode != 0o600 {
				t.Errorf("%s has the mode %v", path, mode)
			}
			return nil
		}
		for _, form := range []string{secretOf, base64.StdEncoding.EncodeToString([]byte(secretOf))[:9]} {
			if bytes.Contains(b, []byte(form)) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !archived {
		t.Error("the archive does not show that fields were masked")
	}
}
