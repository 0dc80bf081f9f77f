package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// If a site sends misleading characters or secrets, they reach no terminal, and no file except the archive, which has the received bytes.
func TestHiddenCharactersAndPasswords(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	const turned, control, secret = "\u202etxt.exe\u2066\u200b\u00ad\U000e0041", "\u009b31m\u009d0;title\u009c", "s3cret"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /no"+turned+control+"\nDisallow: /no\nSitemap: http://user:"+secret+"@a.test/"+turned+"\n")
		case "/in":
			w.Header().Set("Location", "http://user:"+secret+"@"+r.Host+"/x"+turned+control)
			w.WriteHeader(http.StatusFound)
		case "/type":
			w.Header().Set("Content-Type", "text/x"+turned)
		case "/gone":
			w.Header()["X"+control] = []string{turned} // such a field is not valid in a header
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("ETag", `"`+turned+control+`"`)
			_, _ = io.WriteString(w, "<title>"+turned+control+"</title><link rel=canonical href='http://user:"+secret+"@a.test/"+turned+"'>"+
				"<a href=/in>"+turned+"</a> <a href=/type>x</a> <a href=/gone>x</a> <a href=/no>x</a> <a href='/"+turned+"'>x</a> <a href='http://user:"+secret+"@"+r.Host+"/'>x</a>")
		}
	}))
	t.Cleanup(srv.Close)
	dir := filepath.Join(t.TempDir(), "job")
	var said bytes.Buffer
	for _, args := range [][]string{
		{"crawl", "-w", "0", "-v", "--retries", "0", "--archive", "-o", dir, srv.URL + "/"},
		{"crawl", "-w", "0", "-v", "--retries", "0", srv.URL + "/"},
		{"crawl", "-w", "0", "-v", "--log-format", "json", "--json", "--retries", "0", srv.URL + "/"},
		{"report", dir}, {"report", "--json", dir}, {"verify", dir}, {"verify", "--json", dir},
		{"explain", dir, srv.URL + "/in"}, {"explain", "--json", dir, srv.URL + "/no"}, {"explain", dir, srv.URL + "/no"},
		{"links", srv.URL + "/"}, {"links", "--json", srv.URL + "/"}, {"robots", srv.URL + "/no"}, {"robots", "--json", srv.URL + "/no"},
		{"plan", srv.URL + "/"}, {"plan", "--json", srv.URL + "/"},
		{"crawl", "http://user:" + secret + "@a.test/"}, {"robots", "http://user:" + secret + "@a.test/" + turned},
		{"crawl", "--" + turned + control}, {"explain", dir, turned + control},
	} {
		out, _ := exec.Command("amble", args...).CombinedOutput() // commands may fail: only what they print matters
		said.Write(out)
		shows(t, strings.Join(args[:1], " "), out, secret)
	}
	if !strings.Contains(said.String(), `\u202etxt.exe`) || !strings.Contains(said.String(), `\u009b31m`) {
		t.Error("nothing of it was said at all")
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := must(filepath.Rel(dir, path))
		if err != nil || e.IsDir() || strings.HasPrefix(name, "frontier") || strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".gz") {
			return err // the queue and the copies of received files contain the received bytes
		}
		shows(t, name, must(os.ReadFile(path)), secret)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	titled := false
	for line := range bytes.Lines(must(os.ReadFile(filepath.Join(dir, job.VisitsName)))) {
		var r sink.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		titled = titled || r.Title == turned+control
	}
	if !titled {
		t.Error("the title is not what it was")
	}
	z, err := gzip.NewReader(bytes.NewReader(must(os.ReadFile(filepath.Join(dir, archiveOf(t, dir))))))
	if err != nil {
		t.Fatal(err)
	}
	if archive := string(must(io.ReadAll(z))); !strings.Contains(archive, "Location: http://user:"+secret+"@") || !strings.Contains(archive, "<title>"+turned+control) {
		t.Error("the archive has not what was received")
	}
}

// shows reports hidden characters and the secret in text as errors.
func shows(t *testing.T, what string, text []byte, secret string) {
	t.Helper()
	for line := range bytes.Lines(text) {
		for _, r := range string(line) {
			if hidden.Is(r) {
				t.Errorf("%s has %U in %q", what, r, line)
				break
			}
		}
		if bytes.Contains(line, []byte(secret)) {
			t.Errorf("%s has the password in %q", what, line)
		}
	}
}
