package crawltest

import (
	"net/http"
	"slices"
	"strings"
)

// maxRequestLine is the maximum length of a request line that all servers can be expected to accept (RFC 9112 section 3 recommends at
// least 8000 bytes).
const maxRequestLine = 8 << 10

// identity checks r against P11.
func (a *auditor) identity(r *Request) {
	if r.Method == "" {
		return // the request could not be parsed, so rule line reports it
	}
	v := Violation{Rule: "P11", Host: r.Host, Second: *r}
	switch ua := r.UserAgent; {
	case ua == "":
		v.Detail = "no User-Agent"
	case a.e.Agent != "" && !names(ua, a.e.Agent):
		v.Detail = "User-Agent " + ua + " does not name " + a.e.Agent
	case !strings.Contains(ua, a.e.Contact):
		v.Detail = "User-Agent " + ua + " does not name the contact " + a.e.Contact
	case a.agent != nil && a.agent.UserAgent != ua:
		v.Detail, v.First = "User-Agent "+ua+" differs from "+a.agent.UserAgent, *a.agent
	}
	if v.Detail != "" {
		a.report(v)
	}
	if a.agent == nil && r.UserAgent != "" {
		a.agent = r
	}
	a.credentials(r)
}

// names reports whether a User-Agent contains a product of this name, in a comment or outside (RFC 9110 section 10.1.5). A name inside a
// URL does not count.
func names(ua, product string) bool {
	words := strings.FieldsFunc(ua, func(c rune) bool { return strings.ContainsRune(" \t;,()", c) })
	return slices.ContainsFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(word, "/")
		return strings.EqualFold(name, product)
	})
}

// credentials reports cookies and passwords that r must not send.
func (a *auditor) credentials(r *Request) {
	host := hostname(r.Host)
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.TrimSpace(pair); pair != "" && !slices.Contains(a.cookies[host], pair) {
				a.report(Violation{Rule: "P11", Host: r.Host, Detail: "cookie " + pair + " was not set by this host", Second: *r})
			}
		}
	}
	for _, line := range r.Answer["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		a.cookies[host] = append(a.cookies[host], strings.TrimSpace(pair))
	}
	for _, key := range []string{"Authorization", "Proxy-Authorization"} {
		if r.Header.Get(key) != "" && !slices.Contains(a.e.AuthHosts, r.Host) {
			a.report(Violation{Rule: "P11", Host: r.Host, Detail: key + " sent to a host it is not meant for", Second: *r})
		}
	}
}

// wire checks r against the rules method, line and repeat.
func (a *auditor) wire(r *Request) {
	host := r.Host
	if host == "" {
		host = r.Addr.String()
	}
	isLogin := r.Method == http.MethodPost && slices.Contains(a.e.Logins, r.URL)
	switch before := a.logins[r.URL]; {
	case isLogin && a.posts[r.URL] >= max(1, a.e.LoginsEach):
		a.report(Violation{Rule: "method", Host: host, Detail: "a POST too many", First: *before, Second: *r})
	case isLogin:
		a.posts[r.URL]++
		a.logins[r.URL] = r
	case r.Method != "" && r.Method != http.MethodGet:
		a.report(Violation{Rule: "method", Host: host, Detail: r.Method + " instead of GET", Second: *r})
	}
	if what := lineFault(r.Line); what != "" {
		a.report(Violation{Rule: "line", Host: host, Detail: what, Second: *r})
	}
	if a.e.AllowRepeats || isLogin || r.URL == "" || a.isRobots(r) {
		return
	}
	if before := a.done[r.URL]; before != nil && before.ended < r.began {
		a.report(Violation{Rule: "repeat", Host: host, Detail: "answered completely before", First: *before, Second: *r})
	}
	if r.Complete && isFinal(r.Status) {
		a.done[r.URL] = r
	}
}

// isFinal reports whether a status means that the URL must not be requested again.
func isFinal(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 200 && status < 500
}

// lineFault returns a description of the fault of a request line, or "".
func lineFault(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	switch {
	case len(line) > maxRequestLine:
		return "request line longer than 8 KiB"
	case !strings.HasPrefix(target, "/"):
		return "request target not in origin form"
	case strings.Contains(target, "#"):
		return "request target with a fragment"
	case strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c > '~' }), strings.Contains(version, " "):
		return "request target not of visible ASCII"
	}
	return ""
}
