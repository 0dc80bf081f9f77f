package politeness

import (
	"strconv"

	"github.com/amble-crawler/amble/robots"
)

// Codes of what [OriginInfo.Lints] says of a redirected robots.txt, beside those of package robots.
const (
	LintRedirectNowhere robots.LintCode = "redirect_nowhere" // a redirect without a usable Location
	LintRedirectLimit   robots.LintCode = "redirect_limit"   // more redirects than RFC 9309 asks to follow
)

// Lints are remarks on how the site answers for its robots.txt as a whole: statuses that mean another
// thing than they seem to, redirects that lead nowhere, a body that is no robots.txt. Remarks on single
// lines are in [robots.Rules.Lints]. Nil when nothing is known or nothing odd.
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
