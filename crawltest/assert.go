package crawltest

import (
	"slices"
	"time"
)

// Visited returns the URLs that were requested from a host, in order of arrival, including repetitions and /robots.txt. host is a name,
// host:port, or "" for every host.
func (w *Web) Visited(host string) []string {
	var urls []string
	for _, r := range w.requestsTo(host) {
		urls = append(urls, r.URL)
	}
	return urls
}

func (w *Web) requestsTo(host string) []Request {
	return slices.DeleteFunc(w.Requests(), func(r Request) bool {
		return host != "" && r.Host != host && hostname(r.Host) != host
	})
}

// Count returns the number of requests for a URL.
func (w *Web) Count(url string) int {
	n := 0
	for _, r := range w.Requests() {
		if r.URL == url {
			n++
		}
	}
	return n
}

// MustRequest fails the test for each of the URLs that were not requested.
func (w *Web) MustRequest(urls ...string) {
	w.tb.Helper()
	for _, u := range urls {
		if w.Count(u) == 0 {
			w.errorf("%s was not requested", u)
		}
	}
}

// MustNotRequest fails the test for each request of one of the URLs.
func (w *Web) MustNotRequest(urls ...string) {
	w.tb.Helper()
	for _, r := range w.Requests() {
		if slices.Contains(urls, r.URL) {
			w.errorf("%s was requested: request %d, %v after the start", r.URL, r.ID, r.Start.Sub(w.start))
		}
	}
}

// MustOrder fails the test unless all URLs were requested, and each for the first time after the one before it in the list. Other
// requests may come in between.
func (w *Web) MustOrder(urls ...string) {
	w.tb.Helper()
	seen := w.Visited("")
	last := -1
	for i, u := range urls {
		at := slices.Index(seen, u)
		switch {
		case at < 0:
			w.errorf("%s was not requested", u)
		case at < last:
			w.errorf("%s was requested before %s", u, urls[i-1])
		}
		last = max(last, at)
	}
}

// Gaps returns the gaps between requests to a host: the times from the latest end of all earlier requests to the start of each request.
// If requests overlap, the gap is negative. host has the form of that of [Web.Visited].
func (w *Web) Gaps(host string) []time.Duration {
	var gaps []time.Duration
	var end time.Time
	for i, r := range w.requestsTo(host) {
		if i > 0 {
			gaps = append(gaps, r.Start.Sub(end))
		}
		if e := endOf(&r); e.After(end) {
			end = e
		}
	}
	return gaps
}

// MustSpace fails the test for each gap between requests to a host that is shorter than gap.
func (w *Web) MustSpace(host string, gap time.Duration) {
	w.tb.Helper()
	for i, g := range w.Gaps(host) {
		if g < gap {
			w.errorf("request %d to %s came %v after the one before, want %v", i+2, host, g, gap)
		}
	}
}

// InFlight returns the greatest number of simultaneous requests to a host.
func (w *Web) InFlight(host string) int {
	most := 0
	rs := w.requestsTo(host)
	for i, r := range rs {
		n := 1
		for _, before := range rs[:i] {
			if before.ended == 0 || before.ended > r.began {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
