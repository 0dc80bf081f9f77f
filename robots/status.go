package robots

// Policy is the consequence of a response to /robots.txt (RFC 9309 section 2.3.1).
type Policy uint8

// The consequences of a response.
const (
	Obey        Policy = iota // parse the body and obey its rules
	AllowAll                  // there is no robots.txt: everything may be fetched
	Redirect                  // follow the Location header, at most five times
	Unreachable               // nothing may be fetched for now
	DenyAll                   // nothing may be fetched; used only with [StatusPolicy.ForbiddenDenies]
)

var policyNames = [...]string{"obey", "allow_all", "redirect", "unreachable", "deny_all"}

// String returns the stable name of p.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "unknown"
}

// MaxRedirects limits the redirects from /robots.txt that are followed (RFC 9309 section 2.3.1.2). If there are more, the result is that
// of status 404.
const MaxRedirects = 5

// StatusPolicy controls how statuses are interpreted. The zero value follows the RFC.
type StatusPolicy struct {
	// ForbiddenDenies makes 401 and 403 forbid the whole site, as in the 1997 draft. By RFC 9309 section 2.3.1.3 these statuses mean that
	// there are no rules.
	ForbiddenDenies bool
}

// ForStatus returns the Policy for the status of a response to /robots.txt by RFC 9309; see [StatusPolicy.ForStatus].
func ForStatus(status int) Policy { return StatusPolicy{}.ForStatus(status) }

// ForStatus returns the Policy for the status of an answer to /robots.txt:
//
//   - 202: Unreachable, although the RFC counts it with the other 2xx: it says that the request has not been acted upon (RFC 9110
//     section 15.3.3), and bot walls send it with a challenge for a body.
//   - other 2xx: Obey.
//   - 3xx: Redirect. A 304 answers a conditional request: the caller keeps the rules it has and
//     does not call this function.
//   - 401, 403: AllowAll, or DenyAll by choice.
//   - 429: Unreachable, although the RFC counts it with the other 4xx: a host that gets too many
//     requests must not get more because of it.
//   - other 4xx: AllowAll.
//   - 5xx and every other status, including 0 for no response: Unreachable.
func (p StatusPolicy) ForStatus(status int) Policy {
	switch {
	case status == 202:
		return Unreachable
	case status >= 200 && status < 300:
		return Obey
	case status >= 300 && status < 400:
		return Redirect
	case status == 429:
		return Unreachable
	case (status == 401 || status == 403) && p.ForbiddenDenies:
		return DenyAll
	case status >= 400 && status < 500:
		return AllowAll
	}
	return Unreachable
}

// Lint returns a lint for a status that may not mean what the site intends. ok is false if there is none.
func (p StatusPolicy) Lint(status int) (l Lint, ok bool) {
	switch status {
	case 401, 403:
		text := "the file may not be read, which by RFC 9309 means that there are no rules; the site may mean the opposite"
		if p.ForbiddenDenies {
			text = "the file may not be read, which is interpreted as closing the site"
		}
		return Lint{Code: lintForbidden, Severity: Warning, Text: text}, true
	case 429:
		return Lint{Code: lintTooManyRequests, Severity: Info, Text: "the host gets too many requests: nothing is fetched for now"}, true
	}
	return Lint{}, false
}

// Verdict returns the policy's verdict on every URL of the origin except /robots.txt. For Obey it is the zero Verdict, because the rules
// of the file decide. For Redirect it is the verdict after too many redirects.
func (p Policy) Verdict() Verdict {
	switch p {
	case AllowAll, Redirect:
		return Verdict{Allowed: true, Reason: NoFile}
	case Unreachable:
		return Verdict{Reason: NoAnswer}
	case DenyAll:
		return Verdict{Reason: Forbidden}
	}
	return Verdict{}
}
