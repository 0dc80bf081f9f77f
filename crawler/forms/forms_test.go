package forms_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/forms"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// A form is sent with its hidden fields to its action URL.
func ExampleFind() {
	page, _ := extract.Tree([]byte(`<form id=search action=/find><input type=hidden name=lang value=en><input name=q></form>`))
	base, _ := weburl.Parse("https://shop.example/about")
	form, err := forms.Find(page, base, "#search")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(form.URL(url.Values{"q": {"red pens"}}))
	// Output:
	// https://shop.example/find?lang=en&q=red+pens <nil>
}

// TestFieldsAsInBrowsers checks that a form sends the same data as a browser, for each kind of field.
func TestFieldsAsInBrowsers(t *testing.T) {
	const page = `<base href="/app/"><form><input name=first></form>
	<input type=hidden name=outside value=1 form=login><input name=stranger value=1>
	<form id=login method=POST action=sign-in>
	<input type=hidden name=csrf value="a&amp;b"><input name=user value=nobody><input type=password name=password>
	<input type=checkbox name=keep><input type=checkbox name=terms checked><input type=radio name=r value=1><input type=radio name=r value=2 checked>
	<input name=off value=1 disabled><fieldset disabled><input name=off2 value=1></fieldset><input value=unnamed><input type=file name=file>
	<select name=country><option value=de>Germany<option>  New
	 Zealand </select><select name=s><option value=1><option value=2 selected></select><select multiple name=m><option>x</select>
	<textarea name=text>
line</textarea><input type=image name=i><button type=button name=b value=no>no</button><button name=go value=yes>yes</button><input type=submit name=other value=o>
	<input name=elsewhere value=1 form=nobody></form>`
	root, err := extract.Tree([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	base, _ := weburl.Parse("https://a.example/x/y")
	for _, selector := range []string{"form#login", "input[name=password]"} {
		f, err := forms.Find(root, base, selector)
		if err != nil {
			t.Fatal(err)
		}
		const want = "country=de&csrf=a%26b&go=yes&outside=1&password=p&r=2&s=2&terms=on&text=line&user=me"
		if got := f.With(url.Values{"user": {"me"}, "password": {"p"}}).Encode(); got != want || !f.ByPost || f.Action.String() != "https://a.example/app/sign-in" {
			t.Errorf("%s: %v %s\n got %s\nwant %s", selector, f.ByPost, f.Action, got, want)
		}
		if _, err := f.URL(nil); !errors.Is(err, forms.ErrPost) {
			t.Errorf("%v", err)
		}
	}
}

// A form that cannot be sent as intended gives an error that says why.
func TestFormsThatAreNotSent(t *testing.T) {
	base, _ := weburl.Parse("https://a.example/")
	for page, want := range map[string]string{
		`<p>`: "no such form",
		`<form method=post enctype=multipart/form-data>`: "multipart/form-data",
		`<form method=dialog>`:                           "sent nowhere",
		`<form action="mailto:a@b.example">`:             "is sent to",
	} {
		root, err := extract.Tree([]byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := forms.Find(root, base, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", page, err)
		}
	}
}

// A login with a hidden token takes three requests, with a pause between them: robots.txt, the page, the form.
func TestSubmitPassesTheGate(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: "https://lab.university.edu/crawl", Logins: []string{s.URL("/login")}, AllowRepeats: true})
		s.Handle("/login", http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet:
				_, _ = a.Write([]byte(`<form method=post><input type=hidden name=csrf value=t0ken><input name=user></form>`))
			case r.FormValue("csrf") == "t0ken" && r.FormValue("user") == "me":
				http.SetCookie(a, &http.Cookie{Name: "session", Value: "1", Path: "/"})
			}
		}))
		s.Handle("/", http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("session"); err != nil {
				a.WriteHeader(http.StatusForbidden)
			}
		}))
		form, _ := weburl.Parse(s.URL("/login"))
		cfg := crawler.Config{
			Agent: "testbot", Contact: "https://lab.university.edu/crawl", Fetch: fetcher.Config{Cookies: true},
			Login: func(ctx context.Context, c *fetcher.Client) error {
				page, err := c.Get(ctx, form, politeness.Page)
				if err != nil {
					return err
				}
				_, err = forms.Submit(ctx, c, page, "form", url.Values{"user": {"me"}})
				return err
			},
		}
		w.Apply(&cfg)
		c, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for v, err := range c.Pages(t.Context(), s.URL("/")) {
			if err != nil || v.Status() != http.StatusOK {
				t.Errorf("%d, %v", v.Status(), err)
			}
		}
		w.MustOrder(s.URL("/robots.txt"), s.URL("/login"), s.URL("/"))
		w.MustSpace("a.example:80", time.Second)
		if n := w.Count(s.URL("/login")); n != 2 {
			t.Errorf("%d requests of the form", n)
		}
	})
}
