//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// web is a web on several loopback addresses that records every request. Its zero value serves no pages.
type web struct {
	port  string
	pages int // number of pages of each ordinary host
	hubs  int // number of pages of the host of hubs

	mu   sync.Mutex
	seen []request
	open map[string]int // requests in flight, by address
	stop chan struct{}  // closed to release held requests
}

// request is a request as seen by the server.
type request struct {
	at      time.Time
	address string // address at which the request arrived
	host    string // host that the request named
	path    string
	flight  int // number of requests in flight at the address, with this one
}

// The hosts. Two names resolve to one address; the others have separate addresses.
const (
	private = "127.0.2.1" // forbids /private/, to which links and a redirect lead
	silent  = "127.0.2.2" // host whose robots.txt has status 503
	busy    = "127.0.2.3" // host whose page asks for a pause
	hubHost = "127.0.3.1" // host whose pages link to very many URLs
	waits   = 3           // pause in seconds that busy asks for
	perHub  = 1000        // number of links on a hub
)

var (
	ordinary = []string{"127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4", "127.0.1.5", "127.0.1.6", "127.0.0.1", "localhost"}
	leaves   = []string{"127.0.3.2", "127.0.3.3", "127.0.3.4", "127.0.3.5"} // hosts of links on hubs; responses are held during a trial
)

// serve starts listening on all addresses, with the same port.
func (w *web) serve(ctx context.Context) (end func(), err error) {
	w.stop, w.open = make(chan struct{}), map[string]int{}
	var all []net.Listener
	s := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	w.port = "0"
	for _, host := range slices.Concat([]string{"127.0.0.1"}, ordinary[:6], []string{private, silent, busy, hubHost}, leaves) {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", host+":"+w.port)
		if err != nil {
			return nil, err
		}
		_, w.port, _ = net.SplitHostPort(l.Addr().String())
		all = append(all, l)
	}
	for _, l := range all {
		go func() { _ = s.Serve(l) }() // ends at Close
	}
	return func() { closeOnce(w.stop); _ = s.Close() }, nil
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// seeds writes a file with the URL of the first page of each host.
func (w *web) seeds(dir string, hosts []string) (file string, err error) {
	var b strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&b, "http://%s:%s/\n", h, w.port)
	}
	file = filepath.Join(dir, "seeds.txt")
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}

// ServeHTTP answers as the requested host does.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	address, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	host := (&url.URL{Host: r.Host}).Hostname() // wget2 names no port
	w.mu.Lock()
	w.open[address]++
	first := host == busy && !slices.ContainsFunc(w.seen, func(q request) bool { return q.host == busy && q.path == r.URL.Path })
	w.seen = append(w.seen, request{time.Now(), address, host, r.URL.Path, w.open[address]})
	stop := w.stop
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.open[address]--
		w.mu.Unlock()
	}()
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case r.URL.Path == "/robots.txt" && host == silent:
		rw.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/robots.txt":
		rw.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(rw, "User-agent: *\nDisallow: /private/\n")
	case host == private && r.URL.Path == "/":
		_, _ = fmt.Fprint(rw, `<title>Home</title><a href="/private/a">a</a> <a href="/moved">b</a> <a href="/open">c</a>`)
	case host == private && r.URL.Path == "/moved":
		http.Redirect(rw, r, "/private/b", http.StatusFound)
	case first && r.URL.Path == "/":
		rw.Header().Set("Retry-After", strconv.Itoa(waits))
		rw.WriteHeader(http.StatusServiceUnavailable)
	case host == busy && r.URL.Path == "/":
		_, _ = fmt.Fprint(rw, `<title>Home</title><a href="/next">next</a>`)
	case host == hubHost:
		w.hub(rw, r.URL.Path)
	case slices.Contains(leaves, host):
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	default:
		w.page(rw, host, r.URL.Path)
	}
}

// hub answers with links to all hubs, or with the links on one of them.
func (w *web) hub(rw http.ResponseWriter, path string) {
	if path == "/" {
		for i := range w.hubs {
			_, _ = fmt.Fprintf(rw, "<a href=\"/hub/%d\">%d</a>\n", i, i)
		}
		return
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(path, "/hub/"))
	for i := range perHub {
		_, _ = fmt.Fprintf(rw, "<a href=\"http://%s:%s/leaf/of/a/site/%d\">%d</a>\n", leaves[i%len(leaves)], w.port, n*perHub+i, i)
	}
}

// page answers with one page of a tree. It has 6 KB of text, and links to three other pages and back.
func (w *web) page(rw http.ResponseWriter, host, path string) {
	n := 0
	if path != "/" {
		var err error
		if n, err = strconv.Atoi(strings.TrimPrefix(path, "/page/")); err != nil || n <= 0 || n >= w.pages {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
	}
	_, _ = fmt.Fprintf(rw, "<!doctype html><html lang=en><title>Page %d of %s</title><body><nav><a href=\"/\">Home</a></nav>", n, host)
	for child := 3*n + 1; child <= 3*n+3 && child < w.pages; child++ {
		_, _ = fmt.Fprintf(rw, `<p>%s<a href="/page/%d">page %d</a></p>`, strings.Repeat("Herons stand in shallow water and wait. ", 50), child, child)
	}
}

// begin clears the record of requests.
func (w *web) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.stop = nil, make(chan struct{})
}

// requests returns the requests since begin.
func (w *web) requests() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// pagesOf returns the number of requests for each page of the ordinary hosts.
func pagesOf(seen []request) map[string]int {
	n := map[string]int{}
	for _, q := range seen {
		if slices.Contains(ordinary, q.host) && q.path != "/robots.txt" && q.path != "/favicon.ico" {
			n[q.host+q.path]++
		}
	}
	return n
}

// pauses summarizes the times between the starts of consecutive requests at an address.
type pauses struct {
	least, percent, median time.Duration
	flight                 int // maximum of concurrent requests at one address
}

// pausesAt returns the pauses at the addresses that want selects.
func pausesAt(seen []request, want func(address string) bool) (p pauses) {
	last := map[string]time.Time{}
	var gaps []time.Duration
	for _, q := range seen {
		if !want(q.address) {
			continue
		}
		if at, ok := last[q.address]; ok {
			gaps = append(gaps, q.at.Sub(at))
		}
		last[q.address] = q.at
		p.flight = max(p.flight, q.flight)
	}
	if len(gaps) == 0 {
		return p
	}
	slices.SortFunc(gaps, cmp.Compare[time.Duration])
	p.least, p.percent, p.median = gaps[0], gaps[len(gaps)/100], gaps[len(gaps)/2]
	return p
}

// manners summarizes a crawler's behaviour where a site restricts it.
type manners struct {
	forbidden  int  // number of requests for links below /private/
	redirected int  // number of requests for the target of a redirect below /private/
	silent     int  // number of pages requested from the host with an unavailable robots.txt
	soon       bool // whether the host that asked for a pause was requested too early
}

func mannersOf(seen []request) (m manners) {
	var asked time.Time
	for _, q := range seen {
		switch {
		case q.host == private && q.path == "/private/a":
			m.forbidden++
		case q.host == private && q.path == "/private/b":
			m.redirected++
		case q.host == silent && q.path != "/robots.txt":
			m.silent++
		case q.host == busy && q.path != "/robots.txt":
			if !asked.IsZero() && q.at.Sub(asked) < waits*time.Second {
				m.soon = true
			}
			if asked.IsZero() {
				asked = q.at
			}
		}
	}
	return m
}
