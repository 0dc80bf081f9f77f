package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Account writes an account of a crawl's requests to a host, as text for the host's owner. q configures how robots.txt is read; contact is
// the contact of the crawl.
func Account(w io.Writer, r *job.Reader, account *job.Account, q Question, contact string) error {
	var b strings.Builder
	agent, rule := "", ""
	for i := range account.Requests {
		agent = max(agent, account.Requests[i].Start.Agent)
	}
	fmt.Fprintf(&b, "What a crawler did at %s\n\nIt says of itself: %s\n", cli.Printable(account.Host), cli.Printable(agent))
	fmt.Fprintf(&b, "Times are UTC. A pause is from the end of one request to the start of the next.\n"+
		"Below a request is the rule of robots.txt that allowed it, if it is another than for the request before.\n\n%s\nRequests: %d\n", report.ForOwner(&account.Summary), len(account.Requests))
	var files []*job.AccountRequest
	shown := map[string]bool{}
	for i := range account.Requests {
		x := &account.Requests[i]
		fmt.Fprintf(&b, "  %s\n", cli.Printable(accountText(x)))
		if text := q.decided(x); text != "" && text != rule {
			rule = text
			fmt.Fprintf(&b, "      %s\n", cli.Printable(text))
		}
		if sum := x.End.SHA256; sum != "" && !shown[x.Start.URL+sum] {
			shown[x.Start.URL+sum] = true
			files = append(files, x)
		}
	}
	for _, x := range files {
		robotsText(&b, r, x)
	}
	if err := ownerUses(&b, r, account.Host); err != nil {
		return err
	}
	if contact != "" {
		contact = "\n  A person answers at: " + cli.Printable(contact)
	}
	fmt.Fprintf(&b, `
How to refuse, slow or reach us
  To refuse all of it, put into robots.txt:        User-agent: %[1]s
                                                   Disallow: /
  To slow it to one request in ten seconds:        User-agent: %[1]s
                                                   Crawl-delay: 10
  Retry-After, with any status such as 429 or 503, is obeyed at once; robots.txt is read again within a day.%[2]s

How to check this
  "amble explain DIR --host %[3]s --for-owner --json" gives, after a line with the above, a line for each line of
  the crawl's ledger: yours in full, of all others the SHA-256. Each of yours ends with "chain", the
  SHA-256 over the chain before it and its own SHA-256. If a line was changed, removed or added, none after it fits.
  The lines with the event "head" carry a signature over the chain, to be checked with the crawler's public keys.
`, q.Agent, contact, cli.Printable(account.Host))
	_, err := io.WriteString(w, b.String())
	return err
}

// accountText describes a request in one line.
func accountText(q *job.AccountRequest) string {
	e := &q.Start
	text := fmt.Sprintf("%s  %s", begun(&q.Request).UTC().Format("2006-01-02 15:04:05.000"), e.URL)
	if e.Purpose != politeness.Page.String() {
		text += " (" + e.Purpose + ")"
	}
	text += ": " + endText(&q.Request, "our")
	if q.Pause != 0 {
		text += fmt.Sprintf("; pause %s", time.Duration(q.Pause).Round(time.Millisecond))
		if q.Owed > 0 {
			text += fmt.Sprintf(", owed %s", time.Duration(q.Owed).Round(time.Millisecond))
		}
	}
	if e.Override != "" {
		text += "; by other rules than robots.txt: " + e.Override
	}
	return text
}

// decided returns the line of robots.txt that allowed the request, in words.
func (q Question) decided(x *job.AccountRequest) string {
	u, err := weburl.Parse(x.Start.URL)
	if err != nil || x.Robots == nil {
		return ""
	}
	return q.ByAnswer(u, *x.Robots).Explain
}

// robotsText appends a robots.txt, as it was received.
func robotsText(b *strings.Builder, r *job.Reader, q *job.AccountRequest) {
	wall := ""
	if q.End.Wall != "" {
		wall = ", a challenge of " + q.End.Wall
	}
	fmt.Fprintf(b, "\n%s, read at %s, status %d%s, SHA-256 %s\n", cli.Printable(q.Start.URL), q.End.Ended.UTC().Format("2006-01-02 15:04:05"), q.End.Status, cli.Printable(wall), cli.Printable(q.End.SHA256))
	if q.End.Status < 200 || q.End.Status > 299 {
		return
	}
	body, err := r.RobotsBody(q.End.SHA256)
	if err != nil {
		fmt.Fprintf(b, "  (it was not kept: %s)\n", cli.Printable(err.Error()))
		return
	}
	n := 0
	for line := range strings.Lines(string(body)) {
		n++
		fmt.Fprintf(b, "  %3d  %s\n", n, cli.Printable(strings.TrimRight(line, "\r\n")))
	}
}
