package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/quicktmp"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		serveJobs(dir)
		return
	}
	quicktmp.Use()
	m.Run()
}

const (
	annSecret = "ann-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	bobSecret = "bob-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newSite serves pages that form a chain. If hold is not nil, pages are not answered until it is closed.
func newSite(t *testing.T, pages int, hold <-chan struct{}) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		if hold != nil {
			<-hold
		}
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.Header().Set("Content-Type", "text/html")
		if n+1 < pages {
			fmt.Fprintf(w, "<a href=/%d>next</a>", n+1)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// service represents a Server with its address.
type service struct {
	*Server
	t   *testing.T
	url string
}

// newService serves jobs to two users: ann, who may do everything, and bob, who may only read.
func newService(t *testing.T, dir string, c Config) *service {
	t.Helper()
	if c.Tokens == nil {
		ann, err := NewToken("ann", annSecret, Read, Write)
		bob, err2 := NewToken("bob", bobSecret, Read)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		ann.MaxRate, bob.MaxRate = 1e6, 1e6
		c.Tokens = []Token{ann, bob}
	}
	if c.AllowAddresses == nil {
		c.AllowAddresses = loopback
	}
	c.Jobs.State = filepath.Join(dir, "state")
	s, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil && !errors.Is(err, jobs.ErrClosed) {
			t.Error(err)
		}
		web.Close()
	})
	return &service{s, t, web.URL}
}

// do makes a request with the token secret, and returns the status and the body.
func (s *service) do(secret, method, path, body string, change ...func(*http.Request)) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// want makes a request as ann. It checks the status, and decodes the answer into v unless v is nil.
func (s *service) want(status int, v any, method, path, body string) {
	s.t.Helper()
	got, text := s.do(annSecret, method, path, body)
	if got != status {
		s.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// refused makes a request as ann, and checks that the server refuses it with these words in the answer.
func (s *service) refused(status int, method, path, body string, words ...string) {
	s.t.Helper()
	got, text := s.do(annSecret, method, path, body)
	var p problemError
	if err := json.Unmarshal([]byte(text), &p); err != nil || got != status || p.Status != status || p.Title == "" || p.Detail == "" {
		s.t.Errorf("%s %s %.200s: %d %s, want the problem %d", method, path, body, got, text, status)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			s.t.Errorf("%s %s %.200s: %s: want %q", method, path, body, text, word)
		}
	}
}

// body returns the JSON of a request for a job.
func body(site string, more ...string) string {
	return fmt.Sprintf(`{"seeds":[%q],"settings":{"delay":"1ms","depth":"none"}%s}`, site+"/0", strings.Join(append([]string{""}, more...), ","))
}

// start starts a job as ann.
func (s *service) start(body string) (info jobs.Info) {
	s.t.Helper()
	s.want(http.StatusCreated, &info, "POST", "/v1/jobs", body)
	return info
}

// lines returns the results of a job with numbers above from.
func (s *service) lines(id string, from int) []string {
	s.t.Helper()
	status, text := s.do(annSecret, "GET", fmt.Sprintf("/v1/jobs/%s/results?follow=1&from=%d", id, from), "")
	if status != http.StatusOK {
		s.t.Fatal(status, text)
	}
	return slices.Collect(strings.Lines(text))
}

func TestJobFromStartToRemoval(t *testing.T) {
	var audit bytes.Buffer
	s := newService(t, t.TempDir(), Config{Audit: &audit})
	site := newSite(t, 4, nil)
	q := body(site, `"key":"shop 7"`)
	info := s.start(q)
	if again := s.start(q); again.ID != info.ID || info.Owner != "ann" {
		t.Errorf("the same request again: %+v, %+v", info, again)
	}
	s.refused(http.StatusConflict, "POST", "/v1/jobs", body(site, `"key":"shop 7"`, `"priority":1`), info.ID, `"detail":"another request has this key`)
	all := s.lines(info.ID, 0)
	if len(all) != 4 || !strings.Contains(all[3], site+"/3") {
		t.Fatalf("results: %q", all)
	}
	if rest := s.lines(info.ID, 3); !slices.Equal(rest, all[3:]) {
		t.Errorf("results after the third: %q", rest)
	}
	if _, part := s.do(annSecret, "GET", "/v1/jobs/"+info.ID+"/results?from=1&limit=2", ""); part != all[1]+all[2] {
		t.Errorf("two results after the first: %q", part)
	}
	s.want(http.StatusOK, &info, "GET", "/v1/jobs/"+info.ID, "")
	if info.State != jobs.Done || info.Pages != 4 {
		t.Errorf("%+v", info)
	}
	var list jobList
	s.want(http.StatusOK, &list, "GET", "/v1/jobs?state=done&owner=ann", "")
	if len(list.Jobs) != 1 || list.Next != "" {
		t.Errorf("%+v", list)
	}
	for _, to := range []string{"csv", "wacz"} {
		status, text := s.do(annSecret, "GET", "/v1/jobs/"+info.ID+"/export?to="+to, "")
		if status != http.StatusOK && to == "csv" || status == http.StatusOK && !strings.HasPrefix(text, "PK") {
			t.Errorf("export to %s: %d %.200s", to, status, text)
		}
	}
	s.refused(http.StatusBadRequest, "GET", "/v1/jobs/"+info.ID+"/export?to=/etc/passwd", "", "csv")
	s.refused(http.StatusConflict, "GET", "/v1/jobs/"+info.ID+"/export?to=wacz", "", `"job `+info.ID+` keeps no archive`)
	s.want(http.StatusNoContent, nil, "DELETE", "/v1/jobs/"+info.ID, "")
	s.refused(http.StatusNotFound, "GET", "/v1/jobs/"+info.ID, "")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(info.Dir)), ".new-*"))
	if err != nil || left != nil {
		t.Errorf("left over: %q, %v", left, err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`"token":"ann"`, `"method":"DELETE","path":"/v1/jobs/` + info.ID + `","status":204,"job":"` + info.ID} {
		if !strings.Contains(audit.String(), line) {
			t.Errorf("the audit log lacks %s: %s", line, &audit)
		}
	}
}

