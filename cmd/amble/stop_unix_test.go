//go:build unix

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// siteServer represents a web server program whose configuration includes lines of docs/politeness.md.
type siteServer struct {
	fence, program string
	config         string // template: %[1]s is a directory, %[2]d a port, %[3]s the lines, %[4]s modules
	args           func(dir string) []string
}

var siteServers = []siteServer{
	{"nginx", "nginx", `daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events { }
http {
	access_log %[1]s/access.log;
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	types { text/html html; text/plain txt; }
	server {
		listen 127.0.0.1:%[2]d;
		root %[1]s/site;
		%[3]s
	}
}
`, func(dir string) []string {
		return []string{"-p", dir, "-c", filepath.Join(dir, "conf"), "-e", "stderr"}
	}},
	{"apache", "apache2", `ServerRoot %[1]s
Listen 127.0.0.1:%[2]d
ServerName 127.0.0.1
PidFile %[1]s/pid
DefaultRuntimeDir %[1]s
ErrorLog /dev/stderr
LoadModule mpm_event_module %[4]s/mod_mpm_event.so
LoadModule authz_core_module %[4]s/mod_authz_core.so
LoadModule dir_module %[4]s/mod_dir.so
LoadModule mime_module %[4]s/mod_mime.so
LoadModule rewrite_module %[4]s/mod_rewrite.so
LoadModule headers_module %[4]s/mod_headers.so
TypesConfig /dev/null
AddType text/html .html
DirectoryIndex index.html
CustomLog %[1]s/access.log "%%r"
<VirtualHost *:%[2]d>
	DocumentRoot %[1]s/site
	%[3]s
</VirtualHost>
`, func(dir string) []string { return []string{"-D", "FOREGROUND", "-f", filepath.Join(dir, "conf")} }},
	{"caddy", "caddy", `{
	admin off
	auto_https off
}
http://127.0.0.1:%[2]d {
	log {
		output file %[1]s/access.log
	}
	%[3]s
	root * %[1]s/site
	file_server
}
`, func(dir string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", filepath.Join(dir, "conf")}
	}},
}

// TestLinesForSiteOwners crawls real web servers whose configuration has the lines of docs/politeness.md that keep amble out. Its first
// request is refused and remains the only one; other clients get the page. With the lines for robots.txt, only that file is requested.
func TestLinesForSiteOwners(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	doc := must(os.ReadFile("../../docs/politeness.md"))
	lines := func(fence string) string {
		m := regexp.MustCompile("(?s)```" + fence + "\n(.*?)```").FindSubmatch(doc)
		if m == nil {
			t.Fatalf("docs/politeness.md has no lines for %s", fence)
		}
		return string(m[1])
	}
	for _, s := range siteServers {
		for name, robots := range map[string]string{"lines": "", "robots.txt": lines("txt"), "no lines": ""} {
			t.Run(s.program+"/"+name, func(t *testing.T) {
				config := ""
				if name == "lines" {
					config = lines(s.fence)
				}
				dir, at, stop := s.start(t, config, robots)
				resp, err := http.Get(at)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("others get %s", resp.Status)
				}
				_ = exec.Command("amble", "crawl", "-q", "-o", filepath.Join(dir, "job"), "-w", "0s", at).Run() // fails, because no page is fetched
				stop()                                                                                          // completes the log
				got := strings.Count(string(must(os.ReadFile(filepath.Join(dir, "access.log")))), "\n") - 1
				if want := map[string]int{"lines": 1, "robots.txt": 1, "no lines": 4}[name]; got != want {
					t.Errorf("%d requests, want %d", got, want)
				}
			})
		}
	}
}

// start serves three pages that link to each other, with the given lines in the configuration of the server. It returns the directory and
// the address of the server, and a function that stops it.
func (s siteServer) start(t *testing.T, lines, robots string) (dir, at string, stop func()) {
	t.Helper()
	program, err := exec.LookPath(s.program)
	if err != nil {
		t.Skipf("%s is not installed", s.program)
	}
	dir = t.TempDir()
	site := filepath.Join(dir, "site")
	if err := os.Mkdir(site, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"index.html": "<a href=/1.html>x</a>", "1.html": "<a href=/2.html>x</a>", "2.html": "<a href=/>x</a>"}
	if robots != "" {
		files["robots.txt"] = robots
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(site, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := must(net.Listen("tcp4", "127.0.0.1:0"))
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	modules := filepath.Join(filepath.Dir(program), "../lib/apache2/modules")
	const all = "\n#%[1]s%[2]d%[3]q%[4]s" // a comment that uses every argument, because each server uses only some of them
	config := fmt.Sprintf(s.config+all+"\n", dir, port, lines, modules)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd := exec.Command(program, s.args(dir)...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // no kill: after SIGTERM, Apache ends its child processes, too
		<-ended
	})
	t.Cleanup(func() { stop() })
	for at = fmt.Sprintf("http://127.0.0.1:%d/", port); ; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			stop = func() {} // the server has ended already
			t.Fatalf("%s: %v\n%s", s.program, err, log.String())
		default:
		}
		if c, err := net.Dial("tcp4", l.Addr().String()); err == nil {
			_ = c.Close()
			return dir, at, stop
		}
	}
}
