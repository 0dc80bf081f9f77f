package identity

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// get is a Get that connects to loopback.
func (l *loopback) get(ctx context.Context, at string) (*Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "gzip") // like a crawler's requests
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var from io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(resp.Body); err != nil {
			return nil, err
		}
	}
	body, err := io.ReadAll(io.LimitReader(from, 1<<20))
	return &Response{resp.StatusCode, resp.Header, body}, err
}

// nginx serves root over TLS on a listener that was opened before nginx starts.
func (l *loopback) nginx(t testing.TB, root, include string, ln net.Listener) {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir, user := t.TempDir(), ""
	if os.Geteuid() == 0 {
		user = "user root;" // the test's folders belong to root
	}
	conf := fmt.Sprintf(`%[7]s
daemon off;
worker_processes 1;
pid %[1]s/pid;
error_log stderr;
events { }
http {
    access_log off;
    client_body_temp_path %[1]s;
    proxy_temp_path %[1]s;
    fastcgi_temp_path %[1]s;
    uwsgi_temp_path %[1]s;
    scgi_temp_path %[1]s;
    types { text/html html; application/json json; }
    default_type application/octet-stream;
    gzip on;
    gzip_types *;
    gzip_min_length 1;
    server {
        listen %[2]s ssl;
        ssl_certificate %[3]s;
        ssl_certificate_key %[4]s;
        root %[5]s;
        %[6]s
    }
}
`, dir, ln.Addr(), l.cert, l.key, root, include, user)
	path := filepath.Join(dir, "test.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	cmd := exec.Command(nginx, "-p", dir, "-c", path, "-e", "stderr")
	cmd.Env = append(os.Environ(), "NGINX=3;") // how nginx inherits a socket
	cmd.ExtraFiles = []*os.File{socket}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // not a kill, which would leave its worker process running
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// servedByNginx returns an identity served by nginx, with or without the nginx configuration that this package writes.
func servedByNginx(t *testing.T, l *loopback, include bool, spoil func(f *Folder)) *Folder {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := testProfile()
	p.Page = "https://" + ln.Addr().String() + "/crawl"
	f, err := Init(filepath.Join(t.TempDir(), "identity"), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if spoil != nil {
		spoil(f)
	}
	line := ""
	if include {
		line = "include " + filepath.Join(f.dir, nginxName) + ";"
	}
	l.nginx(t, f.PublicDir(), line, ln)
	return f
}

func (l *loopback) check(t *testing.T, f *Folder) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := f.Check(ctx, l.get, namesOf(f.state.Profile.Addresses...), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// With the generated configuration, nginx serves an identity without defects.
func TestNginxServesAnIdentity(t *testing.T) {
	l := newLoopback(t)
	f := servedByNginx(t, l, true, func(f *Folder) {
		if err := f.Rotate(time.Now(), false); err != nil {
			t.Fatal(err)
		}
	})
	r := l.check(t, f)
	for _, d := range r.Defects {
		t.Error(d)
	}
	if len(r.Checked) != 5 {
		t.Errorf("checked: %q", r.Checked)
	}
	p := f.Profile()
	for at, kind := range map[string]string{p.Page + "/": pageType, p.DirectoryURL(): directoryType, p.CardURL(): cardType, p.RangesURL(): rangesType, p.RetiredURL(): cardType} {
		// The digest covers the bytes on the wire, so these must not be compressed.
		if r, err := l.get(context.Background(), at); err != nil || r.Header.Get("Content-Type") != kind || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v %v", at, r.Header, err)
		}
	}
	page, err := l.get(context.Background(), p.Page+"/")
	if err != nil || !strings.Contains(page.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || len(linkHeader(page.Header["Link"], "client-ranges")) != 1 {
		t.Errorf("%v %v", page, err)
	}
}

// Exactly three defects are reported: nginx serves the directory as an unknown file type, the card is for another
// address, and the address ranges have no time.
func TestCheckNamesThreeDefectsThatNginxServes(t *testing.T) {
	l := newLoopback(t)
	f := servedByNginx(t, l, true, func(f *Folder) {
		replace := func(file, from, to string) {
			b, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(b), from) {
				t.Fatalf("%s: %v, no %q", file, err, from)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := f.Profile()
		replace(filepath.Join(f.dir, nginxName), directoryType, "application/octet-stream")
		replace(f.publicFile(p.beside(cardName)), "crawl/signature-agent-card.json", "card.json")
		replace(f.publicFile(p.beside(rangesName)), "creationTime", "created")
	})
	r := l.check(t, f)
	p := f.Profile()
	want := []struct{ where, what string }{
		{p.CardURL(), `"client_id" is "` + p.Origin() + `/card.json", and not the card's own address`},
		{p.DirectoryURL(), `the key directory is served as "application/octet-stream"`},
		{p.RangesURL(), `"creationTime" is "", not a time in UTC`},
	}
	if len(r.Defects) != len(want) || r.OK() {
		t.Errorf("%d defects", len(r.Defects))
	}
	for i, d := range r.Defects {
		if i >= len(want) || d.Where != want[i].where || d.What != want[i].what || !d.Must || d.Fix == "" {
			t.Errorf("%v", d)
		}
	}
}

// Without the configuration that this package writes, nginx serves the folder like any other. Each resulting defect is reported.
func TestNginxWithoutConfiguration(t *testing.T) {
	l := newLoopback(t)
	r := l.check(t, servedByNginx(t, l, false, nil))
	var found []string
	for _, d := range r.Defects {
		found = append(found, d.What)
	}
	all := strings.Join(found, "\n")
	for _, want := range []string{`served as "application/octet-stream"`, "how long they may keep", "the key directory is not signed"} {
		if !strings.Contains(all, want) {
			t.Errorf("not found: %s", want)
		}
	}
	if len(found) != 3 {
		t.Errorf("found:\n%s", all)
	}
}
