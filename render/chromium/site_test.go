package chromium_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
	"github.com/amble-crawler/amble/weburl"
)

// html is the header of an HTML page.
var html = http.Header{"Content-Type": {"text/html; charset=utf-8"}}

// fetched is when the pages of all tests were fetched.
var fetched = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// site is a server on loopback that counts connections and requests: in the end all of them must come from the test's own client.
type site struct {
	t      *testing.T
	server *httptest.Server
	client *http.Client
	others []*site
	header http.Header       // header of "/"
	refuse map[string]string // reasons to refuse, by path, as from the gate
	before func(path string) // called before a path is requested

	mu          sync.Mutex
	connections int // seen by the server
	requests    []string
	sent        []string
}

// files are the answers of a site by path; the media type follows from the name or the text.
type files map[string]string

func newSite(t *testing.T, f files) *site {
	t.Helper()
	s := &site{t: t}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(&s.requests, r.Method+" "+r.URL.RequestURI())
		for k, v := range s.header {
			if r.URL.Path == "/" {
				w.Header()[k] = v
			}
		}
		serve(w, r, f)
	}))
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connections++
			s.mu.Unlock()
		}
	}
	s.server.Start()
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	s.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.server.Close()
	})
	return s
}

func serve(w http.ResponseWriter, r *http.Request, f files) {
	body, ok := f[r.URL.RequestURI()]
	if !ok {
		body, ok = f[r.URL.Path]
	}
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case len(body) > 4 && body[:3] == "-> ":
		w.Header().Set("Location", body[3:])
		w.WriteHeader(http.StatusFound)
		return
	case body == "endless":
		for r.Context().Err() == nil {
			io.WriteString(w, strings.Repeat("endless", 1000))
		}
		return
	case w.Header().Get("Content-Type") != "":
	case body != "" && body[0] == '<':
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	case body != "" && (body[0] == '{' || body[0] == '['):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
	default:
		w.Header().Set("Content-Type", "text/javascript")
	}
	io.WriteString(w, body)
}

func (s *site) note(list *[]string, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, line)
}

// get is the fetcher: only it may contact the site.
func (s *site) get(url string) (*render.Answer, string) {
	path := mustParse(s.t, url).Path()
	if reason := s.refuse[path]; reason != "" {
		return nil, reason
	}
	if s.before != nil {
		s.before(path)
	}
	s.note(&s.sent, "GET "+mustParse(s.t, url).PathQuery())
	res, err := s.client.Get(url)
	if err != nil {
		return nil, "no_answer"
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, render.MaxAnswerBody))
	if err != nil {
		return nil, "cut_short"
	}
	a := &render.Answer{Status: res.StatusCode, Header: res.Header, Body: body}
	if len(body) == render.MaxAnswerBody {
		a.Truncated = "length"
	}
	return a, ""
}

// page renders a page of the site completely.
func (s *site) page(r rendertest.Rounder, path string, p render.Policy) *render.Result {
	s.t.Helper()
	return s.with(r, path, p, render.NewStore(0))
}

func (s *site) with(r rendertest.Rounder, path string, p render.Policy, store *render.Store) *render.Result {
	s.t.Helper()
	u := mustParse(s.t, s.server.URL+path)
	document, reason := s.get(u.String())
	if document == nil {
		s.t.Fatal(reason)
	}
	x, err := render.Begin(&p, store, u, document, render.RuleAlways, fetched)
	if err != nil {
		s.t.Fatal(err)
	}
	defer x.End("page")
	res, err := rendertest.Finish(s.t.Context(), r, x, func() time.Time { return fetched }, func(w render.Want) (*render.Answer, string) {
		for _, x := range append(s.others, s) {
			if mustParse(s.t, x.server.URL).Authority() == w.URL.Authority() {
				return x.get(w.URL.String())
			}
		}
		return nil, "elsewhere"
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// alone asserts that only the fetcher has contacted the site.
func (s *site) alone() {
	s.t.Helper()
	for _, x := range s.others {
		x.alone()
	}
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	if fmt.Sprint(s.requests) != fmt.Sprint(s.sent) {
		s.t.Errorf("the site saw\n%v\nof which ours were\n%v", s.requests, s.sent)
	}
	if s.connections > len(s.sent) {
		s.t.Errorf("the site saw %d connections for %d requests of ours", s.connections, len(s.sent))
	}
}

func mustParse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// once renders a page and asserts that only the fetcher has contacted the site.
func (s *site) once(r *chromium.Renderer, path string, p render.Policy) *render.Result {
	s.t.Helper()
	res := s.page(r, path, p)
	s.alone()
	return res
}

// twice renders a page twice and asserts that both results are equal, byte by byte.
func (s *site) twice(r *chromium.Renderer, path string, p render.Policy) *render.Result {
	s.t.Helper()
	a, b := s.page(r, path, p), s.page(r, path, p)
	if string(a.DOM) != string(b.DOM) {
		s.t.Errorf("rendered twice, %s is\n%s\nand\n%s", path, a.DOM, b.DOM)
	}
	s.alone()
	return a
}
