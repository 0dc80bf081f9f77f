package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/politeness"
)

// route is a kind of request. Both its handler and its description are made from it.
type route struct {
	method, path string
	scope        Scope // "": no token is needed
	summary      string
	query        []parameter
	body         any // value of the body's type; nil: no body
	status       int // status of the response
	answer       any // value of the response's type; nil: none
	media        string
	serve        func(s *Server, w *recorder, r *call) error
}

// parameter is a query parameter.
type parameter struct {
	name, kind, doc string // kind is a type of JSON Schema
	required        bool
}

// call is a request with its client.
type call struct {
	*http.Request
	client  *client
	session *session // session of a browser; nil for other clients
}

const (
	mediaJSON  = "application/json"
	mediaLines = "application/jsonl"
	mediaBytes = "application/octet-stream"
)

// routes returns the routes of the API.
func routes() []*route {
	return []*route{
		{"POST", "/v1/jobs", Write, "Start a job. A repeated request with the same key returns the same job.", nil, startRequest{}, 201, jobs.Info{}, mediaJSON, (*Server).start},
		{"GET", "/v1/jobs", Read, "List jobs, in the order in which they were started.", []parameter{
			{"state", "string", "Only jobs in this state.", false},
			{"owner", "string", "Only jobs that this token has started.", false},
			{"after", "string", "Only jobs after the one with this ID: next of the answer before.", false},
			{"limit", "integer", "At most so many jobs, 1 to 1000 (100).", false},
		}, nil, 200, jobList{}, mediaJSON, (*Server).list},
		{"GET", "/v1/jobs/{id}", Read, "Describe a job.", nil, nil, 200, jobs.Info{}, mediaJSON, (*Server).info},
		{"DELETE", "/v1/jobs/{id}", Write, "Remove a job that does not run, with all its files.", nil, nil, 204, nil, "", (*Server).remove},
		{"GET", "/v1/jobs/{id}/results", Read, "Get the visits of a job, a line of JSON each, in the form of visits.jsonl. A line keeps its number for good.", []parameter{
			{"from", "integer", "Lines that were received already, and are left out (0).", false},
			{"limit", "integer", "At most so many lines (all).", false},
			{"follow", "boolean", "Wait for more until the job has ended (false). An answer that breaks off is not whole.", false},
		}, nil, 200, nil, mediaLines, (*Server).results},
		{"POST", "/v1/jobs/{id}/pause", Write, "Pause a job. Requests in flight end first. A restart of the server changes nothing about it.", nil, nil, 200, jobs.Info{}, mediaJSON, order((*jobs.Manager).Pause)},
		{"POST", "/v1/jobs/{id}/resume", Write, "Resume a job that is paused, stopped or failed.", nil, nil, 200, jobs.Info{}, mediaJSON, (*Server).resume},
		{"POST", "/v1/jobs/{id}/stop", Write, "End a job in good order. Requests in flight end first.", nil, nil, 200, jobs.Info{}, mediaJSON, order((*jobs.Manager).Stop)},
		{"GET", "/v1/jobs/{id}/export", Read, "Download a job in the form of another program, as far as it has got. A form that is a directory comes as a zip file.", []parameter{
			{"to", "string", "The form.", true},
		}, nil, 200, nil, mediaBytes, (*Server).export},
		{"GET", "/v1/schedules", Read, "List the schedules, by name.", nil, nil, 200, scheduleList{}, mediaJSON, (*Server).schedules},
		{"POST", "/v1/schedules", Write, "Store a schedule, which replaces one with the same name.", nil, scheduleRequest{}, 201, schedule{}, mediaJSON, (*Server).schedule},
		{"DELETE", "/v1/schedules/{name}", Write, "Remove a schedule. Jobs that it has started are not changed.", nil, nil, 204, nil, "", (*Server).unschedule},
		{"GET", "/v1/openapi.json", "", "Describe all requests and answers (OpenAPI 3.1).", nil, nil, 200, map[string]any{}, mediaJSON, (*Server).openAPI},
	}
}

