package job

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

// numbered starts a server on loopback with numbered pages that each link to the next one. The server calls see for each request.
func numbered(t *testing.T, see http.HandlerFunc) (origin string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		see(w, r)
		n, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// endJob runs a job until it ends.
func endJob(t *testing.T, j *Job) {
	t.Helper()
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// noSecrets checks that no file contains the secret except the file that is meant for it.
func noSecrets(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == cookiesName {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s holds %q", path, secret)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCookiesAreKept resumes a job three times. Each time the site's cookies and those of a cookie file are sent. Changes by the site take
// precedence over the file until another file is given. Only the owner of the job can read the stored cookies.
func TestCookiesAreKept(t *testing.T) {
	got := make(chan string, 100)
	srv := numbered(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Cookie")
		switch r.URL.Path {
		case "/":
			w.Header().Add("Set-Cookie", "site=s3cret1; Path=/")
			w.Header().Add("Set-Cookie", "file=s3cret2; Path=/")
		case "/2":
			w.Header().Add("Set-Cookie", "late=s3cret3; Path=/")
		}
	})
	host := "127.0.0.1"
	file := filepath.Join(t.TempDir(), "cookies.txt")
	write(t, file, host+"\tFALSE\t/\tFALSE\t0\tfile\ts3cret0\n")
	dir := filepath.Join(t.TempDir(), "job")
	c := Config{LoadCookies: file, KeepCookies: true, Archive: true}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Pages, c.Crawl.Concurrency = crawler.NoDelay, 1, 1
	endJob(t, must(Create(dir, c, srv+"/")))
	info, err := os.Stat(filepath.Join(dir, cookiesName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	for n, want := range []string{"file=s3cret0", "site=s3cret1; file=s3cret2", "site=s3cret1; file=s3cret2", "site=s3cret1; late=s3cret3; file=s3cret4"} {
		if n == 3 {
			write(t, file, host+"\tFALSE\t/\tFALSE\t0\tfile\ts3cret4\n")
		}
		if n > 0 {
			c.Crawl.Limits.Pages = crawler.Limit(n + 1)
			endJob(t, must(Resume(dir, c, []string{srv + "/"})))
		}
		if cookie := <-got; cookie != want {
			t.Errorf("page %d: %q, want %q", n, cookie, want)
		}
	}
	noSecrets(t, dir, "s3cret")
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(dir, jobName))))) {
		if strings.HasPrefix(line, "cookies:") && !strings.HasPrefix(line, "cookies: true") {
			t.Errorf("%s", line)
		}
	}
	v := must(Read(dir))
	if res, err := v.Verify(); err != nil || res.Damaged() > 0 {
		t.Errorf("verify: %+v, %v", res, err)
	}
	_ = v.Close()
}

// TestDamagedCookies checks that an unreadable cookie file stops the job before its first request, and that the error does not contain text
// of the file.
func TestDamagedCookies(t *testing.T) {
	srv := numbered(t, func(http.ResponseWriter, *http.Request) {})
	dir := filepath.Join(t.TempDir(), "job")
	c := Config{KeepCookies: true}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Pages = crawler.NoDelay, 1
	endJob(t, must(Create(dir, c, srv+"/")))
	write(t, filepath.Join(dir, cookiesName), "s3cret")
	c.Crawl.Limits.Pages = 2
	_, err := Resume(dir, c, []string{srv + "/"})
	if err == nil || !strings.Contains(err.Error(), cookiesName+" is damaged: remove it") || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, cookiesName)); err != nil {
		t.Fatal(err)
	}
	endJob(t, must(Resume(dir, c, []string{srv + "/"})))
	c = Config{LoadCookies: filepath.Join(dir, "no.txt")}
	if _, err := Create(filepath.Join(t.TempDir(), "job"), c, srv+"/"); err == nil || !strings.Contains(err.Error(), "load-cookies") {
		t.Errorf("%v", err)
	}
}
