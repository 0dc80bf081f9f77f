package identity

import (
	"net/http"
	"sync"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// maxPending bounds the URLs that are to be requested once more. If there are more, they are forgotten, and an answer
// to one of them that is a challenge again is answered once more.
const maxPending = 10000

// Requests signs the requests of a crawler by a [Policy]: it is the Signer of package fetcher. It is safe for concurrent
// use.
type Requests struct {
	policy *Policy
	note   func(text string)

	mu      sync.Mutex
	pending map[string]bool // URLs that are to be requested once more, because of a challenge
}

// NewRequests makes Requests. note is called with each sentence for the log that a Policy has: a site that turned a
// signature down, a challenge that cannot be answered, a signature that could not be made. It may be nil.
func NewRequests(p *Policy, note func(text string)) *Requests {
	if note == nil {
		note = func(string) {}
	}
	return &Requests{policy: p, note: note, pending: map[string]bool{}}
}

// Sign adds the fields of a signature to the header of a GET request that is about to leave, where the policy says so,
// and returns the ID of the key; it is "" if the request is not signed. The function that it returns is called with the
// answer, if there is one. It reports whether the answer requests a signature, so that the URL is to be requested once
// more.
func (r *Requests) Sign(u weburl.URL, h http.Header) (keyID string, answered func(status int, h http.Header) bool) {
	m := Message{Method: http.MethodGet, Scheme: u.Scheme(), Authority: u.Authority(), Target: u.PathQuery(), Header: h}
	signed, err := r.policy.Sign(m, time.Now())
	if err != nil {
		r.note(err.Error())
	}
	signed.Set(h)
	again := r.take(u.String())
	m.Header = nil // the request's, by then
	return signed.KeyID, func(status int, h http.Header) bool {
		v := r.policy.Answer(Answer{Request: m, Signed: signed, Again: again, Status: status, Header: h, Time: time.Now()})
		if v.Note != "" {
			r.note(v.Note)
		}
		if v.Again {
			r.remember(u.String())
		}
		return v.Again
	}
}

// take reports whether the URL is requested to answer a challenge.
func (r *Requests) take(url string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.pending[url]
	delete(r.pending, url)
	return again
}

func (r *Requests) remember(url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) >= maxPending {
		clear(r.pending)
	}
	r.pending[url] = true
}
