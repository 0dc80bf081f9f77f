package main

import (
	"bufio"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
)

// hosts represents the servers of one script. A page can contain the URL of a server as ${name}.
type hosts struct {
	mu    sync.Mutex
	base  map[string]string
	asked map[string][]string // requested paths by host, in order
}

func newHosts() *hosts { return &hosts{base: map[string]string{}, asked: map[string][]string{}} }

// serve implements the script command "serve NAME DIR": it serves the directory at a separate loopback address, and sets $NAME to
// http://address:port. A file _answers in the directory has lines of the form PATH STATUS [HEADER: VALUE].
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve NAME DIR")
	}
	h := ts.Value("hosts").(*hosts)
	l, err := demo.Listen(len(h.base))
	ts.Check(err)
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: h.handler(args[0], ts.MkAbs(args[1]))}}
	srv.Start()
	ts.Defer(srv.Close)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base[args[0]] = srv.URL
	ts.Setenv(args[0], srv.URL)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0]+"_port", port)
}

// asked implements the script command "[!] asked NAME PATH": it checks whether the host received a request for the path.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	h := ts.Value("hosts").(*hosts)
	h.mu.Lock()
	defer h.mu.Unlock()
	found := false
	for _, p := range h.asked[args[0]] {
		found = found || p == args[1]
	}
	if found == neg {
		ts.Fatalf("%s was requested for %q", args[0], h.asked[args[0]])
	}
}

func (h *hosts) handler(name, dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked[name] = append(h.asked[name], r.URL.RequestURI(), r.URL.RequestURI()+" from "+strings.TrimRight(strings.TrimRight(r.RemoteAddr, "0123456789"), ":"))
		expand := func(k string) string { return h.base[k] }
		h.mu.Unlock()
		if h.answer(w, dir, r) {
			return
		}
		file := r.URL.Path
		if strings.HasSuffix(file, "/") {
			file += "index.html"
		}
		body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path.Clean("/"+file))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mediaType(path.Ext(file)))
		h.mu.Lock()
		defer h.mu.Unlock()
		fmt.Fprint(w, os.Expand(string(body), expand))
	})
}

// mediaType returns the media type for a file name extension. Systems differ in the media types that they have for feeds.
func mediaType(ext string) string {
	if ext == ".rss" {
		return "application/rss+xml"
	}
	return mime.TypeByExtension(ext)
}

// answer writes the response that _answers has for the requested path, if there is one.
func (h *hosts) answer(w http.ResponseWriter, dir string, asked *http.Request) bool {
	f, err := os.Open(filepath.Join(dir, "_answers"))
	if err != nil {
		return false
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.SplitN(sc.Text(), " ", 3)
		if fields[0] != asked.URL.Path {
			continue
		}
		if len(fields) == 3 {
			k, v, _ := strings.Cut(fields[2], ": ")
			h.mu.Lock()
			w.Header().Set(k, os.Expand(v, func(k string) string { return h.base[k] }))
			h.mu.Unlock()
		}
		status, _ := strconv.Atoi(fields[1])
		if tag := w.Header().Get("ETag"); tag != "" && tag == asked.Header.Get("If-None-Match") {
			status = http.StatusNotModified
		}
		w.WriteHeader(status)
		return true
	}
	return false
}
