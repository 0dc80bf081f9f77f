// Package server serves the jobs of a [jobs.Manager] over HTTP, for programs in any language.
//
//	tokens, err := server.ReadTokens("tokens")
//	…
//	s, err := server.Open("data", server.Config{Tokens: tokens})
//	…
//	log.Fatal(http.ListenAndServe("127.0.0.1:8420", s))
//
// Clients show a token as a bearer (RFC 6750). They start jobs with the settings of a job file, except those that name files, programs
// or the environment of the server or lead requests into its network. /v1/openapi.json describes all requests and answers.
package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/jobs"
)

// Config configures a Server.
type Config struct {
	// Jobs configures the Manager.
	Jobs jobs.Config
	// Tokens are those that clients may show; one at least.
	Tokens []Token
	// Contact is the contact in jobs whose settings have none, for site owners; "": each client gives its own.
	Contact string
	// AllowAddresses are ranges of addresses that jobs may request although they are not public. Seeds are no exception, other than in
	// other crawls: clients choose them.
	AllowAddresses []netip.Prefix
	// Webhooks are those that clients may name; nil: none.
	Webhooks []Webhook
	// Kinds are the kinds of exports; nil: those of [export.Kinds].
	Kinds []export.Kind
	// Audit gets one line of JSON for each request that came with a token, or was refused for want of one. nil: none is written.
	Audit io.Writer
	// Listener accepts connections in Serve. No job connects to its address. nil: the Server is used as an http.Handler alone.
	Listener net.Listener
	// Hosts are the names of proxies in front of the Server. Requests for any other name but localhost are refused, so that no page of
	// another site reaches it (DNS rebinding); addresses are accepted.
	Hosts []string
	// Proxied refuses requests without "X-Forwarded-Proto: https": a proxy in front of the Server sets it.
	Proxied bool
}

// Server serves jobs. It is an [http.Handler], and safe for concurrent use.
type Server struct {
	config   Config
	manager  *jobs.Manager
	clients  clients
	hosts    *localweb.Hosts
	mux      *http.ServeMux
	pages    *http.ServeMux // below the path of a session
	sessions sessions
	closing  chan struct{} // closed when the Server closes
	close    sync.Once
	starts   sync.Mutex    // held from counting the jobs of a token to the start of one
	exports  chan struct{} // holds an entry for each export being written
	guesses  *rate.Limiter // of tokens

	serving sync.WaitGroup
	audit   sync.Mutex // guards Config.Audit
}

// maxExports limits the exports that are written at a time: each reads the whole job.
const maxExports = 2

// Open opens a directory of jobs, as [jobs.Open] does, and returns a Server for them.
func Open(dir string, c Config) (*Server, error) {
	if c.Kinds == nil {
		c.Kinds = export.Kinds()
	}
	all, err := newClients(c.Tokens)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, clients: all, exports: make(chan struct{}, maxExports), pages: http.NewServeMux(), closing: make(chan struct{}), guesses: rate.NewLimiter(maxGuesses, 10*maxGuesses)}
	address := ""
	if c.Listener != nil {
		address = c.Listener.Addr().String()
	}
	s.hosts = localweb.NewHosts(address, c.Hosts...)
	check := c.Jobs.Check
	c.Jobs.Check = func(q jobs.Request, x *job.Config) error {
		if check != nil {
			if err := check(q, x); err != nil {
				return err
			}
		}
		if addr, err := netip.ParseAddrPort(address); err == nil {
			x.Crawl.Fetch.Listeners = append(x.Crawl.Fetch.Listeners, addr)
		}
		return confine(c.AllowAddresses, &q, x)
	}
	if len(c.Webhooks) > 0 {
		c.Jobs.Send = s.send
	}
	s.handle()
	s.manager, err = jobs.Open(dir, c.Jobs)
	return s, err
}

// Manager returns the Manager of the jobs.
func (s *Server) Manager() *jobs.Manager { return s.manager }

// Close ends the streams of results and closes the Manager, as [jobs.Manager.Close] does.
func (s *Server) Close(ctx context.Context) error {
	s.close.Do(func() { close(s.closing) })
	return s.manager.Close(ctx)
}