func TestListComesInParts(t *testing.T) {
	hold := make(chan struct{})
	s := newService(t, t.TempDir(), Config{})
	site := newSite(t, 1, hold)
	t.Cleanup(func() { close(hold) }) // must run before the cleanup of the site, which waits for its pages
	var ids, got []string
	for range 5 {
		ids = append(ids, s.start(body(site)).ID)
	}
	for after := ""; ; {
		var l jobList
		s.want(http.StatusOK, &l, "GET", "/v1/jobs?limit=2&after="+after, "")
		for _, i := range l.Jobs {
			got = append(got, i.ID)
		}
		if after = l.Next; after == "" {
			break
		}
	}
	slices.Sort(ids) // IDs of jobs from the same millisecond have any order
	if slices.Sort(got); !slices.Equal(got, ids) {
		t.Errorf("%q, want %q", got, ids)
	}
	s.refused(http.StatusBadRequest, "GET", "/v1/jobs?limit=0", "", "limit")
	s.refused(http.StatusBadRequest, "GET", "/v1/jobs?state=ended", "", "queued running paused done stopped failed")
}

func TestOrdersAreObeyed(t *testing.T) {
	hold := make(chan struct{})
	s := newService(t, t.TempDir(), Config{Jobs: jobs.Config{Running: 1}})
	site := newSite(t, 1, hold)
	s.start(body(site))
	waiting := s.start(body(site))
	at := "/v1/jobs/" + waiting.ID
	for _, step := range []struct {
		order string
		state jobs.State
	}{{"pause", jobs.Paused}, {"resume", jobs.Queued}, {"stop", jobs.Stopped}} {
		var info jobs.Info
		if s.want(http.StatusOK, &info, "POST", at+"/"+step.order, ""); info.State != step.state {
			t.Errorf("%s: %+v", step.order, info)
		}
	}
	s.refused(http.StatusConflict, "POST", at+"/pause", "", "stopped")
	s.refused(http.StatusConflict, "GET", at+"/export?to=csv", "", "begun")
	close(hold)
}

