// Package server serves the jobs of a [jobs.Manager] over HTTP, for programs in any language.
//
//	tokens, err := server.ReadTokens("tokens")
//	…
//	s, err := server.Open("data", server.Config{Tokens: tokens})
//	…
//	log.Fatal(http.ListenAndServe("127.0.0.1:8420", s))
//
// Clients authenticate with a bearer token (RFC 6750). They start jobs with the settings of a job file, except those that name files,
// programs or the environment of the server, or could direct requests into its network. /v1/openapi.json describes all requests and
// responses.
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
	// Tokens are the valid tokens, at least one.
	Tokens []Token
	// Contact is the contact for site owners in jobs whose settings have none; "": each client must give one.
	Contact string
	// AllowAddresses are ranges of non-public addresses that jobs may request. Unlike in other crawls, the addresses of seeds must be
	// public or in these ranges, because clients choose them.
	AllowAddresses []netip.Prefix
	// Webhooks are the webhooks that clients may use; nil: none.
	Webhooks []Webhook
	// Kinds are the supported kinds of exports; nil: those of [export.Kinds].
	Kinds []export.Kind
	// Audit receives one JSON line for each request that had a token, or was refused because it had none. It may be nil.
	Audit io.Writer
	// Listener accepts connections in Serve. Jobs cannot connect to its address. nil: the Server is used only as an http.Handler.
	Listener net.Listener
	// Hosts are the names of proxies in front of the Server. To prevent DNS rebinding, requests for other names are refused, except
	// localhost and IP addresses.
	Hosts []string
	// Proxied refuses requests without "X-Forwarded-Proto: https": a proxy in front of the Server must set it.
	Proxied bool
}

// Server serves jobs. It is an [http.Handler], and safe for concurrent use.
type Server struct {
	config   Config
	manager  *jobs.Manager
	clients  clients
	hosts    *localweb.Hosts
	mux      *http.ServeMux
	pages    *http.ServeMux // routes below the path of a session
	sessions sessions
	closing  chan struct{} // closed when the Server closes
	close    sync.Once
	starts   sync.Mutex    // held from counting the jobs of a token until a job is started
	exports  chan struct{} // holds an entry for each export being written
	guesses  *rate.Limiter // limits attempts with unknown tokens

	serving sync.WaitGroup
	audit   sync.Mutex // guards Config.Audit
}

// maxExports limits concurrent exports: each reads the whole job.
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

// requestTime limits the time to write a response that is not a stream.
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
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)) // a writer without deadlines may have none
	s.mux.ServeHTTP(w, r)
}

// guarded returns a handler that requires a token with the scope of a route. It also writes the audit log.
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
		if out.status != 0 { // the response has begun: abort the connection so that the client notices
			panic(http.ErrAbortHandler)
		}
		write(out, problemOf(err))
	}
}

// Handle serves requests to a path with h, for clients whose token has a scope. It must be called before the first request.
func (s *Server) Handle(path string, scope Scope, h http.Handler) {
	s.mux.Handle(path, s.guarded(&route{scope: scope, serve: func(_ *Server, w *recorder, r *call) error {
		h.ServeHTTP(w, r.Request)
		return nil
	}}))
}

// client returns the client of a request, nil if its token is missing or unknown.
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

// recorder records the status of a response, and the job that it is about.
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

// Unwrap supports [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// logged is a line of the audit log.
type logged struct {
	Time   time.Time `json:"time"`
	Token  string    `json:"token,omitempty"` // "" if the token is unknown
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

// seconds formats a duration as whole seconds, rounded up, for Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(max(1, int(math.Ceil(d.Seconds())))) }

var errStreams = &problemError{Status: http.StatusTooManyRequests, Title: "too many streams", Detail: fmt.Sprintf("a token may follow and download %d at a time: end one", maxStreams), retry: time.Second}
