package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// club creates a site whose pages are for members; each page has a form.
func club(w *crawltest.Web) *crawltest.Site {
	s := w.Site("http://a.example")
	s.Handle("/login", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.FormValue("user") != "me" || r.FormValue("password") != "s3cret &=" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Set-Cookie", "session=s3cretsession; Path=/; HttpOnly")
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}))
	page := func(body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, err := r.Cookie("session"); err != nil || c.Value != "s3cretsession" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(body + `<form method=post action=/submit><input name=q></form>`))
		})
	}
	s.Handle("/", page(links("/members", "http://b.example/")))
	s.Handle("/members", page(""))
	w.Site("http://b.example").Page("/", "")
	return s
}

// logIn returns a Config.Login that submits a club's form.
func logIn(t *testing.T, to, password string) func(context.Context, *fetcher.Client) error {
	u := mustParse(t, to)
	return func(ctx context.Context, c *fetcher.Client) error {
		page, err := c.Login(ctx, u, url.Values{"user": {"me"}, "password": {password}})
		if err == nil && page.Status != http.StatusSeeOther {
			err = errors.New("the site does not know us: " + page.Header.Get("Status"))
		}
		return err
	}
}

func members(t *testing.T, w *crawltest.Web, login func(context.Context, *fetcher.Client) error, ledgerTo *bytes.Buffer, more ...sink.Sink) (*crawler.Crawler, *visits) {
	t.Helper()
	v := &visits{}
	cr := newCrawler(t, w, crawler.Config{
		Handler: v, Sinks: more, Login: login, Fetch: fetcher.Config{Cookies: true},
		Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 9},
		Politeness: politeness.Config{Ledger: ledgerTo},
	})
	w.Expect(crawltest.Expect{
		Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, Logins: []string{"http://a.example/login"},
	})
	return cr, v
}

// TestLogin checks that a login is a request like any other: after robots.txt, one pause before the first page,
// recorded in the ledger and counted. Its cookie opens the pages and is sent nowhere else. Form and cookie values
// appear in no output.
func TestLogin(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := club(w)
		var lines, out bytes.Buffer
		cr, v := members(t, w, logIn(t, s.URL("/login"), "s3cret &="), &lines, sink.NewJSONL(&out))
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/members"): "fetched 200", "http://b.example/": "fetched 200"})
		w.MustOrder(s.URL("/robots.txt"), s.URL("/login"), s.URL("/"))
		w.MustSpace("a.example:80", time.Second)
		w.MustNotRequest(s.URL("/submit"))
		if rep.Requests != 6 {
			t.Errorf("%d requests counted", rep.Requests)
		}
		for _, r := range w.Requests() {
			want := r.Host == "a.example:80" && !strings.HasSuffix(r.URL, "/robots.txt") && r.Method == http.MethodGet
			if (r.Header.Get("Cookie") == "session=s3cretsession") != want {
				t.Errorf("%s %s: cookie %q", r.Method, r.URL, r.Header.Get("Cookie"))
			}
		}
		if strings.Contains(lines.String()+out.String(), "s3cret") {
			t.Errorf("a secret is in an output:\n%s\n%s", lines.String(), out.String())
		}
		var e ledger.Entry
		logins := 0
		for line := range bytes.Lines(lines.Bytes()) {
			if err := e.Parse(bytes.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
			if e.Purpose == "login" && e.Event == ledger.Start && e.URL == s.URL("/login") {
				logins++
			}
		}
		if logins != 1 {
			t.Errorf("%d lines for the login", logins)
		}
		verdict, err := audit.Check(&lines, audit.Config{Product: "testbot", UserAgent: w.Requests()[0].UserAgent, Contact: contact, Delay: 1}, nil)
		if err != nil || len(verdict.Violations) > 0 || verdict.Requests != 6 {
			t.Errorf("%+v, %v", verdict, err)
		}
	})
}

// TestALoginThatFails checks that nothing else is requested if the site rejects the login, or if robots.txt disallows
// it or cannot be fetched.
func TestALoginThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(s *crawltest.Site)
		posts  int
		want   string
	}{
		"wrong password": {func(*crawltest.Site) {}, 1, "does not know us"},
		"forbidden":      {func(s *crawltest.Site) { s.Robots("User-agent: *\nDisallow: /login\n").Forbids("/login") }, 0, "refused: line 2"},
		"unreachable":    {func(s *crawltest.Site) { s.RobotsStatus(503) }, 0, "robots"},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := club(w)
				tc.change(s)
				cr, v := members(t, w, logIn(t, s.URL("/login"), "wrong"), new(bytes.Buffer))
				_, err := cr.Run(t.Context(), s.URL("/"))
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "wrong") {
					t.Errorf("%v", err)
				}
				if w.Count(s.URL("/login")) != tc.posts || w.Count(s.URL("/")) != 0 || len(v.all) != 0 {
					t.Errorf("%d posts, %v", w.Count(s.URL("/login")), v.all)
				}
			})
		})
	}
}

// TestALoginHasItsOwnPermit checks that a page's Permit cannot submit a form, and a login's Permit cannot request a
// page.
func TestALoginHasItsOwnPermit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := club(w)
		var got []error
		mixed := func(ctx context.Context, c *fetcher.Client) error {
			f := c.Fetcher.(*fetcher.Fetcher)
			for _, why := range []politeness.Purpose{politeness.Page, politeness.Login} {
				swapped := *c
				swapped.Fetcher = swap{f}
				_, err := swapped.Get(ctx, mustParse(t, s.URL("/login")), why)
				got = append(got, err)
			}
			return nil
		}
		cr, _ := members(t, w, mixed, new(bytes.Buffer))
		if _, err := cr.Run(t.Context(), s.URL("/members")); err != nil {
			t.Fatal(err)
		}
		for _, err := range got {
			if fetcher.ReasonOf(err) != "permit_invalid" {
				t.Errorf("%v", err)
			}
		}
		if len(got) != 2 || w.Count(s.URL("/login")) != 0 {
			t.Errorf("%d requests, %v", w.Count(s.URL("/login")), got)
		}
	})
}

// swap is a Fetcher that misuses Permits: a page's Permit to submit a form, and a login's Permit to request a page.
type swap struct{ *fetcher.Fetcher }

func (s swap) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() == politeness.Page {
		return s.Post(ctx, p, nil)
	}
	return s.Fetcher.Fetch(ctx, p)
}

// TestLoginNeedsCookies checks that a configuration in which a login has no effect is rejected.
func TestLoginNeedsCookies(t *testing.T) {
	_, err := crawler.New(crawler.Config{Contact: contact, Login: func(context.Context, *fetcher.Client) error { return nil }})
	var of *crawler.ConfigError
	if !errors.As(err, &of) || of.Field != "Login" {
		t.Errorf("%v", err)
	}
}
