package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/jobs"
)

//go:embed page.tmpl page.css page.js
var pageFiles embed.FS

// pageTemplates are parsed on first use.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"num": cli.Num, "age": age, "class": classOf, "seed": seedOf, "safe": job.WithoutSecrets, "value": settingText, "round": cli.Round,
		"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"s": func(n int) string {
			if n == 1 {
				return ""
			}
			return "s"
		},
		"scopes":  func() map[string]string { return scopeWords },
		"default": func(key string) string { return defaultOf(job.KeyNamed(key)) },
	}).ParseFS(pageFiles, "page.tmpl"))
})

// scopeWords are the labels of the choices of the key scope, the default first.
var scopeWords = map[string]string{
	"": "the hosts of the seeds", "domain": "their domains", "prefix": "only below the paths of the seeds", "any": "anywhere",
}

// view holds the values of the templates.
type view struct {
	Title    string
	Root     string // path of the session, with a slash at the end; "" without a session
	Name     string // name of the token
	Write    bool   // the token has the scope write
	Error    string
	Refresh  bool   // the page updates itself
	Events   string // URL of the stream of changes; "": none
	Programs []string
	Kinds    []string

	Jobs    []jobs.Info // newest first
	All     int
	Older   string // ID from which the next page of the list starts; "" on the last page
	Job     *jobs.Info
	Limit   int // the job's limit of pages; 0: unknown
	Form    *form
	Plan    *plan.Plan
	Crawl   crawler.Config // the planned crawl
	Request jobs.Request
}

// Busy reports whether the job is queued or running.
func (v *view) Busy() bool { return active(v.Job) }

// Settings returns the settings of the job or of the plan, by name.
func (v *view) Settings() map[string]any {
	if v.Job != nil {
		return v.Job.Settings
	}
	return v.Request.Settings
}

// handlePages adds the pages for people to the mux.
func (s *Server) handlePages() {
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		s.show(w, http.StatusOK, "login", &view{Title: "Crawls"})
	})
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("GET /page.css", pageFile("page.css", "text/css; charset=utf-8", report.Palette))
	s.mux.HandleFunc("GET /page.js", pageFile("page.js", "text/javascript; charset=utf-8", ""))
	s.mux.HandleFunc(sessionRoot, s.inSession)

	page := func(pattern string, scope Scope, serve func(s *Server, w *recorder, r *call) error) {
		s.pages.HandleFunc(pattern, s.paged(scope, serve))
	}
	page("GET /{$}", Read, (*Server).listPage)
	page("GET /events", Read, (*Server).events)
	page("GET /jobs/{id}", Read, (*Server).jobPage)
	page("GET /jobs/{id}/results", Read, (*Server).results)
	page("GET /jobs/{id}/export", Read, (*Server).export)
	page("GET /new", Write, (*Server).formPage)
	page("POST /new", Write, (*Server).formPage)
	page("POST /plan", Write, (*Server).planPage)
	page("POST /start", Write, (*Server).startPage)
	page("POST /jobs/{id}/pause", Write, pageOrder(order((*jobs.Manager).Pause)))
	page("POST /jobs/{id}/resume", Write, pageOrder((*Server).resume))
	page("POST /jobs/{id}/stop", Write, pageOrder(order((*jobs.Manager).Stop)))
	page("POST /jobs/{id}/delete", Write, (*Server).removePage)
	page("POST /logout", Read, func(s *Server, w *recorder, r *call) error {
		s.sessions.end(r.session)
		return see(w, "/")
	})
	page("/", Read, func(*Server, *recorder, *call) error {
		return &problemError{Status: http.StatusNotFound, Title: "there is no such page", Detail: "the list of jobs has links to all that there are"}
	})
}

func pageFile(name, kind, before string) http.HandlerFunc {
	b, err := pageFiles.ReadFile(name)
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(append([]byte(before), b...)) // the client may have disconnected
	}
}

// crossOrigin refuses orders that a browser sends for a page of another site.
var crossOrigin = http.NewCrossOriginProtection()

