package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/jobs"
)

// visitor represents a browser without scripts that sends the header fields about the origin of requests that browsers send.
type visitor struct {
	s    *service
	web  *http.Client
	root string // path of the visitor's session; "" if logged out
}

// newBrowser returns a browser that has logged in with a token.
func newBrowser(s *service, secret string) *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &visitor{s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, "/"}
	status, text, to := b.send("POST", "login", url.Values{"token": {secret}})
	if status != http.StatusSeeOther || !strings.HasPrefix(to, sessionRoot) {
		s.t.Fatalf("login: %d %s, to %s", status, text, to)
	}
	b.root = to
	return b
}

// send makes a request, and returns the status, the text of the answer, and the target of a redirect.
func (b *visitor) send(method, path string, form url.Values, change ...func(*http.Request)) (status int, text, to string) {
	b.s.t.Helper()
	r, err := http.NewRequestWithContext(b.s.t.Context(), method, b.s.url+b.root+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.s.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.s.url)
	}
	for _, f := range change {
		f(r)
	}
	a, err := b.web.Do(r)
	if err != nil {
		b.s.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		b.s.t.Fatal(err)
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		b.s.t.Errorf("%s %s: policy %q", method, path, csp)
	}
	return a.StatusCode, string(body), a.Header.Get("Location")
}

// shows requests a page, and checks that it contains the words.
func (b *visitor) shows(path string, words ...string) string {
	b.s.t.Helper()
	status, text, _ := b.send("GET", path, nil)
	if status != http.StatusOK {
		b.s.t.Fatalf("%s: %d %s", path, status, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			b.s.t.Errorf("%s lacks %q: %s", path, word, text)
		}
	}
	return text
}

// orders gives an order that the server must accept. It returns the target of the redirect, relative to the session.
func (b *visitor) orders(path string, form url.Values) string {
	b.s.t.Helper()
	status, text, to := b.send("POST", path, form)
	if status != http.StatusSeeOther || !strings.HasPrefix(to, b.root) {
		b.s.t.Fatalf("%s: %d %s, to %s", path, status, text, to)
	}
	return strings.TrimPrefix(to, b.root)
}

// hiddenFields returns the hidden form fields of a page.
func hiddenFields(page string) url.Values {
	all := url.Values{}
	for _, f := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		all.Set(f[1], f[2])
	}
	return all
}

func TestPageStartsFollowsAndRemovesAJob(t *testing.T) {
	hold := make(chan struct{})
	var audit bytes.Buffer
	s := newService(t, t.TempDir(), Config{Jobs: jobs.Config{Running: 1}, Audit: &audit})
	site := newSite(t, 3, hold)
	b := newBrowser(s, annSecret)
	b.shows("", "There are no jobs yet", `href="`+b.root+`new"`)
	b.shows("new", "Show the plan")
	form := url.Values{"seeds": {site + "/0\n" + site + "/1"}, "delay": {"1ms"}, "pages": {"7"}, "depth": {"none"}, "scope": {"host"}, "rate": {"1000"}}
	status, plan, _ := b.send("POST", "plan", form)
	if status != http.StatusOK || len(s.Manager().All()) != 0 {
		t.Fatalf("plan: %d %s", status, plan)
	}
	for _, word := range []string{"at least", "not requested yet", strings.TrimPrefix(site, "http://"), "1ms, set by delay", "<dt>max-pages</dt><dd>7</dd>", "Start the job", "<dt>User-Agent</dt><dd>amble/"} {
		if !strings.Contains(plan, word) {
			t.Errorf("the plan lacks %q: %s", word, plan)
		}
	}
	at := b.orders("start", hiddenFields(plan))
	if again := b.orders("start", hiddenFields(plan)); again != at || len(s.Manager().All()) != 1 {
		t.Errorf("the second click leads to %s, %d jobs", again, len(s.Manager().All()))
	}
	id := strings.TrimPrefix(at, "jobs/")
	b.shows("", site+"/0 and 1 more", `href="`+b.root+at+`"`, "running", ">ann<")
	if text := b.shows(at, "running", `<button id="pause">`, `<button id="stop">`, "of up to 7", `http-equiv="refresh"`); strings.Contains(text, `id="remove"`) {
		t.Error("a job that runs can be deleted")
	}
	second := strings.TrimPrefix(b.orders("start", url.Values{"key": {"2"}, "seeds": {site + "/0"}, "delay": {"1ms"}}), "jobs/")
	for _, step := range []struct {
		order  string
		state  jobs.State
		button string
	}{{"pause", jobs.Paused, "resume"}, {"resume", jobs.Queued, "pause"}, {"stop", jobs.Stopped, "resume"}} {
		if to := b.orders("jobs/"+second+"/"+step.order, nil); to != "jobs/"+second {
			t.Errorf("%s leads to %s", step.order, to)
		}
		b.shows("jobs/"+second, ">"+string(step.state)+"</span>", `<button id="`+step.button+`">`, "the job has not begun")
	}
	if status, text, _ := b.send("POST", "jobs/"+id+"/delete", nil); status != http.StatusConflict || !strings.Contains(text, "is running") {
		t.Errorf("a job that runs is deleted: %d %s", status, text)
	}
	if status, text, _ := b.send("POST", "jobs/"+second+"/pause", nil); status != http.StatusConflict || !strings.Contains(text, "is stopped") {
		t.Errorf("a job that was stopped is paused: %d %s", status, text)
	}
	if to := b.orders("jobs/"+second+"/delete", nil); to != "" || len(s.Manager().All()) != 1 {
		t.Errorf("delete leads to %q", to)
	}
	close(hold)
	if _, err := s.Manager().Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	text := b.shows(at, ">done</span>", "<strong>3</strong> pages", `href="`+b.root+at+`/export?to=csv"`)
	if strings.Contains(text, `id="stop"`) || strings.Contains(text, `id="resume"`) || strings.Contains(text, "refresh") {
		t.Errorf("a job that is done can be stopped or resumed, or is loaded again: %s", text)
	}
	if lines := b.shows(at+"/results", site+"/2"); strings.Count(lines, "\n") != 3 {
		t.Errorf("results: %q", lines)
	}
	b.shows(at+"/export?to=csv", "PK")
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"path":"/login","status":303`, `"token":"ann","from":"127.0.0.1`, `"path":"/jobs/` + second + `/delete","status":303,"job":"` + second, `"path":"/start","status":303,"job":"` + id} {
		if !strings.Contains(audit.String(), want) {
			t.Errorf("the audit log lacks %s: %s", want, &audit)
		}
	}
	if strings.Contains(audit.String(), strings.Trim(b.root, "/")) || strings.Contains(audit.String(), annSecret) {
		t.Error("the audit log has a secret")
	}
}

