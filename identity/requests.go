package identity

import (
	"net/http"
	"sync"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// maxPending limits the URLs that wait to be requested once more. If there are more, the URLs are forgotten, so a second challenge for one
// of them may be answered.
const maxPending = 10000

// Requests signs the requests of a crawler as a [Policy] decides. It implements the Signer of package fetcher. It is safe for concurrent
// use.
type Requests struct {
	policy *Policy
	note   func(text string)

	mu      sync.Mutex
	pending map[string]bool // URLs to be requested once more because of a challenge
}

// NewRequests returns Requests. note is called with sentences for the log: that a site has rejected a signature, that a challenge cannot be
// answered, or that a signature could not be made. It may be nil.
func NewRequests(p *Policy, note func(text string)) *Requests {
	if note == nil {
		note = func(string) {}
	}
	return &Requests{policy: p, note: note, pending: map[string]bool{}}
}

// Sign adds a signature to the header of a GET request that is about to be sent, if the policy requires it. keyID is the ID of the key, ""
// if the request is not signed. answered must be called with the response, if there is one. It reports whether the URL must be requested
// once more, because the response requests a signature.
func (r *Requests) Sign(u weburl.URL, h http.Header) (keyID string, answered func(status int, h http.Header) bool) {
	m := Message{Method: http.MethodGet, Scheme: u.Scheme(), Authority: u.Authority(), Target: u.PathQuery(), Header: h}
	signed, err := r.policy.Sign(m, time.Now())
	if err != nil {
		r.note(err.Error())
	}
	signed.Set(h)
	again := r.take(u.String())
	m.Header = nil // the header changes after this request, so m must not keep it
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

// take reports whether the request for the URL answers a challenge, and forgets that.
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
