package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// expiring creates a site whose sessions last for a number of pages. After that, pages redirect to the login form.
func expiring(w *crawltest.Web, pages, lasting int) *crawltest.Site {
	var mu sync.Mutex
	session, left := 0, 0
	s := w.Site("http://a.example")
	s.Handle("/login", http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			session, left = session+1, lasting
			a.Header().Set("Set-Cookie", fmt.Sprint("session=", session, r.FormValue("user"), "; Path=/"))
		}
	}))
	for i := range pages {
		s.Handle(fmt.Sprint("/", i), http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			c, err := r.Cookie("session")
			if err != nil || !strings.HasPrefix(c.Value, fmt.Sprint(session)) || left == 0 {
				a.Header().Set("Location", "/login")
				a.WriteHeader(http.StatusFound)
				return
			}
			left--
			a.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(a, c.Value, links(fmt.Sprint("/", i+1), "/"+fmt.Sprint(i+2)))
		}))
	}
	return s
}

func toLogin(v *crawler.Visit) bool { return v.Location.Path() == "/login" }

// as returns a Config.Login that logs in as a user.
func as(t *testing.T, s *crawltest.Site, user string) func(context.Context, *fetcher.Client) error {
	u := mustParse(t, s.URL("/login"))
	return func(ctx context.Context, c *fetcher.Client) error {
		_, err := c.Login(ctx, u, url.Values{"user": {user}})
		return err
	}
}

// When a session ends, the crawl logs in again and repeats the affected requests: every page is visited once, logged
// in.
func TestLoggedOutLogsInAgain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := expiring(w, 9, 3)
		v := &visits{}
		cr := newCrawler(t, w, crawler.Config{
			Handler: v, Login: as(t, s, "me"), LoggedOut: toLogin, Fetch: fetcher.Config{Cookies: true}, Limits: crawler.Limits{Depth: 8, Pages: 9},
			AroundFetch: func(f crawler.Fetcher) crawler.Fetcher { return struct{ crawler.Fetcher }{f} }, // the wrapper has no Post method
		})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true, Logins: []string{s.URL("/login")}, LoginsEach: 9})
		rep, err := cr.Run(t.Context(), s.URL("/0"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for i := range 9 {
			want[s.URL(fmt.Sprint("/", i))] = "fetched 200"
		}
		v.expect(t, want)
		w.MustSpace("a.example:80", time.Second)
		if n := w.Count(s.URL("/login")); n != 3 || rep.Pages != 9 {
			t.Errorf("%d logins, %d pages", n, rep.Pages)
		}
	})
}

// The number of logins is limited: a page that still requires a login fails, and the crawl continues.
func TestLoggedOutHasAnEnd(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := expiring(w, 1, 0)
		v := &visits{}
		cr := newCrawler(t, w, crawler.Config{
			Handler: v, Login: as(t, s, "me"), LoggedOut: toLogin, MaxLogins: 2, Fetch: fetcher.Config{Cookies: true},
		})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true, Logins: []string{s.URL("/login")}, LoginsEach: 9})
		_, err := cr.Run(t.Context(), s.URL("/0"))
		if err != nil || w.Count(s.URL("/login")) != 3 || w.Count(s.URL("/0")) != 3 {
			t.Errorf("%d logins, %d requests, %v", w.Count(s.URL("/login")), w.Count(s.URL("/0")), err)
		}
		v.expect(t, map[string]string{s.URL("/0"): "failed 302 logged_out"})
	})
}