func TestPageOfAReaderHasNoOrders(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	info := s.start(body(newSite(t, 1, nil)))
	s.lines(info.ID, 0)
	b := newBrowser(s, bobSecret)
	for _, path := range []string{"", "jobs/" + info.ID} {
		text := b.shows(path, "done", "bob, who may only read")
		if strings.Contains(strings.Replace(text, "logout", "", 1), "post") && strings.Count(text, `method="post"`) != 1 || strings.Contains(text, b.root+"new") || strings.Contains(text, "delete") {
			t.Errorf("%s gives orders: %s", path, text)
		}
	}
	b.shows("jobs/"+info.ID+"/export?to=csv", "PK")
	for _, path := range []string{"start", "plan", "new", "jobs/" + info.ID + "/pause", "jobs/" + info.ID + "/resume", "jobs/" + info.ID + "/stop", "jobs/" + info.ID + "/delete"} {
		if status, text, _ := b.send("POST", path, url.Values{"seeds": {"http://127.0.0.1/"}, "key": {"x"}}); status != http.StatusForbidden || !strings.Contains(text, "no scope write") {
			t.Errorf("POST %s: %d %s", path, status, text)
		}
	}
	if status, _, _ := b.send("GET", "new", nil); status != http.StatusForbidden {
		t.Errorf("GET new: %d", status)
	}
	if all := s.Manager().All(); len(all) != 1 || all[0].State != jobs.Done {
		t.Errorf("%+v", all)
	}
}