// startRequest is the body of a request to start a job. It is separate from [jobs.Request], because clients must not set the other
// fields, such as the owner.
type startRequest struct {
	Key      string          `json:"key,omitempty"`
	Seeds    []string        `json:"seeds"`
	Settings settings        `json:"settings,omitempty"`
	Program  string          `json:"program,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Priority int             `json:"priority,omitempty"`
	Webhooks []string        `json:"webhooks,omitempty"`
}

// settings are keys of a job file with their values.
type settings map[string]any

type jobList struct {
	Jobs []jobs.Info `json:"jobs"`
	Next string      `json:"next,omitempty"`
}

// scheduleRequest is the body of a request for a schedule.
type scheduleRequest struct {
	Name    string       `json:"name"`
	Cron    string       `json:"cron"`
	Zone    string       `json:"zone,omitempty"`
	Request startRequest `json:"request"`
}

// schedule is a schedule with the time of its next run.
type schedule struct {
	jobs.Schedule
	Next time.Time `json:"next"`
}

type scheduleList struct {
	Schedules []schedule `json:"schedules"`
}

// handle makes the mux.
func (s *Server) handle() {
	s.mux = http.NewServeMux()
	for _, r := range routes() {
		if r.scope == "" {
			s.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
				if err := r.serve(s, &recorder{ResponseWriter: w}, &call{Request: q}); err != nil {
					write(w, problemOf(err))
				}
			})
			continue
		}
		s.mux.HandleFunc(r.method+" "+r.path, s.guarded(r))
	}
	s.handlePages()
	s.mux.HandleFunc("/", s.unknown)
}

// unknown handles requests that match no route.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := s.mux.Handler(other); pattern != "/" && pattern != "" {
			methods = append(methods, m)
		}
	}
	if len(methods) == 0 {
		write(w, &problemError{Status: http.StatusNotFound, Title: "nothing is served there", Detail: "/v1/openapi.json lists what is"})
		return
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	write(w, &problemError{Status: http.StatusMethodNotAllowed, Title: "the method is not for this resource", Detail: "use " + strings.Join(methods, " or ")})
}

// maxRequest is the maximum number of bytes of a body.
const maxRequest = 1 << 20

// decode decodes the body of a request into v, whatever its Content-Type: pages of other sites do not have the token.
func decode(w http.ResponseWriter, r *call, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = cmp.Or(asLarge(more), errors.New("want one JSON value"))
		}
	}
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil, asLarge(err) != nil:
		return err
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty")
	case errors.As(err, &kind):
		at := strings.TrimSuffix("/"+strings.ReplaceAll(kind.Field, ".", "/"), "/")
		return &problemError{Status: http.StatusBadRequest, Title: "the body has a value of another type", Detail: fmt.Sprintf("want %s, not a JSON %s", kinds[kind.Type.Kind()], kind.Value), Pointer: at}
	}
	return &problemError{Status: http.StatusBadRequest, Title: "the body is not taken", Detail: strings.TrimPrefix(err.Error(), "json: ") + "; /v1/openapi.json has its form"}
}

// kinds are the types of the values in bodies, in the words of JSON.
var kinds = map[reflect.Kind]string{reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "an array", reflect.String: "a string", reflect.Int: "a whole number"}

// asLarge returns err if it is due to a body that is too large, otherwise nil.
func asLarge(err error) error {
	if errors.As(err, new(*http.MaxBytesError)) {
		return err
	}
	return nil
}

// request converts a client's request, if the client is allowed to make it.
func (s *Server) request(q *startRequest, c *client) (jobs.Request, error) {
	if len(q.Seeds) == 0 {
		return jobs.Request{}, &problemError{Status: http.StatusBadRequest, Title: "no seeds", Detail: "give at least one URL to begin with", Pointer: "/seeds"}
	}
	if err := checkSettings(q.Settings); err != nil {
		return jobs.Request{}, err
	}
	if err := s.checkWebhooks(q.Webhooks); err != nil {
		return jobs.Request{}, err
	}
	all := s.Defaults()
	maps.Copy(all, q.Settings)
	return jobs.Request{Key: q.Key, Seeds: q.Seeds, Settings: all, Program: q.Program, Args: q.Args, Priority: q.Priority, Webhooks: q.Webhooks, Owner: c.Name}, nil
}

// Defaults returns the default settings of requested jobs: those that concern the operator's contact with site owners.
func (s *Server) Defaults() map[string]any {
	all := map[string]any{"promises": politeness.PromisesPage}
	if s.config.Contact != "" {
		all["contact"] = s.config.Contact
	}
	return all
}

func (s *Server) start(w *recorder, r *call) error {
	var body startRequest
	if err := decode(w, r, &body); err != nil {
		return err
	}
	q, err := s.request(&body, r.client)
	if err != nil {
		return err
	}
	info, err := s.startOnce(r.client, q)
	if err != nil {
		return err
	}
	w.job = info.ID
	w.Header().Set("Location", "/v1/jobs/"+info.ID)
	return answer(w, http.StatusCreated, info)
}

// startOnce starts a job of a client, if it may have another one.
func (s *Server) startOnce(c *client, q jobs.Request) (jobs.Info, error) {
	s.starts.Lock()
	defer s.starts.Unlock()
	if err := s.room(c, func(i *jobs.Info) bool { return q.Key != "" && i.Key == q.Key }); err != nil {
		return jobs.Info{}, err
	}
	return s.manager.Start(q)
}

// active reports whether a job runs or is queued.
func active(i *jobs.Info) bool { return i.State == jobs.Queued || i.State == jobs.Running }

// room returns an error if too many jobs of a client are queued or running, unless there is a job for which same is true.
func (s *Server) room(c *client, same func(*jobs.Info) bool) error {
	n := 0
	all := s.manager.All()
	for i := range all {
		if same(&all[i]) {
			return nil
		}
		if all[i].Owner == c.Name && active(&all[i]) {
			n++
		}
	}
	if n >= c.MaxJobs {
		return &problemError{Status: http.StatusTooManyRequests, Title: "too many jobs", Detail: fmt.Sprintf("%d jobs of token %s are queued or run, and it may have %d: wait until one has ended, or stop one", n, c.Name, c.MaxJobs), retry: time.Minute}
	}
	return nil
}

// number parses a numeric query parameter.
func number(r *call, name string, def, least, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, badQuery("%s: want a number from %d to %d", name, least, most)
	}
	return n, nil
}

// badQuery returns the error for a wrong parameter of the query.
func badQuery(format string, args ...any) error {
	return &problemError{Status: http.StatusBadRequest, Title: "a parameter of the query is not taken", Detail: fmt.Sprintf(format, args...)}
}

func (s *Server) list(w *recorder, r *call) error {
	limit, err := number(r, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	state, owner, after := jobs.State(query.Get("state")), query.Get("owner"), query.Get("after")
	if state != "" && !slices.Contains(jobs.States(), state) {
		return badQuery("state: want one of %s", strings.Trim(fmt.Sprint(jobs.States()), "[]"))
	}
	all := s.manager.All()
	if after != "" {
		if at := slices.IndexFunc(all, func(i jobs.Info) bool { return i.ID == after }); at >= 0 {
			all = all[at+1:]
		} else { // the job was removed meanwhile: compare IDs, which sort by time
			all = slices.DeleteFunc(all, func(i jobs.Info) bool { return i.ID <= after })
		}
	}
	l := jobList{Jobs: []jobs.Info{}}
	for i := range all {
		if state != "" && all[i].State != state || owner != "" && all[i].Owner != owner {
			continue
		}
		if int64(len(l.Jobs)) == limit {
			l.Next = l.Jobs[limit-1].ID
			break
		}
		l.Jobs = append(l.Jobs, all[i])
	}
	return answer(w, http.StatusOK, &l)
}

// named returns the job named by the path.
func (s *Server) named(w *recorder, r *call) (jobs.Info, error) {
	info, err := s.manager.Info(r.PathValue("id"))
	if err == nil {
		w.job = info.ID
	}
	return info, err
}

func (s *Server) info(w *recorder, r *call) error {
	info, err := s.named(w, r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, info)
}

// order returns a handler that passes an order about a job to a Manager.
func order(do func(*jobs.Manager, string) error) func(*Server, *recorder, *call) error {
	return func(s *Server, w *recorder, r *call) error {
		info, err := s.named(w, r)
		if err == nil {
			err = do(s.manager, info.ID)
		}
		if err != nil {
			return err
		}
		return s.info(w, r)
	}
}

func (s *Server) resume(w *recorder, r *call) error {
	s.starts.Lock()
	defer s.starts.Unlock()
	if err := s.room(r.client, func(i *jobs.Info) bool {
		return i.ID == r.PathValue("id") && active(i)
	}); err != nil {
		return err
	}
	return order((*jobs.Manager).Resume)(s, w, r)
}

func (s *Server) remove(w *recorder, r *call) error {
	info, err := s.named(w, r)
	if err == nil {
		err = s.manager.Remove(info.ID)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Server) schedules(w *recorder, _ *call) error {
	l := scheduleList{Schedules: []schedule{}}
	for _, one := range s.manager.Schedules() {
		l.Schedules = append(l.Schedules, schedule{one, one.Next})
	}
	return answer(w, http.StatusOK, &l)
}

// maxSchedules limits the schedules of all clients together.
const maxSchedules = 1000

func (s *Server) schedule(w *recorder, r *call) error {
	var body scheduleRequest
	if err := decode(w, r, &body); err != nil {
		return err
	}
	q, err := s.request(&body.Request, r.client)
	if err != nil {
		return err
	}
	if all := s.manager.Schedules(); len(all) >= maxSchedules && !slices.ContainsFunc(all, func(one jobs.Schedule) bool { return one.Name == body.Name }) {
		return &problemError{Status: http.StatusTooManyRequests, Title: "too many schedules", Detail: fmt.Sprintf("the server keeps %d: remove one", maxSchedules)}
	}
	if err := s.manager.Schedule(jobs.Schedule{Name: body.Name, Cron: body.Cron, Zone: body.Zone, Request: q}); err != nil {
		return err
	}
	for _, one := range s.manager.Schedules() {
		if one.Name == body.Name {
			return answer(w, http.StatusCreated, &schedule{one, one.Next})
		}
	}
	return &problemError{Status: http.StatusConflict, Title: "another client has removed the schedule", Detail: "store it again"}
}

func (s *Server) unschedule(w *recorder, r *call) error {
	name := r.PathValue("name")
	if !slices.ContainsFunc(s.manager.Schedules(), func(one jobs.Schedule) bool { return one.Name == name }) {
		return &problemError{Status: http.StatusNotFound, Title: "no such schedule", Detail: "GET /v1/schedules lists all schedules"}
	}
	if err := s.manager.Unschedule(name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) openAPI(w *recorder, _ *call) error {
	return answer(w, http.StatusOK, s.describe())
}

// typeName returns the name of a type in the description.
func typeName(t reflect.Type) string {
	name := t.Name()
	switch t {
	case reflect.TypeFor[jobs.Info]():
		name = "Job"
	case reflect.TypeFor[problemError]():
		name = "Problem"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