// login starts a session for a valid token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	began, out := time.Now(), &recorder{ResponseWriter: w}
	var c *client
	defer func() { s.log(began, c, r, out) }()
	r.Body = http.MaxBytesReader(out, r.Body, 8<<10)
	err := crossOrigin.Check(r)
	if err == nil {
		c = s.clients.of(strings.TrimSpace(r.PostFormValue("token")))
		err = s.admit(c, Read, began)
	} else {
		err = &problemError{Status: http.StatusForbidden, Title: "another site has sent this", Detail: "open the page of this server"}
	}
	if err != nil {
		p := problemOf(err)
		if p.Status == http.StatusUnauthorized {
			p.Detail = "the operator of this server has the tokens"
		}
		s.fail(out, p, "login", &view{Title: "Crawls"})
		return
	}
	_ = see(out, s.sessions.begin(out, c, r.TLS != nil || s.config.Proxied).path+"/") // see never fails
}

// see sends a browser to another page.
func see(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// sessionKey is the key of the session in the context of a request.
type sessionKey struct{}

// inSession serves the pages to browsers that have a session.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request) {
	one := s.sessions.of(r)
	if one == nil {
		out := &recorder{ResponseWriter: w}
		logged := r.Clone(r.Context())
		logged.URL.Path = sessionRoot // hide the secret from the log
		defer s.log(time.Now(), nil, logged, out)
		p := problemOf(s.admit(nil, Read, time.Now()))
		if p.Status == http.StatusUnauthorized {
			p.Title, p.Detail = "your session has ended", "show the token again"
		}
		s.fail(out, p, "login", &view{Title: "Crawls"})
		return
	}
	http.StripPrefix(one.path, s.pages).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, one)))
}

// paged returns a handler for sessions whose token has a scope. It also writes the audit log.
func (s *Server) paged(scope Scope, serve func(s *Server, w *recorder, r *call) error) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		one, _ := q.Context().Value(sessionKey{}).(*session)
		began, out := time.Now(), &recorder{ResponseWriter: w}
		defer func() { s.log(began, one.client, q, out) }()
		err := s.admit(one.client, scope, began)
		if err == nil && crossOrigin.Check(q) != nil {
			err = &problemError{Status: http.StatusForbidden, Title: "another site has sent this", Detail: "give orders on the page of this server"}
		}
		if q.Method == http.MethodPost {
			q.Body = http.MaxBytesReader(out, q.Body, maxRequest)
		}
		if err == nil {
			err = q.ParseForm()
		}
		if err == nil {
			err = serve(s, out, &call{Request: q, client: one.client, session: one})
		}
		if err == nil {
			return
		}
		if out.status != 0 { // the response has begun: abort the connection so that the client notices
			panic(http.ErrAbortHandler)
		}
		s.fail(out, problemOf(err), "problem", s.view(&call{Request: q, client: one.client, session: one}, "Not done"))
	}
}

// fail shows an error.
func (s *Server) fail(w http.ResponseWriter, p *problemError, name string, v *view) {
	v.Error = p.Error()
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", seconds(p.retry))
	}
	s.show(w, p.Status, name, v)
}

// show shows a page. Invisible characters, and characters that change the direction of text, are escaped.
func (s *Server) show(w http.ResponseWriter, status int, name string, v *view) {
	var b bytes.Buffer
	if err := pageTemplates().ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(hidden.Escape(b.Bytes())) // the client may have disconnected
}

// view returns a new view for a session.
func (s *Server) view(r *call, title string) *view {
	v := &view{Title: title, Root: r.session.path + "/", Name: r.client.Name, Write: r.client.may(Write), Kinds: kindNames(s.config.Kinds)}
	for name := range s.config.Jobs.Programs {
		v.Programs = append(v.Programs, name)
	}
	slices.Sort(v.Programs)
	return v
}

// perPage is the number of jobs on a page.
const perPage = 50

