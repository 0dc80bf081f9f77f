package fetcher

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// TestPost checks what is sent with a form, over HTTP/1.1 and HTTP/2, on a new and on a reused connection.
func TestPost(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			s, c := serveTLS(t, h2, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, r.Proto[:6]+" "+r.Method+" "+r.Header.Get("Content-Type")+" "+string(b)+" "+r.Header.Get("Signature"))
			})
			c.Signer = signsAll{}
			r := newRig(t, c)
			for range 2 {
				page, err := r.f.Post(t.Context(), r.permit(named(s, "/login"), politeness.Login), url.Values{"a b": {"ü&="}, "c": {""}})
				if err != nil {
					t.Fatal(err)
				}
				r.gate.Report(page.Permit, page.Reply())
				if want := "HTTP/" + name[5:6] + " POST application/x-www-form-urlencoded a+b=%C3%BC%26%3D&c= "; string(page.Body) != want {
					t.Errorf("%q, want %q", page.Body, want)
				}
			}
		})
	}
}

// signsAll is a Signer that signs every request.
type signsAll struct{}

func (signsAll) Sign(_ weburl.URL, h http.Header) (string, func(int, http.Header) bool) {
	h.Set("Signature", "signed")
	return "key", nil
}

// TestPostIsSentOnce checks that a form is not submitted again if the connection breaks after it was sent. If an idle
// connection was already closed, the form is sent in full on a new one.
func TestPostIsSentOnce(t *testing.T) {
	var posts atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		if posts.Add(1); r.FormValue("a") == "drop" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, r.FormValue("a"))
	})
	r := newRig(t, Config{})
	r.page(s.URL)
	for _, conns := range r.f.pool.idle {
		for _, c := range conns {
			c.wire.dead = true // as if just closed by the server
		}
	}
	page, err := r.f.Post(t.Context(), r.permit(s.URL, politeness.Login), url.Values{"a": {"whole"}})
	if err != nil || string(page.Body) != "whole" {
		t.Fatalf("%v, %v", page, err)
	}
	r.gate.Report(page.Permit, page.Reply())
	p := r.permit(s.URL, politeness.Login)
	if _, err := r.f.Post(t.Context(), p, url.Values{"a": {"drop"}}); ReasonOf(err) != reasonNoAnswer {
		t.Errorf("%v", err)
	}
	if n := posts.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	long := url.Values{"a": {strings.Repeat("x", maxForm)}}
	if _, err := r.f.Post(t.Context(), p, long); ReasonOf(err) != ReasonHeader {
		t.Errorf("%v", err)
	}
}

// TestRecordsHideLogins checks that an archive contains neither the form nor any cookie values.
func TestRecordsHideLogins(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Set-Cookie"] = []string{"session=s3cret; Path=/; HttpOnly", `q="s3cret"`, "s3cret"}
		w.Header().Set("X-Other", "open")
	})
	r := newRig(t, Config{Cookies: true, Record: true})
	first, err := r.f.Post(t.Context(), r.permit(s.URL, politeness.Login), url.Values{"password": {"s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	r.gate.Report(first.Permit, first.Reply())
	for _, p := range []*Page{first, r.page(s.URL)} {
		text := string(p.Raw.Request) + string(p.Raw.Head)
		if strings.Contains(strings.ReplaceAll(text, "Set-Cookie: s3cret", ""), "s3cret") || !strings.Contains(text, "session=******; Path=/; HttpOnly") || !strings.Contains(text, "X-Other: open") {
			t.Errorf("%s", text)
		}
	}
	if r.f.jar.header(s.URL, "/", first.Ended) != `session=s3cret; q="s3cret"` {
		t.Error("the cookies themselves are masked")
	}
	head := []byte("HTTP/1.1 200 OK\nset-cookie:a=s3cret;\n  b=s3cret\r\nX: s3cret\n\n")
	if maskCookies(head); string(head) != "HTTP/1.1 200 OK\nset-cookie:a=******;\n**********\r\nX: s3cret\n\n" {
		t.Errorf("%q", head)
	}
}
