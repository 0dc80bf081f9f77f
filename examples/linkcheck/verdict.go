package main

import (
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// verdict is what is known about a URL.
type verdict int

const (
	unchecked verdict = iota // not requested
	good
	moved  // a redirect: the verdict of its target counts
	broken // leads nowhere
	unsure // the URL or its host was requested, which proved nothing
)

// finding is a verdict with its grounds.
type finding struct {
	verdict verdict
	status  int
	reason  string // a stable code: of the crawler, or http_STATUS
	detail  string
	to      weburl.URL // of a redirect
}

// judge returns what a visit proves about its URL.
func judge(v *crawler.Visit) finding {
	f := finding{status: v.Status(), reason: v.Reason, detail: v.Detail}
	if v.Err != nil {
		f.detail = v.Err.Error()
	}
	switch v.Outcome {
	case crawler.Fetched:
		f.verdict, f.reason = ofStatus(v.Status())
	case crawler.Redirected:
		f.verdict, f.to = moved, v.Location
	case crawler.OutOfScope:
		f.reason = reasonExternal
	case crawler.Deferred:
		f.verdict = unsure
	case crawler.Failed:
		f.verdict = broken
		if ours(v.Reason) {
			f.verdict = unsure
		}
	}
	return f
}

// ofStatus judges an answer that is not a redirect. A page that requires a login or payment, refuses robots, or is
// overloaded may well exist for a reader.
func ofStatus(status int) (verdict, string) {
	if status < 400 {
		return good, ""
	}
	reason := fmt.Sprintf("http_%d", status)
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusTooManyRequests, http.StatusUnavailableForLegalReasons, http.StatusServiceUnavailable:
		return unsure, reason
	}
	return broken, reason
}

// ours reports whether a failure is one of this machine or program, not of the link.
func ours(reason string) bool {
	switch reason {
	case fetcher.ReasonNoResources, fetcher.ReasonCanceled, fetcher.ReasonPermit, fetcher.ReasonProxy,
		crawler.ReasonHandler, crawler.ReasonPanic:
		return true
	}
	return false
}