func (s *Server) listPage(w *recorder, r *call) error {
	v := s.listView(r, r.FormValue("before"))
	v.Events = v.Root + "events?before=" + url.QueryEscape(r.FormValue("before"))
	s.show(w, http.StatusOK, "list", v)
	return nil
}

// listView returns the jobs before the one with the given ID, newest first; "" starts with the newest.
func (s *Server) listView(r *call, before string) *view {
	v := s.view(r, "Crawls")
	all := s.manager.All()
	v.All = len(all)
	if before != "" { // IDs begin with the time, so they sort by age
		all = slices.DeleteFunc(all, func(i jobs.Info) bool { return i.ID >= before })
	}
	slices.Reverse(all)
	if len(all) > perPage {
		v.Older = all[perPage-1].ID
		all = all[:perPage]
	}
	v.Jobs = all
	v.Refresh = slices.ContainsFunc(all, func(i jobs.Info) bool { return active(&i) })
	return v
}

func (s *Server) jobPage(w *recorder, r *call) error {
	info, err := s.named(w, r)
	if err != nil {
		return err
	}
	v := s.jobView(r, info)
	v.Events = v.Root + "events?job=" + url.QueryEscape(info.ID)
	s.show(w, http.StatusOK, "job", v)
	return nil
}

func (s *Server) jobView(r *call, info jobs.Info) *view {
	v := s.view(r, seedOf(info.Seeds))
	v.Job, v.Refresh = &info, active(&info)
	text, set := info.Settings["max-pages"]
	if n, err := strconv.Atoi(fmt.Sprint(text)); err == nil {
		v.Limit = n
	} else if !set && info.Program == "" {
		v.Limit = crawler.DefaultMaxPages
	}
	return v
}

const (
	tick  = time.Second      // interval of checks for changes
	pulse = 15 * time.Second // interval of keep-alive messages
)