// Neither the cookie nor the path of a session alone opens the page. With both, another site cannot give orders. Logging out ends both.
func TestSessionsAreProtected(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	b := newBrowser(s, annSecret)
	b.shows("")
	with := func(site, origin string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Del("Origin")
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
		}
	}
	form := url.Values{"key": {"x"}, "seeds": {"http://127.0.0.1:1/"}, "token": {annSecret}}
	for name, f := range map[string]func(*http.Request){
		"another site": with("cross-site", "http://evil.test"), "another port": with("same-site", "http://127.0.0.1:1"), "an old browser": with("", "http://evil.test"), "no origin": with("cross-site", "null"),
	} {
		for _, path := range []string{"start", "plan", "logout", "jobs/x/stop"} {
			if status, text, _ := b.send("POST", path, form, f); status != http.StatusForbidden || !strings.Contains(text, "another site") {
				t.Errorf("%s: POST %s: %d %s", name, path, status, text)
			}
		}
		root := b.root
		b.root = "/"
		if status, text, _ := b.send("POST", "login", form, f); status != http.StatusForbidden {
			t.Errorf("%s logs in: %d %s", name, status, text)
		}
		b.root = root
	}
	if status, _, _ := b.send("GET", "", nil, func(r *http.Request) { r.Host = "evil.test" }); status != http.StatusMisdirectedRequest {
		t.Errorf("under the name of another site: %d", status)
	}
	alone := &visitor{s, &http.Client{}, b.root}
	if status, text, _ := alone.send("GET", "", nil); status != http.StatusUnauthorized || !strings.Contains(text, "session has ended") {
		t.Errorf("without the cookie: %d %s", status, text)
	}
	if status, _, _ := alone.send("GET", "", nil, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: "GUESS"}) }); status != http.StatusUnauthorized {
		t.Errorf("with another cookie: %d", status)
	}
	elsewhere := func(r *http.Request) {
		for _, c := range b.web.Jar.Cookies(&url.URL{Scheme: "http", Host: r.Host, Path: b.root}) {
			r.AddCookie(c)
		}
	}
	for _, root := range []string{"/s/", "/s/x/", "/s//", strings.ToLower(b.root)} {
		alone.root = root
		if status, text, _ := alone.send("GET", "", nil, elsewhere); status != http.StatusUnauthorized {
			t.Errorf("at %s with the cookie: %d %s", root, status, text)
		}
	}
	alone.root = "/"
	if status, text, _ := alone.send("GET", "v1/jobs", nil, elsewhere); status != http.StatusUnauthorized {
		t.Errorf("the API with the cookie: %d %s", status, text)
	}
	alone.root = b.root
	if status, _, _ := alone.send("GET", "", nil, elsewhere); status != http.StatusOK {
		t.Errorf("with both: %d", status)
	}
	if status, _, to := b.send("POST", "logout", nil); status != http.StatusSeeOther || to != "/" {
		t.Errorf("logout: %d, to %s", status, to)
	}
	if status, _, _ := alone.send("GET", "", nil, elsewhere); status != http.StatusUnauthorized {
		t.Errorf("after logout: %d", status)
	}
	if all := s.Manager().All(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestLoginCookieIsForTheServerAlone(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		s := newService(t, t.TempDir(), Config{Proxied: proxied})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/login", strings.NewReader("token="+annSecret))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-Proto", "https")
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		all := a.Cookies()
		if len(all) != 1 || !all[0].HttpOnly || all[0].SameSite != http.SameSiteStrictMode || all[0].Secure != proxied || all[0].Path != a.Header.Get("Location") || strings.Contains(all[0].String(), annSecret) {
			t.Errorf("proxied %v: %v", proxied, all)
		}
	}
}

func TestGuessesOnThePageAreLimited(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	b := newBrowser(s, annSecret)
	root := b.root
	b.root = "/"
	if status, text, _ := b.send("POST", "login", url.Values{"token": {"wrong-wrong"}}); status != http.StatusUnauthorized || !strings.Contains(text, "no valid token") {
		t.Errorf("a wrong token: %d %s", status, text)
	}
	s.guesses.SetLimit(0)
	for range 10 * maxGuesses {
		s.guesses.Allow()
	}
	if status, text, _ := b.send("POST", "login", url.Values{"token": {"wrong-wrong"}}); status != http.StatusTooManyRequests {
		t.Errorf("many wrong tokens: %d %s", status, text)
	}
	if status, text, _ := b.send("POST", "login", url.Values{"token": {annSecret}}); status != http.StatusSeeOther {
		t.Errorf("the right token meanwhile: %d %s", status, text)
	}
	if status, text, _ := (&visitor{s, &http.Client{}, "/s/GUESS/"}).send("GET", "", nil); status != http.StatusTooManyRequests {
		t.Errorf("a guess of a path: %d %s", status, text)
	}
	b.root = root
	b.shows("")
}

func TestSessionsAreBounded(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	first := newBrowser(s, annSecret)
	for range maxSessions {
		newBrowser(s, bobSecret)
	}
	if n := len(s.sessions.all); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
	if status, _, _ := first.send("GET", "", nil); status != http.StatusUnauthorized {
		t.Errorf("the oldest session: %d", status)
	}
}