func TestTokensAllowWhatTheirScopesSay(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	site := newSite(t, 1, nil)
	info := s.start(body(site))
	s.lines(info.ID, 0)
	for _, r := range routes() {
		path := strings.NewReplacer("{id}", info.ID, "{name}", "x").Replace(r.path)
		for _, secret := range []string{"", "x", annSecret[1:], annSecret + "x", "ann"} {
			if status, text := s.do(secret, r.method, path, ""); r.scope != "" && status != http.StatusUnauthorized || r.scope == "" && status != http.StatusOK {
				t.Errorf("%s %s with the token %q: %d %s", r.method, path, secret, status, text)
			}
		}
		if status, text := s.do(bobSecret, r.method, path, ""); (status == http.StatusForbidden) != (r.scope == Write) {
			t.Errorf("%s %s with the scope read: %d %s", r.method, path, status, text)
		}
	}
	if all := s.Manager().All(); len(all) != 1 {
		t.Errorf("%d jobs", len(all))
	}
}

// The server slows down a client that guesses tokens, and no other client.
func TestGuessesAreLimited(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	s.guesses.SetLimit(0)
	for range 10 * maxGuesses {
		s.guesses.Allow()
	}
	if status, text := s.do("guess-guess", "GET", "/v1/jobs", ""); status != http.StatusTooManyRequests {
		t.Errorf("%d %s", status, text)
	}
	s.want(http.StatusOK, nil, "GET", "/v1/jobs", "")
}

// A page of another site can make a browser send requests to this machine under the name of that site. The server refuses them.
func TestRequestsUnderOtherNamesAreRefused(t *testing.T) {
	s := newService(t, t.TempDir(), Config{Hosts: []string{"crawls.site.test"}})
	port := s.url[strings.LastIndex(s.url, ":"):]
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "crawls.site.test": 200, "CRAWLS.site.test:443": 200,
		"evil.test" + port: 421, "evil.test": 421, "127.0.0.1:1": 421, "crawls.site.test.evil.test": 421,
	} {
		if status, text := s.do(annSecret, "GET", "/v1/jobs", "", func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("%s: %d %s, want %d", host, status, text, want)
		}
	}
}

func TestProxyHasToEncrypt(t *testing.T) {
	s := newService(t, t.TempDir(), Config{Proxied: true})
	for proto, want := range map[string]int{"": 403, "http": 403, "https": 200} {
		if status, _ := s.do(annSecret, "GET", "/v1/jobs", "", func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", proto) }); status != want {
			t.Errorf("%q: %d, want %d", proto, status, want)
		}
	}
}

func TestTokensHaveLimits(t *testing.T) {
	ann, err := NewToken("ann", annSecret, Read, Write)
	if err != nil {
		t.Fatal(err)
	}
	ann.MaxJobs, ann.MaxRate = 2, 1e-6
	bob, err := NewToken("bob", bobSecret, Read, Write)
	if err != nil {
		t.Fatal(err)
	}
	bob.MaxJobs, bob.MaxRate = 2, 1e6
	s := newService(t, t.TempDir(), Config{Tokens: []Token{ann, bob}})
	hold := make(chan struct{})
	site := newSite(t, 1, hold)
	s.want(http.StatusOK, nil, "GET", "/v1/jobs", "")
	s.refused(http.StatusTooManyRequests, "GET", "/v1/jobs", "", "ann")

	start := func(more string) int {
		status, _ := s.do(bobSecret, "POST", "/v1/jobs", body(site, more))
		return status
	}
	first, second, third, again := start(`"key":"1"`), start(`"key":"2"`), start(`"key":"3"`), start(`"key":"1"`)
	if first != 201 || second != 201 || third != 429 || again != 201 {
		t.Error("statuses:", first, second, third, again)
	}
	close(hold)
	for _, info := range s.Manager().All() {
		if _, err := s.Manager().Wait(t.Context(), info.ID); err != nil {
			t.Fatal(err)
		}
	}
	if status := start(`"key":"3"`); status != 201 {
		t.Error("when they have ended:", status)
	}
}