// events streams changes of a job's page, or of the list, as server-sent events: HTML that replaces the old parts.
func (s *Server) events(w *recorder, r *call) error {
	id, before := r.FormValue("job"), r.FormValue("before")
	if !r.client.enter() {
		return errStreams
	}
	defer r.client.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	to := streamTo(w)
	send := func(text string) bool {
		_, err := to.Write([]byte(text))
		return err == nil && to.control.Flush() == nil
	}
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for last, said := "", time.Now(); ; {
		name, v := "live-list", (*view)(nil)
		if id == "" {
			v = s.listView(r, before)
		} else if info, err := s.manager.Info(id); err == nil {
			name, v = "live-job", s.jobView(r, info)
		}
		if v == nil || !s.sessions.goesOn(r.session) {
			send("event: over\ndata: over\n\n")
			return nil
		}
		var b bytes.Buffer
		if err := pageTemplates().ExecuteTemplate(&b, name, v); err != nil {
			return err
		}
		text := ""
		if html := string(hidden.Escape(b.Bytes())); html != last {
			last, text = html, "data: "+strings.ReplaceAll(strings.TrimSpace(html), "\n", "\ndata: ")+"\n\n"
		} else if time.Since(said) >= pulse {
			text = ": here\n\n"
		}
		if text != "" {
			if said = time.Now(); !send(text) {
				return nil // the browser has disconnected
			}
		}
		select {
		case <-clock.C:
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// form holds the values of the form of a new job.
type form struct {
	Key, Seeds, Contact, Delay, Rate, Pages, Depth, Scope, Program, Args string
	Text                                                                 bool
	Contacts                                                             string // contact of the operator, for an empty field
}

func (s *Server) formOf(r *call) *form {
	f := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	return &form{
		Key: f("key"), Seeds: f("seeds"), Contact: f("contact"), Delay: f("delay"), Rate: f("rate"), Pages: f("pages"), Depth: f("depth"),
		Scope: f("scope"), Program: f("program"), Args: f("args"), Text: f("text") != "", Contacts: s.config.Contact,
	}
}

// request converts a form to a request.
func (f *form) request() (*startRequest, error) {
	q := &startRequest{Key: f.Key, Seeds: strings.Fields(f.Seeds), Settings: settings{}, Program: f.Program}
	for name, value := range map[string]string{"contact": f.Contact, "delay": f.Delay, "rate": f.Rate, "max-pages": f.Pages, "depth": f.Depth, "scope": f.Scope} {
		if value != "" {
			q.Settings[name] = value
		}
	}
	if f.Text {
		q.Settings["text"] = true
	}
	if f.Args != "" {
		if q.Args = json.RawMessage(f.Args); !json.Valid(q.Args) {
			return nil, errors.New("the arguments of the program are not JSON: want a value such as {\"shop\": 7}")
		}
	}
	return q, nil
}

func (s *Server) formPage(w *recorder, r *call) error {
	v := s.view(r, "New job")
	v.Form = s.formOf(r)
	s.show(w, http.StatusOK, "new", v)
	return nil
}

// planPage shows the plan of a job before it is started. Its key makes a second click on the button harmless.
func (s *Server) planPage(w *recorder, r *call) error {
	v := s.view(r, "Start this job?")
	v.Form = s.formOf(r)
	v.Form.Key = "page " + rand.Text()
	q, err := s.asked(v, r)
	if err == nil {
		var c job.Config
		v.Plan, c, err = s.manager.Plan(q)
		v.Crawl, v.Request = c.Crawl, q
	}
	if err != nil {
		p := problemOf(err)
		v.Title, p.Title = "New job", cmp.Or(p.Title, "not taken")
		s.fail(w, p, "new", v)
		return nil
	}
	s.show(w, http.StatusOK, "plan", v)
	return nil
}

// asked returns the request of the form.
func (s *Server) asked(v *view, r *call) (jobs.Request, error) {
	q, err := v.Form.request()
	if err != nil {
		return jobs.Request{}, err
	}
	return s.request(q, r.client)
}

func (s *Server) startPage(w *recorder, r *call) error {
	v := s.view(r, "New job")
	v.Form = s.formOf(r)
	q, err := s.asked(v, r)
	if err == nil && q.Key == "" {
		err = errors.New("the form has no key: make the plan again")
	}
	if err == nil {
		var info jobs.Info
		if info, err = s.startOnce(r.client, q); err == nil {
			w.job = info.ID
			return see(w, v.Root+"jobs/"+info.ID)
		}
	}
	s.fail(w, problemOf(err), "new", v)
	return nil
}

// pageOrder executes an order of the API, and shows the job.
func pageOrder(do func(*Server, *recorder, *call) error) func(*Server, *recorder, *call) error {
	return func(s *Server, w *recorder, r *call) error {
		if err := do(s, &recorder{ResponseWriter: discard{http.Header{}}}, r); err != nil {
			return err
		}
		w.job = r.PathValue("id")
		return see(w, r.session.path+"/jobs/"+w.job)
	}
}

// discard is a writer for the response of the API, which a page does not show.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func (s *Server) removePage(w *recorder, r *call) error {
	info, err := s.named(w, r)
	if err == nil {
		err = s.manager.Remove(info.ID)
	}
	if err != nil {
		return err
	}
	return see(w, r.session.path+"/")
}

// age formats the time since t. It changes at most once a minute.
func age(t time.Time) string {
	switch d := time.Since(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// classOf returns the class of the colour of a state.
func classOf(s jobs.State) string {
	return map[jobs.State]string{jobs.Running: "fine", jobs.Done: "got", jobs.Stopped: "over", jobs.Failed: "broken", jobs.Paused: "wait"}[s]
}

// seedOf returns a name for a job, made from its seeds.
func seedOf(seeds []string) string {
	if len(seeds) == 0 {
		return "no seeds"
	}
	name := job.WithoutSecrets(seeds[0])
	if len(seeds) > 1 {
		name += fmt.Sprintf(" and %d more", len(seeds)-1)
	}
	return name
}

// settingText writes the value of a setting.
func settingText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