// A login that fails during a crawl ends the crawl, with the page still queued. A panic of LoggedOut fails the visit.
func TestLoggedOutErrors(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := expiring(w, 3, 1)
		calls, refused := 0, errors.New("the password has changed")
		login := as(t, s, "me")
		cr := newCrawler(t, w, crawler.Config{
			Login: func(ctx context.Context, c *fetcher.Client) error {
				if calls++; calls > 1 {
					return refused
				}
				return login(ctx, c)
			},
			LoggedOut: toLogin, Fetch: fetcher.Config{Cookies: true},
		})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true, Logins: []string{s.URL("/login")}, LoginsEach: 9})
		rep, err := cr.Run(t.Context(), s.URL("/0"))
		if !errors.Is(err, refused) || rep.Pages != 1 || rep.Left != 2 {
			t.Errorf("%v, %d pages, %d left", err, rep.Pages, rep.Left)
		}
		cr = newCrawler(t, w, crawler.Config{
			Login: login, LoggedOut: func(*crawler.Visit) bool { panic("oops") }, Fetch: fetcher.Config{Cookies: true},
		})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true, Logins: []string{s.URL("/login")}, LoginsEach: 9})
		rep, err = cr.Run(t.Context(), s.URL("/0"))
		if err != nil || rep.Outcomes[crawler.Failed] != 1 || rep.Reasons[crawler.ReasonPanic] != 1 {
			t.Errorf("%v, %v, %v", rep.Outcomes, rep.Reasons, err)
		}
	})
}

// Two accounts for one host in a crawl have separate cookies but share the host's delay.
func TestAccountsShareTheClock(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Handle("/login", http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			a.Header().Set("Set-Cookie", "who="+r.FormValue("user")+"; Path=/")
		}))
		var mu sync.Mutex
		seen := map[string]string{}
		page := http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.URL.Path] = r.Header.Get("Cookie")
			a.Header().Set("Content-Type", "text/html")
			_, _ = a.Write([]byte(links("/de/1", "/en/1", "/")))
		})
		for _, path := range []string{"/", "/de/", "/en/", "/de/1", "/en/1"} {
			s.Handle(path, page)
		}
		part := func(prefix string) func(weburl.URL) bool {
			return func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), prefix) }
		}
		cr := newCrawler(t, w, crawler.Config{Accounts: []crawler.Account{
			{Name: "de", For: part("/de/"), Login: as(t, s, "anna")},
			{Name: "en", For: part("/en/"), Login: as(t, s, "bob")},
		}})
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, Logins: []string{s.URL("/login")}, LoginsEach: 9})
		_, err := cr.Run(t.Context(), s.URL("/de/"), s.URL("/en/"))
		if err != nil {
			t.Fatal(err)
		}
		w.MustSpace("a.example:80", time.Second)
		for path, want := range map[string]string{"/": "", "/de/": "who=anna", "/en/": "who=bob", "/de/1": "who=anna", "/en/1": "who=bob"} {
			if got, ok := seen[path]; !ok || got != want {
				t.Errorf("%s: cookie %q, want %q", path, got, want)
			}
		}
	})
	err := crawler.Config{Contact: contact, Accounts: []crawler.Account{{}, {Name: "x"}}}.Validate()
	for _, want := range []string{"Accounts[0].Name", "Accounts[0].Login", "Accounts[1].Login"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %s is missing", err, want)
		}
	}
}

// Two hosts notice at the same moment that their common session has ended. One login serves both pages.
func TestOneLoginServesAllPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var mu sync.Mutex
		in, asked := false, 0
		// Both pages are requested before either response arrives.
		a, b := w.Site("http://a.example").Latency(200*time.Millisecond), w.Site("http://b.example").Latency(100*time.Millisecond)
		page := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked <= 2 { // the first request for each of the two pages
				in = false
			}
			if !in {
				rw.WriteHeader(http.StatusUnauthorized)
			}
		})
		a.Handle("/", page)
		b.Handle("/", page)
		a.Handle("/login", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			in = true
		}))
		v := &visits{}
		cr := newCrawler(t, w, crawler.Config{
			Handler: v, Login: as(t, a, "me"), Fetch: fetcher.Config{Cookies: true},
			LoggedOut: func(v *crawler.Visit) bool { return v.Status() == http.StatusUnauthorized },
		})
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: contact, AllowRepeats: true, Logins: []string{a.URL("/login")}, LoginsEach: 9})
		if _, err := cr.Run(t.Context(), b.URL("/"), a.URL("/")); err != nil {
			t.Fatal(err)
		}
		v.expect(t, map[string]string{a.URL("/"): "fetched 200", b.URL("/"): "fetched 200"})
		if n := w.Count(a.URL("/login")); n != 2 {
			t.Errorf("%d logins, want the first and another", n)
		}
	})
}