// requestTime limits the time to write an answer that is no stream.
const requestTime = 30 * time.Second

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	localweb.SetHeaders(w.Header())
	port := ""
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(addr.String())
	}
	switch {
	case !s.hosts.Ours(r.Host, port):
		write(w, &problemError{Status: http.StatusMisdirectedRequest, Title: "nothing is served under that host name", Detail: "request it by an address, or have the operator name the host"})
		return
	case s.config.Proxied && r.Header.Get("X-Forwarded-Proto") != "https":
		write(w, &problemError{Status: http.StatusForbidden, Title: "the request was not encrypted", Detail: "request https: of the proxy, which must set X-Forwarded-Proto"})
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)) // a writer without deadlines has others, or none
	s.mux.ServeHTTP(w, r)
}

// guarded returns a handler for those whose token has the scope of a route. It writes the audit log.
func (s *Server) guarded(r *route) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		began, out := time.Now(), &recorder{ResponseWriter: w}
		c := s.client(q)
		defer func() { s.log(began, c, q, out) }()
		err := s.admit(c, r.scope, began)
		if err == nil {
			err = r.serve(s, out, &call{Request: q, client: c})
		}
		if err == nil {
			return
		}
		if out.status != 0 { // the response has begun: it must visibly break off
			panic(http.ErrAbortHandler)
		}
		write(out, problemOf(err))
	}
}

// Handle serves what h serves at a path, to clients whose token has a scope. It is called before the first request.
func (s *Server) Handle(path string, scope Scope, h http.Handler) {
	s.mux.Handle(path, s.guarded(&route{scope: scope, serve: func(_ *Server, w *recorder, r *call) error {
		h.ServeHTTP(w, r.Request)
		return nil
	}}))
}

// client returns the client that makes a request, nil if its token is missing or unknown.
func (s *Server) client(r *http.Request) *client {
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil
	}
	return s.clients.of(bearer)
}

// admit returns why a client may not make a request.
func (s *Server) admit(c *client, scope Scope, now time.Time) error {
	if c == nil && !s.guesses.AllowN(now, 1) {
		return &problemError{Status: http.StatusTooManyRequests, Title: "too many requests without a valid token", Detail: "tokens that are valid are not delayed", retry: time.Second}
	}
	if c == nil {
		return &problemError{Status: http.StatusUnauthorized, Title: "no valid token", Detail: "send it as Authorization: Bearer TOKEN; the operator has tokens"}
	}
	if d := c.wait(now); d > 0 {
		return &problemError{Status: http.StatusTooManyRequests, Title: "too many requests", Detail: fmt.Sprintf("token %s may make %g a second", c.Name, c.rate.Limit()), retry: d}
	}
	if !c.may(scope) {
		return &problemError{Status: http.StatusForbidden, Title: fmt.Sprintf("token %s has no scope %s", c.Name, scope), Detail: "ask the operator for a token that has it"}
	}
	return nil
}

// recorder remembers the status of an answer, and the job that it is about.
type recorder struct {
	http.ResponseWriter
	status int
	job    string
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// logged is a line of the audit log.
type logged struct {
	Time   time.Time `json:"time"`
	Token  string    `json:"token,omitempty"` // "": none that is known
	From   string    `json:"from"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"`
	Job    string    `json:"job,omitempty"`
	Millis int64     `json:"ms"`
}

// log writes a line of the audit log.
func (s *Server) log(began time.Time, c *client, r *http.Request, out *recorder) {
	if s.config.Audit == nil {
		return
	}
	l := logged{began.UTC().Truncate(time.Millisecond), "", r.RemoteAddr, r.Method, r.URL.Path, out.status, out.job, time.Since(began).Milliseconds()}
	if c != nil {
		l.Token = c.Name
	}
	b, err := json.Marshal(&l)
	if err == nil {
		s.audit.Lock()
		defer s.audit.Unlock()
		_, err = s.config.Audit.Write(append(b, '\n'))
	}
	if err != nil && s.config.Jobs.Note != nil {
		s.config.Jobs.Note("", "the audit log cannot be written: "+err.Error())
	}
}

// seconds returns a time as whole seconds, rounded up, as Retry-After has it.
func seconds(d time.Duration) string { return strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))) }

var errStreams = &problemError{Status: http.StatusTooManyRequests, Title: "too many streams", Detail: fmt.Sprintf("a token may follow and download %d at a time: end one", maxStreams), retry: time.Second}
