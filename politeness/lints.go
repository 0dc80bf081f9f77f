package politeness

import (
	"strconv"

	"github.com/amble-crawler/amble/robots"
)

// Codes of the remarks of [OriginInfo.Lints] on a redirected robots.txt, besides those of package robots.
const (
	LintRedirectNowhere robots.LintCode = "redirect_nowhere" // a redirect without a usable Location
	LintRedirectLimit   robots.LintCode = "redirect_limit"   // more redirects than RFC 9309 requires to be followed
)

// Lints are remarks on the answer for a robots.txt as a whole: statuses that do not mean what they seem to, redirects that
// lead nowhere, a body that is not a robots.txt. Remarks on individual lines are in [robots.Rules.Lints]. Nil when nothing is
// known or nothing is odd.
func (i OriginInfo) Lints() (out []robots.Lint) {
	if !i.Known || i.Override != "" {
		return nil
	}
	switch status := i.Source.Status; {
	case status >= 300 && status < 400 && len(i.Source.Redirects) >= robots.MaxRedirects:
		out = append(out, robots.Lint{
			Code: LintRedirectLimit, Severity: robots.Warning,
			Text: "robots.txt redirects more than " + strconv.Itoa(robots.MaxRedirects) + " times: it is taken to have no rules",
		})
	case status >= 300 && status < 400:
		out = append(out, robots.Lint{
			Code: LintRedirectNowhere, Severity: robots.Warning,
			Text: "robots.txt redirects with status " + strconv.Itoa(status) + " to nowhere: it is taken to have no rules",
		})
	default:
		if l, ok := i.Statuses.Lint(status); ok {
			return append(out, l)
		}
	}
	if i.Rules == nil {
		return out
	}
	for _, l := range i.Rules.Lints() {
		if l.Line == 0 {
			out = append(out, l)
		}
	}
	return out
}
