package crawler_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// clubWeb returns an in-memory site whose page is for logged-in members.
func clubWeb() *crawltest.Web {
	web := crawltest.NewWeb()
	site := web.Site("http://club.example")
	site.Handle("/login", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("user") == "reader" && r.PostFormValue("password") == "pen and paper" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}))
	site.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("session"); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	return web
}

// Submit the login form of a site once before the crawl, with an account of the operator. The cookie of the login is sent
// with the requests for pages. The form's URL and field names are in the source of the page with the form.
func ExampleConfig_login() {
	web := clubWeb()
	defer web.Close()
	to, err := weburl.Parse("http://club.example/login")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := crawler.New(crawler.Config{
		Contact: "https://lab.university.edu/crawl",
		Login: func(ctx context.Context, c *fetcher.Client) error {
			page, err := c.Login(ctx, to, url.Values{"user": {"reader"}, "password": {"pen and paper"}})
			if err == nil && page.Status != http.StatusSeeOther {
				err = fmt.Errorf("%s answers %d", to, page.Status)
			}
			return err
		},
		Fetch:      fetcher.Config{Cookies: true, DialContext: web.DialContext, Resolver: web},
		Politeness: politeness.Config{Delay: politeness.NoDelay},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for v, err := range c.Pages(context.Background(), "http://club.example/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Outcome, v.Status(), v.URL)
	}
	// Output:
	// fetched 200 http://club.example/
}

// Log in again when the session has ended. Here the site forgets the session at once, so the page is requested twice.
func ExampleConfig_loggedOut() {
	web, asked := crawltest.NewWeb(), 0
	defer web.Close()
	site := web.Site("http://club.example")
	site.Handle("/login", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
	}))
	site.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			http.Redirect(w, r, "/login", http.StatusFound)
		}
	}))
	to, err := weburl.Parse("http://club.example/login")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := crawler.New(crawler.Config{
		Contact: "https://lab.university.edu/crawl",
		Login: func(ctx context.Context, c *fetcher.Client) error {
			fmt.Println("logging in")
			_, err := c.Login(ctx, to, url.Values{"user": {"reader"}, "password": {"pen and paper"}})
			return err
		},
		LoggedOut:  func(v *crawler.Visit) bool { return v.Location == to },
		Fetch:      fetcher.Config{Cookies: true, DialContext: web.DialContext, Resolver: web},
		Politeness: politeness.Config{Delay: politeness.NoDelay},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for v, err := range c.Pages(context.Background(), "http://club.example/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Outcome, v.Status(), v.URL)
	}
	// Output:
	// logging in
	// logging in
	// fetched 200 http://club.example/
}