func TestEveryKeyIsClassified(t *testing.T) {
	for _, k := range job.Keys() {
		if (refused[k.Name] != "") == slices.Contains(allowed, k.Name) {
			t.Errorf("the key %s: decide whether clients may set it (allowed), or why not (refused)", k.Name)
		}
		if k.Group == job.Command && refused[k.Name] == "" {
			t.Errorf("the key %s is of one process, and clients may set it", k.Name)
		}
	}
	for name := range refused {
		if job.KeyNamed(name) == nil {
			t.Errorf("there is no key %s", name)
		}
	}
	for _, name := range allowed {
		if job.KeyNamed(name) == nil {
			t.Errorf("there is no key %s", name)
		}
	}
}

func TestSettingsOfTheServerAreRefused(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	with := func(settings string) string { return `{"seeds":["http://127.0.0.1:1/"],"settings":{` + settings + `}}` }
	for name := range refused {
		value := `"x"`
		switch name {
		case "hosts", "overrides":
			value = `[]`
		}
		s.refused(http.StatusBadRequest, "POST", "/v1/jobs", with(fmt.Sprintf("%q:%s", name, value)))
	}
	for setting, words := range map[string]string{
		`"own-hosts":"/etc/hosts"`:     "names a file",
		`"cookies":"keep,/etc/passwd"`: "load-cookies",
		`"header":"A: @/etc/passwd"`:   "/settings/header",
		`"header":"A: env:HOME"`:       "/settings/header",
		`"overrides":[{"origin":"http://127.0.0.1","reason":"x","file":"/etc/passwd"}]`: "overrides",
		`"hosts":[{"match":"a.test","headers":{"A":"env:HOME"}}]`:                       "files",
		`"hosts":[{"match":"a.test","headers":{"A":"@/etc/passwd"}}]`:                   "files",
		`"hosts":[{"match":"a.test","headers":{"A":"secret"}}]`:                         "/settings/hosts",
		`"allow-address":"10.0.0.0/8"`:                                                  "/settings/allow-address",
		`"proxy":"http://10.0.0.1:80"`:                                                  "/settings/proxy",
		`"render":"always"`:                                                             "/settings/render",
		`"max-body":"1GiB"`:                                                             "/settings/max-body",
		`"documents":true`:                                                              "/settings/documents",
		`"text":true`:                                                                   "/settings/text",
		`"urls":["http://127.0.0.1/"]`:                                                  "urls",
		`"deelay":"1s"`:                                                                 "delay",
		`"delay":"soon"`:                                                                "soon",
		`"out":"/tmp/x"`:                                                                "/settings/out",
	} {
		s.refused(http.StatusBadRequest, "POST", "/v1/jobs", with(setting), words)
		s.refused(http.StatusBadRequest, "POST", "/v1/schedules", `{"name":"x","cron":"@daily","request":`+with(setting)+`}`, words)
	}
	if all := s.Manager().All(); len(all) != 0 {
		t.Errorf("jobs: %+v", all)
	}
}

