package crawltest

import "slices"

// Visited is the URLs asked of a host, in order, repeats and /robots.txt included. host is a name
// or host:port; "" is every host.
func (w *Web) Visited(host string) []string {
	var urls []string
	for _, r := range w.Requests() {
		if host == "" || r.Host == host || hostname(r.Host) == host {
			urls = append(urls, r.URL)
		}
	}
	return urls
}

// MustRequest fails the test unless the URL was asked for.
func (w *Web) MustRequest(urls ...string) {
	if w.tb != nil {
		w.tb.Helper()
	}
	seen := w.Visited("")
	for _, u := range urls {
		if !slices.Contains(seen, u) {
			w.errorf("%s was not requested", u)
		}
	}
}

// MustNotRequest fails the test if the URL was asked for.
func (w *Web) MustNotRequest(urls ...string) {
	if w.tb != nil {
		w.tb.Helper()
	}
	for _, r := range w.Requests() {
		if slices.Contains(urls, r.URL) {
			w.errorf("%s was requested (request %d, %v after the start)", r.URL, r.ID, r.Start.Sub(w.start))
		}
	}
}
