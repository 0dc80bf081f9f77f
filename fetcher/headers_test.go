package fetcher

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// fieldsOf returns a Config.Request that returns the same fields for every URL.
func fieldsOf(h http.Header) func(context.Context, weburl.URL) (http.Header, error) {
	return func(context.Context, weburl.URL) (http.Header, error) { return h, nil }
}

// TestRequestIsCalledForEveryRequest checks that Config.Request is called for each URL, including robots.txt, and that
// its fields override Headers.
func TestRequestIsCalledForEveryRequest(t *testing.T) {
	got := make(chan http.Header, 9)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() })
	var asked []string
	c := Config{
		Headers: Headers{s.URL: {"X-Api-Key": {"table"}, "X-Both": {"table"}}},
		Request: func(_ context.Context, u weburl.URL) (http.Header, error) {
			asked = append(asked, u.PathQuery())
			if u.Path() == "/plain" {
				return nil, nil
			}
			return http.Header{"x-both": {"function"}, "Accept": {"a/b", "c/d"}}, nil
		},
	}
	r := newRig(t, c)
	if _, err := r.f.Fetch(t.Context(), r.permitForRobots(s.URL+"/moved")); err != nil {
		t.Fatal(err)
	}
	r = newRig(t, c)
	for _, path := range []string{"/plain", "/a?b"} {
		if _, err := r.fetch(s.URL + path); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"/moved", "/plain", "/a?b"}; !slices.Equal(asked, want) {
		t.Errorf("called for %q, want %q", asked, want)
	}
	hop, plain, page := <-got, <-got, <-got
	if plain.Get("X-Both") != "table" || plain.Get("X-Api-Key") != "table" {
		t.Errorf("%v", plain)
	}
	if hop.Get("X-Both") != "function" || page.Get("X-Both") != "function" || page.Get("X-Api-Key") != "table" || !slices.Equal(page["Accept"], []string{"a/b", "c/d"}) {
		t.Errorf("%v", page)
	}
}

// TestReservedFields checks that fields that identify or frame a request cannot be set in any of the three ways, and
// that the error contains the field's name but not its value.
func TestReservedFields(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for name, value := range map[string]string{
		"host": "s3cret", "User-Agent": "s3cret", "from": "s3cret", "Connection": "s3cret", "Accept-Encoding": "s3cret",
		"Range": "s3cret", "If-None-Match": "s3cret", "If-Modified-Since": "s3cret", "If-Match": "s3cret", "Signature": "s3cret",
		"Signature-Input": "s3cret", "Signature-Agent": "s3cret", "Te": "s3cret", "Transfer-Encoding": "s3cret",
		"Upgrade": "s3cret", "Keep-Alive": "s3cret", "Trailer": "s3cret", "Proxy-Authorization": "s3cret", "Expect": "s3cret",
		"Content-Length": "s3cret", "Referer": "s3cret", "Forwarded": "s3cret", "X-Forwarded-For": "s3cret", "Via": "s3cret",
		"X-Injected": "s3cret\r\nX-Other: y", "X-Control": "s3cret\x00", "Bad Name": "s3cret",
	} {
		h := http.Header{name: {value}}
		r := newRig(t, Config{Request: fieldsOf(h)})
		_, atRequest := r.fetch(s.URL)
		if ReasonOf(atRequest) != ReasonHeader {
			t.Errorf("Request, %s: %v", name, atRequest)
		}
		for way, err := range map[string]error{
			"Request": atRequest, "Header": Config{Header: h}.Validate(), "Headers": Config{Headers: Headers{s.URL: h}}.Validate(),
		} {
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(name)) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s, %s: %v", way, name, err)
			}
		}
	}
	cookie := http.Header{"Cookie": {"a=s3cret"}}
	if err := (Config{Headers: Headers{s.URL: cookie}}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (Config{Headers: Headers{s.URL: cookie}, Cookies: true}).Validate(); err == nil {
		t.Error("Cookie is accepted along with Cookies")
	}
	twice := http.Header{"X-A": {"1"}, "x-a": {"2"}}
	if err := (Config{Header: twice}).Validate(); err == nil {
		t.Error("two spellings of one field are accepted")
	}
}

// laterError is an error that allows a retry.
type laterError struct{ error }

func (laterError) Temporary() bool { return true }

// TestRequestFails checks that nothing is sent if Config.Request fails, for a page or its robots.txt, and that its error
// is returned.
func TestRequestFails(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	expired := errors.New("the token has expired")
	r := newRig(t, Config{Request: func(context.Context, weburl.URL) (http.Header, error) { return nil, expired }})
	_, err := r.fetch(s.URL)
	var e *Error
	if !errors.As(err, &e) || e.Reason != ReasonHeader || !errors.Is(err, expired) || e.Temporary() || !ReplyForError(err).Aborted {
		t.Errorf("%v", err)
	}
	if e := (&Error{Reason: ReasonHeader, Err: laterError{expired}}); !e.Temporary() {
		t.Error("a temporary error is final")
	}
	c := &Client{Gate: newGate(t, politeness.Config{}), Fetcher: r.f}
	if _, err := c.Get(t.Context(), parse(t, s.URL), politeness.Page); !errors.Is(err, expired) {
		t.Errorf("for a robots.txt: %v", err)
	}
	if _, err := c.Robots(t.Context(), parse(t, s.URL)); !errors.Is(err, expired) {
		t.Errorf("for a robots.txt alone: %v", err)
	}
}

// TestFieldsOfOneRequestAreMasked checks that an exchange record hides the values of fields from Headers and Request.
func TestFieldsOfOneRequestAreMasked(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, Config{
		Record: true, Header: http.Header{"X-Open": {"open"}},
		Headers: Headers{s.URL: {"x-api-key": {"s3cret"}}}, Request: fieldsOf(http.Header{"X-Token": {"s3cret", "2s3cret"}}),
	})
	sent := string(r.page(s.URL).Raw.Request)
	if strings.Contains(sent, "s3cret") || !strings.Contains(sent, "X-Api-Key: ******") || !strings.Contains(sent, "X-Open: open") {
		t.Errorf("%s", sent)
	}
}