// Clients choose the seeds of jobs, so seeds must not lead into the server's private network.
func TestSeedsOfPrivateNetworksAreRefused(t *testing.T) {
	s := newService(t, t.TempDir(), Config{AllowAddresses: []netip.Prefix{}, Contact: "crawls@university.edu"})
	for _, seed := range []string{"http://127.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/", "http://10.1.2.3/", "http://[::ffff:10.0.0.1]/", "http://2130706433/"} {
		s.refused(http.StatusBadRequest, "POST", "/v1/jobs", fmt.Sprintf(`{"seeds":[%q]}`, seed), "not a public address")
	}
	s.refused(http.StatusBadRequest, "POST", "/v1/jobs", `{"seeds":["https://site.test/","site.test"]}`, `"pointer":"/seeds/1"`, "want a whole URL", `"detail":"seed `)
	s.refused(http.StatusBadRequest, "POST", "/v1/schedules", `{"name":"x","cron":"@daily","request":{"seeds":["site.test"]}}`, `"pointer":"/seeds/0"`, `"detail":"seed `)
	var asked sync.Map
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.URL.Path, true) }))
	defer site.Close()
	info := s.start(fmt.Sprintf(`{"seeds":["http://localhost%s/"]}`, site.URL[strings.LastIndex(site.URL, ":"):])) // a name with a private address
	if got := s.lines(info.ID, 0); len(got) != 1 || !strings.Contains(got[0], "address_refused") {
		info, _ = s.Manager().Info(info.ID)
		t.Errorf("results: %q of %+v", got, info)
	}
	asked.Range(func(path, _ any) bool { t.Errorf("requested: %v", path); return true })
}

func TestContactIsOfTheOperatorUnlessGiven(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	s.refused(http.StatusBadRequest, "POST", "/v1/jobs", `{"seeds":["http://site.test/"]}`, "/settings/contact")
	s.config.Contact = "crawls@university.edu"
	info := s.start(`{"seeds":["http://site.invalid/"]}`)
	if info.Settings["contact"] != "crawls@university.edu" {
		t.Errorf("%+v", info)
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	deep := strings.Repeat("[", 100_000)
	for want, bodies := range map[int][]string{
		http.StatusRequestEntityTooLarge: {`{"seeds":["` + strings.Repeat("x", 2<<20) + `"]}`, `{"seeds":["http://127.0.0.1/"]}` + strings.Repeat(" ", 2<<20)},
		http.StatusBadRequest: {
			"{", "null", "[]", "{}", `{"seeds":[]}`, `{"seeds":"http://127.0.0.1/"}`, `{"seeds":[1]}`, `{"seeds":["nonsense"]}`, deep, `{"seeds":` + deep,
			`{"seeds":["http://127.0.0.1/"],"args":` + deep + strings.Repeat("]", 100_000) + `}`,
			`{"seeds":["http://127.0.0.1/"],"settings":{"hosts":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`,
			`{"seeds":["http://127.0.0.1/"],"owner":"root"}`, `{"seeds":["http://127.0.0.1/"],"owner":""}`, `{"seeds":["http://127.0.0.1/"],"unknown":1}`, `{"seeds":["http://127.0.0.1/"]}{}`,
			`{"seeds":["http://127.0.0.1/"],"program":"../x"}`, `{"seeds":["http://127.0.0.1/"],"settings":{"depth":{"a":1}}}`,
			"{\"seeds\":[\"http://127.0.0.1/\"],\"settings\":{\"agent\":\"a\\u0000b\\r\\nX: y\"}}", `{"seeds":["file:///etc/passwd"]}`,
		},
	} {
		for _, b := range bodies {
			s.refused(want, "POST", "/v1/jobs", b)
		}
	}
	s.refused(http.StatusBadRequest, "POST", "/v1/jobs", "[]", `want an object, not a JSON array"}`)
	s.refused(http.StatusBadRequest, "POST", "/v1/jobs", `{"seeds":1}`, `want an array, not a JSON number","pointer":"/seeds"`)
	s.refused(http.StatusBadRequest, "POST", "/v1/jobs", "", "it is empty")
	for _, id := range []string{"..", "%2e%2e", "..%2f..%2fetc", "lock", "state", "schedules.json", "%00", strings.Repeat("a", 5000)} {
		for _, path := range []string{"", "/results", "/export?to=csv", "/results?follow=1"} {
			if status, text := s.do(annSecret, "GET", "/v1/jobs/"+id+path, ""); status != http.StatusNotFound && status != http.StatusBadRequest {
				t.Errorf("GET %.50s%s: %d %.200s", id, path, status, text)
			}
		}
		if status, text := s.do(annSecret, "DELETE", "/v1/jobs/"+id, ""); status == http.StatusNoContent {
			t.Errorf("DELETE %.50s: %d %s", id, status, text)
		}
	}
	s.refused(http.StatusMethodNotAllowed, "PUT", "/v1/jobs", "", "POST")
	s.refused(http.StatusNotFound, "GET", "/v2/jobs", "", "openapi")
	s.refused(http.StatusBadRequest, "GET", "/v1/jobs?limit=x", "")
	if all := s.Manager().All(); len(all) != 0 {
		t.Errorf("jobs: %+v", all)
	}
}

func TestSchedulesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := newService(t, dir, Config{})
	q := fmt.Sprintf(`{"name":"nightly","cron":"30 4 * * *","zone":"Europe/Vienna","request":%s}`, body("http://127.0.0.1:1"))
	var one schedule
	if s.want(http.StatusCreated, &one, "POST", "/v1/schedules", q); one.Next.IsZero() || one.Request.Owner != "ann" {
		t.Errorf("%+v", one)
	}
	s.refused(http.StatusBadRequest, "POST", "/v1/schedules", strings.Replace(q, "30 4", "99 4", 1), "hour")
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = newService(t, dir, Config{})
	var l scheduleList
	if s.want(http.StatusOK, &l, "GET", "/v1/schedules", ""); len(l.Schedules) != 1 {
		t.Errorf("%+v", l)
	}
	s.want(http.StatusNoContent, nil, "DELETE", "/v1/schedules/nightly", "")
	s.refused(http.StatusNotFound, "DELETE", "/v1/schedules/nightly", "")
}

