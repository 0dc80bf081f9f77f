// Package demo serves a small web on loopback, in which each host demonstrates a feature of crawling, and reports a crawl of this web.
//
// Reading order: web.go, shop.go, record.go.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Web is a small web of several hosts, each of which demonstrates a feature.
type Web struct {
	Hosts   []Host
	servers []*http.Server
	serving sync.WaitGroup
}

// Host is a host of the demonstration.
type Host struct {
	Base  string // base URL of the host
	About string // the feature that the host demonstrates
}

// site is a host to serve.
type site struct {
	about   string
	handler func(w *Web) http.Handler
}

// sites are the hosts of the demonstration.
var sites = []site{
	{"a small library: links to all others, a redirect, a broken link", libraryHost},
	{"an archive: robots.txt forbids /drafts/ and asks for half a second between requests", archiveHost},
	{"a busy host: answers 429 once and asks for a second's rest", busyHost},
	{"a shy host: forbids everything", shyHost},
}

// Start serves the hosts of the demonstration on loopback. If the system has several loopback addresses, each host gets a separate one,
// because hosts at one address share its clock.
func Start() (*Web, error) { return serve(sites, 0) }

// Shop serves a bookshop, as a site to try a crawler on, at 127.0.0.1 and the given port; 0: any port.
func Shop(port int) (*Web, error) {
	return serve([]site{{"a bookshop: 12 books on 3 shelves, a catalogue as PDF, a cart that robots.txt forbids", shopHost}}, port)
}

// serve serves hosts, the first one at the given port; 0: any port.
func serve(sites []site, port int) (*Web, error) {
	w := &Web{}
	listeners := make([]net.Listener, len(sites))
	for i, s := range sites {
		l, err := listen(i, port)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("demo: %w", err), w.Close())
		}
		listeners[i] = l
		w.Hosts = append(w.Hosts, Host{"http://" + l.Addr().String() + "/", s.about})
	}
	for i, s := range sites {
		srv := &http.Server{Handler: s.handler(w)}
		w.servers = append(w.servers, srv)
		w.serving.Go(func() { _ = srv.Serve(listeners[i]) }) // Serve always ends with ErrServerClosed, after Close
	}
	return w, nil
}

// Listen listens on the loopback address with this number. If the system has only one loopback address, it listens on that.
func Listen(i int) (net.Listener, error) { return listen(i, 0) }

func listen(i, port int) (net.Listener, error) {
	ctx := context.Background()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.%d:%d", 1+i, port))
	if err != nil && port == 0 { // some systems have only 127.0.0.1
		return new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	}
	return l, err
}

// Close stops the servers.
func (w *Web) Close() error {
	var errs []error
	for _, s := range w.servers {
		errs = append(errs, s.Close())
	}
	w.serving.Wait()
	return errors.Join(errs...)
}

func page(title string, links ...string) http.HandlerFunc {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>%s</title><h1>%s</h1><ul>", title, title)
	for _, l := range links {
		fmt.Fprintf(&b, "<li><a href=%q>%s</a>", l, l)
	}
	b.WriteString("</ul>")
	return html(b.String())
}

func html(text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, text)
	}
}

func text(body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(rw, body)
	}
}

func libraryHost(w *Web) http.Handler {
	m := http.NewServeMux()
	home := []string{"/books/1", "/books/2", "/books/3", "/old", "/gone", "/books/../books/1#top", "/search?q=a"}
	for _, h := range w.Hosts[1:] {
		home = append(home, h.Base)
	}
	m.HandleFunc("GET /{$}", page("Library", home...))
	for i := 1; i <= 3; i++ {
		m.HandleFunc(fmt.Sprintf("GET /books/%d", i), page(fmt.Sprintf("Book %d", i), "/", fmt.Sprintf("/books/%d", i%3+1)))
	}
	m.Handle("GET /old", http.RedirectHandler("/books/2", http.StatusMovedPermanently))
	m.HandleFunc("GET /robots.txt", text("User-agent: *\nDisallow: /search\n"))
	return m
}

func archiveHost(*Web) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", page("Archive", "/1998", "/1999", "/drafts/secret", "/drafts/other"))
	m.HandleFunc("GET /1998", page("1998", "/"))
	m.HandleFunc("GET /1999", page("1999", "/1998"))
	m.HandleFunc("GET /robots.txt", text("User-agent: *\nDisallow: /drafts/\nCrawl-delay: 0.5\n"))
	return m
}

func busyHost(*Web) http.Handler {
	m := http.NewServeMux()
	var asked atomic.Bool
	ok := page("Busy", "/a", "/b")
	m.HandleFunc("GET /{$}", func(rw http.ResponseWriter, r *http.Request) {
		if !asked.Swap(true) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
			return
		}
		ok(rw, r)
	})
	m.HandleFunc("GET /a", page("A", "/b"))
	m.HandleFunc("GET /b", page("B", "/a"))
	return m
}

func shyHost(*Web) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /", page("Nobody should read this"))
	m.HandleFunc("GET /robots.txt", text("User-agent: *\nDisallow: /\n"))
	return m
}
