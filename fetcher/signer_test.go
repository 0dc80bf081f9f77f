package fetcher

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// stamp is a Signer that adds a Signature field to requests once a site has requested signatures.
type stamp struct {
	wanted  bool
	answers []int
}

func (s *stamp) Sign(u weburl.URL, h http.Header) (string, func(int, http.Header) bool) {
	answered := func(status int, h http.Header) bool {
		s.answers = append(s.answers, status)
		again := h.Get("Accept-Signature") != "" && !s.wanted
		s.wanted = s.wanted || again
		return again
	}
	if !s.wanted {
		return "", answered
	}
	h.Set("Signature", u.String()+" "+h.Get("User-Agent")+" "+h.Get("Authorization"))
	return "key", answered
}

// TestSigner checks that a Signer sees requests as sent and responses as received.
func TestSigner(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Signature") == "" {
			w.Header().Set("Accept-Signature", "sig1=()")
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, r.Header.Get("Signature"))
	})
	signer := &stamp{}
	r := newRig(t, Config{Signer: signer, Headers: Headers{s.URL: {"Authorization": {"secret"}}}})
	first, err := r.fetch(s.URL + "/a?b")
	if err != nil {
		t.Fatal(err)
	}
	if !first.Challenged || first.KeyID != "" || len(first.Body) != 0 {
		t.Errorf("first: %+v", first)
	}
	second, err := r.fetch(s.URL + "/a?b")
	if err != nil {
		t.Fatal(err)
	}
	if want := s.URL + "/a?b ambletest/1"; second.Challenged || second.KeyID != "key" || !strings.HasPrefix(string(second.Body), want) || !strings.HasSuffix(string(second.Body), " secret") {
		t.Errorf("second: %+v\n%s", second, second.Body)
	}
	if len(signer.answers) != 2 {
		t.Errorf("answers: %v", signer.answers)
	}
}

// TestSignerWithoutAnswer checks that a Signer gets no response for a request that had none.
func TestSignerWithoutAnswer(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	signer := &stamp{}
	r := newRig(t, Config{Signer: signer, FetchTimeout: time.Minute})
	if _, err := r.fetchAs(s.URL+"/", politeness.Page); err == nil {
		t.Error("no error")
	}
	if len(signer.answers) != 0 {
		t.Errorf("answers: %v", signer.answers)
	}
}
