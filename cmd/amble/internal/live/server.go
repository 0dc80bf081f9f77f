package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job/report"
)

// Server serves the page of a crawl.
type Server struct {
	listener net.Listener
	guard    *guard
	server   *http.Server
	end      context.CancelFunc // ends the streams after a last message to viewers
	stop     context.CancelFunc // ends all requests
	running  sync.WaitGroup
}

// maxConnections limits the number of open connections. Further clients wait.
const maxConnections = 64

// Listen opens a listener on an address, as for net.Listen, such as 127.0.0.1:0. The page may be added later. The host "loopback" selects a
// loopback address that no other server uses.
func Listen(address string) (*Server, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "loopback" {
		address = net.JoinHostPort(randomLoopback(), port)
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Server{listener: ln, guard: newGuard(address, ln.Addr())}, nil
}

// randomLoopback returns a random address in 127/8, where the system supports all of these. Browsers send a cookie to every port of an
// address, so another server on 127.0.0.1 would receive the cookies of a page on that address.
func randomLoopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	var b [3]byte
	_, _ = rand.Read(b[:]) // Read never fails
	for i, c := range b {
		b[i] = 1 + c%254 // neither a network nor a broadcast address
	}
	return netip.AddrFrom4([4]byte{127, b[0], b[1], b[2]}).String()
}

// TokenFile sets the token to the one in a file, so that it stays the same, and programs such as Prometheus can use it. Without this call,
// each start has a new token. Call it before Serve.
func (s *Server) TokenFile(name string) error {
	b, err := safefile.ReadNamed(name, safefile.Token)
	if err != nil {
		return err
	}
	if err := s.guard.setToken(strings.TrimSpace(string(b))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// URL returns the URL of the page, with the token unless the operator chose it.
func (s *Server) URL() string { return s.guard.urlOf(s.listener.Addr()) }

// Public reports whether other machines can reach the page.
func (s *Server) Public() bool { return !localweb.OnLoopback(s.listener.Addr()) }

// Addr returns the address of the server. A crawler must not connect to it.
func (s *Server) Addr() netip.AddrPort {
	ap, _ := netip.ParseAddrPort(s.listener.Addr().String()) // a TCP listener always has such an address
	return ap
}

// Page is served until the context of Run ends: [Live] for a crawl, [Cluster] for a job on a cluster.
type Page interface {
	Run(ctx context.Context)
	handler() http.Handler
}

// Serve starts serving the page, until Close.
func (s *Server) Serve(l Page) {
	ctx, cancel := context.WithCancel(context.Background())
	watching, end := context.WithCancel(ctx)
	s.stop, s.end = cancel, end
	s.server = &http.Server{
		Handler:           s.guard.protect(l.handler()),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.running.Go(func() { l.Run(watching) })
	s.running.Go(func() { _ = s.server.Serve(netutil.LimitListener(s.listener, maxConnections)) }) // Serve returns ErrServerClosed
}

// Close stops the server and all streams.
func (s *Server) Close() {
	if s.server == nil {
		_ = s.listener.Close()
		return
	}
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	s.stop()
	s.running.Wait()
}

// handler returns the handler of all requests that pass the guard.
func (l *Live) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", l.page)
	mux.HandleFunc("GET /events", l.events)
	serveFiles(mux)
	mux.Handle("GET /healthz", metrics.HealthHandler(l.Healthy))
	mux.Handle("GET /readyz", metrics.HealthHandler(l.Ready))
	if l.config.Metrics != nil {
		mux.Handle("GET /metrics", l.config.Metrics.Handler())
	}
	control(mux, l.config.Control, l.wasOrdered)
	if l.config.Debug {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// serveFiles adds the style sheets and scripts of all pages.
func serveFiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /style.css", file("style.css", "text/css; charset=utf-8", report.Palette))
	mux.HandleFunc("GET /live.js", file("live.js", "text/javascript; charset=utf-8", ""))
}

// file serves the text in before, followed by a file.
func file(name, contentType, before string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		b, err := files.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(append([]byte(before), b...))
	}
}

// page serves the page, with an explanation if the request asks for one.
func (l *Live) page(w http.ResponseWriter, r *http.Request) {
	p := l.make(time.Now())
	if url := strings.TrimSpace(r.URL.Query().Get("url")); url != "" && l.config.Why != nil {
		p.URL, p.Because, p.Refresh = url, l.because(url), false
	}
	p.write(w)
}

// write writes the whole page.
func (p *page) write(w http.ResponseWriter) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, "page", p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// maxWhy is the maximum length of an explanation, in bytes.
const maxWhy = 64 << 10

// because returns an explanation of a URL.
func (l *Live) because(url string) string {
	if !l.asking.TryLock() {
		return "Another question is being answered: please try again."
	}
	defer l.asking.Unlock()
	var b bytes.Buffer
	err := l.config.Why(url, &limited{&b, maxWhy})
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, cli.Printable(strings.TrimRight(line, "\n")))
	}
	return strings.Join(lines, "\n")
}

// limited is a writer that keeps the first bytes written to it.
type limited struct {
	w io.Writer
	n int
}

func (l *limited) Write(b []byte) (int, error) {
	all := len(b)
	b = b[:min(all, l.n)]
	l.n -= len(b)
	if _, err := l.w.Write(b); err != nil {
		return 0, err
	}
	return all, nil
}

// control adds handlers that pass the operator's orders to c, and call ordered after each. All use POST, so that links and images cannot
// give orders.
func control(mux *http.ServeMux, c Control, ordered func()) {
	order := func(path string, do func(c Control, r *http.Request) error) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if c == nil {
				http.Error(w, errReadOnly.Error(), http.StatusForbidden)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
			err := r.ParseForm()
			if err == nil {
				err = do(c, r)
			}
			if err != nil {
				http.Error(w, cli.Printable(err.Error()), http.StatusBadRequest)
				return
			}
			ordered()
			w.Header().Set("Location", "./") // back to the page, whatever its path
			w.WriteHeader(http.StatusSeeOther)
		})
	}
	order("/pause", func(c Control, _ *http.Request) error { return c.Pause() })
	order("/resume", func(c Control, _ *http.Request) error { return c.Resume() })
	order("/drain", func(c Control, _ *http.Request) error { return c.Drain() })
	order("/leave-out", func(c Control, r *http.Request) error { return c.LeaveOut(r.PostForm.Get("host")) })
	order("/slower", func(c Control, r *http.Request) error {
		d, err := delayOf(r.PostForm.Get("delay"))
		if err != nil {
			return err
		}
		return c.Slower(r.PostForm.Get("host"), d)
	})
}

// wasOrdered makes Run show the result of an order at once.
func (l *Live) wasOrdered() {
	select {
	case l.ordered <- struct{}{}:
	default: // the entry of an earlier order is still in the channel and leads to a snapshot
	}
}

// delayOf parses a delay: a duration, or a number of seconds.
func delayOf(text string) (time.Duration, error) {
	var d cli.Duration
	if err := d.UnmarshalText([]byte(strings.TrimSpace(text))); err == nil && d > 0 {
		return time.Duration(d), nil
	}
	if d, err := time.ParseDuration(strings.TrimSpace(text) + "s"); err == nil && d > 0 {
		return d, nil
	}
	return 0, errors.New("want a delay such as 5s or 2m")
}