// Text that clients of the API have chosen is displayed as text on the page.
func TestPageShowsHostileTextsAsText(t *testing.T) {
	s := newService(t, t.TempDir(), Config{})
	const bad = `"><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202e'"
	hold := make(chan struct{})
	site := newSite(t, 1, hold)
	defer close(hold)
	info, err := s.Manager().Start(jobs.Request{
		Key: bad, Owner: bad, Seeds: []string{site + `/?"><script>alert(1)</script>`},
		Settings: map[string]any{"agent": "x/1", "exclude": []string{bad}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(s, annSecret)
	pages := map[string]string{"list": b.shows(""), "job": b.shows("jobs/" + info.ID), "part": b.shows(`?before=` + url.QueryEscape(bad))}
	for _, path := range []string{"plan", "new", "start"} {
		_, pages[path], _ = b.send("POST", path, url.Values{"seeds": {bad}, "contact": {bad}, "delay": {bad}, "rate": {bad}, "pages": {bad}, "depth": {bad}, "scope": {bad}, "program": {bad}, "args": {bad}, "key": {bad}})
	}
	_, pages["planned"], _ = b.send("POST", "plan", url.Values{"seeds": {site + `/?"><script>alert(1)</script>`}, "key": {bad}})
	_, pages["missing"], _ = b.send("GET", "jobs/"+url.PathEscape(bad), nil)
	_, pages["order"], _ = b.send("POST", "jobs/"+url.PathEscape(bad)+"/stop", nil)
	for name, text := range pages {
		for _, evil := range []string{"<script>", "<img", "\u202e", "href=\"javascript"} {
			if strings.Contains(text, evil) {
				t.Errorf("%s has %q: %s", name, evil, text)
			}
		}
	}
	if !strings.Contains(pages["planned"], "Start the job") {
		t.Errorf("no plan: %s", pages["planned"])
	}
	if all := s.Manager().All(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

func TestPageReportsFormErrors(t *testing.T) {
	s := newService(t, t.TempDir(), Config{AllowAddresses: loopback[:1], Jobs: jobs.Config{Programs: map[string]jobs.Program{"prices": nil}}})
	b := newBrowser(s, annSecret)
	for want, form := range map[string]url.Values{
		"no seeds":                              {"seeds": {" \n"}},
		"seed &#34;nonsense&#34;: want a whole": {"seeds": {"nonsense"}},
		"10.0.0.1 is not a public address":      {"seeds": {"http://10.0.0.1/"}},
		"contact":                               {"seeds": {"http://site.test/"}},
		"delay":                                 {"seeds": {"http://127.0.0.1/"}, "delay": {"soon"}},
		"scope":                                 {"seeds": {"http://127.0.0.1/"}, "scope": {"everywhere"}},
		"text":                                  {"seeds": {"http://127.0.0.1/"}, "text": {"1"}},
		"are not JSON":                          {"seeds": {"http://127.0.0.1/"}, "args": {"{"}},
		"no program":                            {"seeds": {"http://127.0.0.1/"}, "program": {"rm"}},
	} {
		for _, path := range []string{"plan", "start"} {
			form.Set("key", "x")
			status, text, _ := b.send("POST", path, form)
			if status != http.StatusBadRequest || !strings.Contains(text, want) || !strings.Contains(text, "Show the plan") || !strings.Contains(text, strings.TrimSpace(form.Get("seeds"))) {
				t.Errorf("%s, %v: %d, want %q and the form: %s", path, form, status, want, text)
			}
		}
	}
	if status, text, _ := b.send("POST", "start", url.Values{"seeds": {"http://127.0.0.1/"}}); status != http.StatusBadRequest || !strings.Contains(text, "no key") {
		t.Errorf("without a key: %d %s", status, text)
	}
	if status, _, _ := b.send("POST", "plan", url.Values{"seeds": {strings.Repeat("x", 2<<20)}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d", status)
	}
	if all := s.Manager().All(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// The event stream of a page sends changes of the job, and ends when the server ends.
func TestPageFollowsAJob(t *testing.T) {
	hold := make(chan struct{})
	s := newService(t, t.TempDir(), Config{})
	info := s.start(body(newSite(t, 1, hold)))
	b := newBrowser(s, bobSecret)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+b.root+"events?job="+info.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.web.Do(r)
	if err != nil || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(a, err)
	}
	defer func() { _ = a.Body.Close() }()
	var read strings.Builder
	until := func(word string) {
		t.Helper()
		for part := make([]byte, 4096); !strings.Contains(read.String(), word); {
			n, err := a.Body.Read(part)
			read.Write(part[:n])
			if err != nil {
				t.Fatalf("%v, without %q: %s", err, word, read.String())
			}
		}
	}
	until(">running<")
	close(hold)
	until(">done<")
	if strings.Contains(read.String(), "<button") {
		t.Error("a reader gets orders")
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&read, a.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