// If the server stops while a client follows a job, the answer must break off, so that the client does not take it for complete.
func TestFollowedAnswerBreaksOffWhenTheServerStops(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	hold := make(chan struct{})
	info := s.start(body(newSite(t, 2, hold)))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/jobs/"+info.ID+"/results?follow=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bobSecret)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	read := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, bufio.NewReader(a.Body))
		read <- err
	}()
	closed := make(chan error)
	go func() { closed <- s.Close(context.Background()) }()
	if err := <-read; err == nil {
		t.Error("the answer seems to be whole")
	}
	close(hold)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestTokenFilesAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	put := func(text string) ([]Token, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadTokens(path)
	}
	all, err := put("# who\n\nann " + annSecret + " read,write jobs=3 rate=0.5\nbob " + bobSecret + " read write jobs=1\n")
	if err != nil || len(all) != 2 || len(all[1].Scopes) != 2 || all[1].MaxJobs != 1 || all[0].MaxJobs != 3 || all[0].MaxRate != 0.5 || !slices.Equal(all[0].Scopes, []Scope{Read, Write}) {
		t.Errorf("%+v, %v", all, err)
	}
	for text, want := range map[string]string{
		"": "no token", "ann " + annSecret: "line 1: want NAME TOKEN SCOPES", "ann short read": "8 or more", "a/b " + annSecret + " read": "name",
		"ann " + annSecret + " admin": "no scope", "ann " + annSecret + " read jobs=0": "jobs=N", "ann " + annSecret + " read rate=NaN": "rate=N",
		"ann " + annSecret + " read\nann " + bobSecret + " read": "line 2", "ann " + annSecret + " read\nbob " + annSecret + " read": "line 2",
	} {
		if _, err := put(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), annSecret) {
			t.Errorf("%q: %v, want %q and no secret", text, err, want)
		}
	}
	made := path + "-made"
	if err := errors.Join(MakeTokens(made), MakeTokens(made)); err != nil {
		t.Fatal(err)
	}
	if all, err := ReadTokens(made); err != nil || len(all) != 1 || all[0].Name != "operator" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestDescriptionHasEveryRouteAndField(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	var d struct {
		OpenAPI    string
		Paths      map[string]map[string]struct{ Summary string }
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
			}
		}
	}
	s.want(http.StatusOK, &d, "GET", "/v1/openapi.json", "")
	for _, r := range routes() {
		if d.Paths[r.path][strings.ToLower(r.method)].Summary == "" {
			t.Errorf("%s %s is not described", r.method, r.path)
		}
	}
	if len(d.Components.Schemas["Settings"].Properties) < len(allowed) {
		t.Error("settings are missing")
	}
	for name, schema := range d.Components.Schemas {
		for field, p := range schema.Properties {
			if text, _ := p["description"].(string); text == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
	for field, name := range map[string]string{"id": "Job", "owner": "Job", "seeds": "StartRequest", "cron": "ScheduleRequest", "next": "JobList", "title": "Problem"} {
		if d.Components.Schemas[name].Properties[field] == nil {
			t.Errorf("%s.%s is missing", name, field)
		}
	}
}

func TestListenWithoutEncryptionIsForLoopback(t *testing.T) {
	if _, err := Listen("0.0.0.0:0", "", "", false); !errors.Is(err, ErrOpen) {
		t.Errorf("every address: %v", err)
	}
	ln, err := Listen("127.0.0.1:0", "", "", false)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if _, err := Listen("127.0.0.1:0", "nothing", "nothing", false); err == nil {
		t.Error("a certificate that is missing")
	}
}

// A webhook gets only events that the operator has allowed. They are signed, and redirects are not followed.
func TestWebhooksAreThoseOfTheOperator(t *testing.T) {
	type told struct {
		path, signature string
		body            []byte
	}
	got := make(chan told, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- told{r.URL.Path, r.Header.Get(SignatureHeader), b}
		if r.URL.Path == "/hooks/moved" {
			http.Redirect(w, r, "/admin", http.StatusTemporaryRedirect)
		}
	}))
	defer hook.Close()
	w := Webhook{hook.URL + "/hooks/", "s3cret-s3cret-s3cret-s3cret-s3cret"}
	s := newService(t, t.TempDir(), Config{Webhooks: []Webhook{w}})
	site := newSite(t, 1, nil)
	for _, bad := range []string{
		hook.URL + "/admin", hook.URL + "/hooks/../admin", hook.URL + "/hooks/%2e%2e/admin", "http://evil.test/hooks/", hook.URL + ".evil.test/hooks/",
		strings.Replace(hook.URL, "://", "://x@", 1) + "/hooks/", "file:///etc/passwd", "",
	} {
		s.refused(http.StatusBadRequest, "POST", "/v1/jobs", body(site, fmt.Sprintf(`"webhooks":[%q]`, bad)), "/webhooks/0")
	}
	info := s.start(body(site, fmt.Sprintf(`"webhooks":[%q]`, hook.URL+"/hooks/7")))
	one := <-got
	var e jobs.Event
	if err := json.Unmarshal(one.body, &e); err != nil || one.path != "/hooks/7" || e.State != jobs.Done || e.Job.ID != info.ID {
		t.Errorf("%s: %s, %v", one.path, one.body, err)
	}
	var at int64
	if _, err := fmt.Sscanf(one.signature, "t=%d,", &at); err != nil || one.signature != w.sign(time.Unix(at, 0), one.body) {
		t.Errorf("signature %q, %v", one.signature, err)
	}
	s.start(body(site, fmt.Sprintf(`"webhooks":[%q]`, hook.URL+"/hooks/moved")))
	if one = <-got; one.path != "/hooks/moved" {
		t.Errorf("told %s", one.path)
	}
	if err := s.Close(t.Context()); err != nil { // waits until the goroutine that sends events has ended
		t.Fatal(err)
	}
	if len(got) > 0 {
		t.Errorf("a redirect was followed: %s", (<-got).path)
	}
}
