package identity

import (
	"net/http"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

// requests returns a Requests that signs with a new key, and the notes that it writes.
func requests(t *testing.T, mode Mode) (*Requests, *[]string) {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSigner("https://lab.example/.well-known/http-message-signatures-directory", k)
	if err != nil {
		t.Fatal(err)
	}
	notes := new([]string)
	return NewRequests(NewPolicy(mode, s), func(text string) { *notes = append(*notes, text) }), notes
}

func parse(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var challenge = http.Header{"Accept-Signature": {`sig1=("@method" "@authority" "@path");created;expires;tag="web-bot-auth"`}}

// TestRequestsAnswerAChallengeOnce requests a URL that is challenged twice.
func TestRequestsAnswerAChallengeOnce(t *testing.T) {
	r, notes := requests(t, Challenged)
	u := parse(t, "https://site.example/a?b")
	h := http.Header{}
	id, answered := r.Sign(u, h)
	if id != "" || len(h) != 0 {
		t.Fatalf("signed by %q before anybody asked: %v", id, h)
	}
	if !answered(http.StatusForbidden, challenge) {
		t.Fatal("the challenge is not answered")
	}
	id, answered = r.Sign(u, h)
	if id == "" || h.Get("Signature") == "" || !strings.Contains(h.Get("Signature-Input"), id) {
		t.Fatalf("not signed after the challenge: %q, %v", id, h)
	}
	if answered(http.StatusForbidden, challenge) {
		t.Error("a second challenge is answered")
	}
	if len(*notes) != 1 || !strings.Contains((*notes)[0], "site.example did not accept the signature") {
		t.Errorf("notes: %q", *notes)
	}
	if id, _ := r.Sign(parse(t, "https://site.example/other"), h); id == "" {
		t.Error("another URL of the origin is not signed")
	}
	if id, _ := r.Sign(parse(t, "http://site.example/"), h); id != "" || len(h) != 0 {
		t.Errorf("signed over http: %q, %v", id, h)
	}
}

// TestRequestsForget checks that an answered challenge takes no memory.
func TestRequestsForget(t *testing.T) {
	r, _ := requests(t, Challenged)
	for range 3 {
		u := parse(t, "https://site.example/a")
		_, answered := r.Sign(u, http.Header{})
		answered(http.StatusUnauthorized, challenge)
		_, answered = r.Sign(u, http.Header{})
		answered(http.StatusOK, http.Header{})
	}
	if len(r.pending) != 0 {
		t.Errorf("%v", r.pending)
	}
	for range maxPending + 10 {
		r.remember(strings.Repeat("x", len(r.pending)))
	}
	if len(r.pending) > maxPending {
		t.Errorf("%d URLs are remembered", len(r.pending))
	}
}
