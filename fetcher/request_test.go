package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

func TestRequestTargetIsTheURLsPathAndQuery(t *testing.T) {
	for in, want := range map[string]string{
		"/":            "/",
		"":             "/",
		"/a?":          "/a?",
		"/a?b=c&d":     "/a?b=c&d",
		"/%7e%zz|{}^'": "/%7e%zz|{}^'",
		"/a//b":        "/a//b",
		"//a/b?c":      "//a/b?c",
		"//":           "//",
		"//a?":         "//a?",
		"///":          "///",
		"//%2f%7Ea":    "//%2f%7Ea",
		"//a|b":        "",
		"//%zz":        "",
		"/?//":         "/?//",
	} {
		u, err := requestTarget("http", "a.test", in)
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error; would be sent as %s", in, u.RequestURI())
			}
			continue
		}
		if err != nil || u.RequestURI() != want {
			t.Errorf("%s: %v, %v", in, u, err)
		}
	}
}

func TestUnsendableURLIsAnError(t *testing.T) {
	r := newRig(t, Config{})
	u := parse(t, "http://127.0.0.1:2//a%zz")
	_, err := r.f.Fetch(t.Context(), r.permit(u.String(), politeness.Page))
	if ReasonOf(err) != reasonURL {
		t.Fatal(err)
	}
}

// echo answers with the request's header.
func echo(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"Authorization", "Cookie", "Referer", "Range"} {
		for _, v := range r.Header[name] {
			fmt.Fprintf(w, "%s: %s\n", name, v)
		}
	}
}

func TestCredentialsGoToTheirOriginOnly(t *testing.T) {
	a, b := serve(t, echo), serve(t, echo)
	r := newRig(t, Config{Headers: Headers{a.URL: {"authorization": {BasicAuth("user", "pa:ss")}}}})
	if got := string(r.page(a.URL + "/x").Body); got != "Authorization: Basic dXNlcjpwYTpzcw==\n" {
		t.Errorf("%q", got)
	}
	if got := r.page(b.URL).Body; len(got) != 0 {
		t.Errorf("another port got %q", got)
	}
	r = newRig(t, Config{Headers: Headers{"https://a.test": {"Authorization": {"secret"}}}, Cookies: true})
	r.f.jar.store("https://a.test", "/", []string{"a=b"}, time.Now())
	for _, u := range []string{"https://a.test/", "http://a.test/", "http://a.test:443/", "https://a.test:444/", "https://b.test/", "https://x.a.test/", "https://test/"} {
		x := &exchange{f: r.f, url: parse(t, u), grant: r.grant(u)}
		h, err := x.header(t.Context())
		want := u == "https://a.test/"
		if err != nil || (h.Get("Authorization") != "") != want || (h.Get("Cookie") != "") != want {
			t.Errorf("%s: %v", u, h)
		}
	}
}

func TestConditionalRequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Thu, 19 Nov 2026 10:00:00 GMT")
		if r.Header.Get("If-None-Match") == `"v1"` && r.Header.Get("If-Modified-Since") == "Thu, 19 Nov 2026 10:00:00 GMT" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, "body")
	})
	r := newRig(t, Config{})
	first := r.page(s.URL)
	again, err := r.f.Fetch(WithValidators(t.Context(), first.Validators()), r.permit(s.URL, politeness.Page))
	if err != nil || again.Status != 304 || len(again.Body) != 0 || again.Truncated != "" {
		t.Fatalf("%+v %v", again, err)
	}
	// A value received from a server may contain anything.
	third, err := r.f.Fetch(WithValidators(t.Context(), Validators{ETag: "a\r\nX: y", LastModified: "\x00"}), r.permit(s.URL, politeness.Page))
	if err != nil || third.Status != 200 {
		t.Fatalf("%+v %v", third, err)
	}
}

func TestConfigValidate(t *testing.T) {
	proxy := func(s string) *url.URL { u, _ := url.Parse(s); return u }
	for name, c := range map[string]Config{
		"negative time":     {IdleTimeout: -1},
		"negative size":     {MaxBody: -1},
		"negative rate":     {MinRate: -1},
		"window too small":  {MaxWindow: 1},
		"Signature":         {Header: http.Header{"Signature-Input": {"x"}}},
		"User-Agent":        {Header: http.Header{"user-agent": {"x"}}},
		"Host":              {Header: http.Header{"Host": {"x"}}},
		"Cookie":            {Header: http.Header{"Cookie": {"x"}}},
		"Authorization":     {Header: http.Header{"Authorization": {"x"}}},
		"Referer":           {Header: http.Header{"Referer": {"x"}}},
		"Range":             {Header: http.Header{"Range": {"x"}}},
		"Connection":        {Header: http.Header{"Connection": {"close"}}},
		"field name":        {Header: http.Header{"a b": {"x"}}},
		"field value":       {Header: http.Header{"A": {"x\r\ny"}}},
		"Accept":            {Accept: "a\nb"},
		"headers and path":  {Headers: Headers{"http://a.test/": {"Authorization": {"x"}}}},
		"headers, port":     {Headers: Headers{"http://a.test:80": {"Authorization": {"x"}}}},
		"headers, no URL":   {Headers: Headers{"a.test": {"Authorization": {"x"}}}},
		"headers, newlines": {Headers: Headers{"http://a.test": {"Authorization": {"x\ny"}}}},
		"proxy scheme":      {Proxy: proxy("ftp://a.test")},
		"proxy host":        {Proxy: proxy("http://")},
		"proxy port":        {Proxy: proxy("http://a.test:99999")},
		"proxy port 0":      {Proxy: proxy("http://a.test:0")},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "x\\ny") {
			t.Errorf("%s: shows a secret: %v", name, err)
		}
		if _, err := New(c); err == nil {
			t.Errorf("%s: New accepts", name)
		}
	}
	if err := (Config{Headers: Headers{"https://a.test:8443": {"Authorization": {"x"}}}, Header: http.Header{"X-Y": {"z"}}, Proxy: proxy("socks5://a")}).Validate(); err != nil {
		t.Error(err)
	}
	err := (Config{MaxBody: -1, MinRate: -1}).Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not joined: %v", err)
	}
}
