package job

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// Account holds the requests of a crawl to one host, for the host's owner.
type Account struct {
	Host     string           `json:"host"` // host as given by the caller
	Requests []AccountRequest `json:"requests"`
	Summary  digest.Row       `json:"summary"` // only requests; visits are not included
}

// AccountRequest is a request as recorded in the ledger, with the rules that applied to it.
type AccountRequest struct {
	Request
	Pause Pause `json:"pause_s,omitempty"` // time since the end of the previous request; 0 for the first request
	Owed  Pause `json:"owed_s,omitempty"`  // delay after the previous request that the clauses of Start required; 0 if none

	// Robots describes the robots.txt that judged the URL; nil if none was requested.
	Robots *politeness.OriginInfo `json:"-"`
}

// Pause is a time.Duration that JSON writes as a number of seconds.
type Pause = ledger.Duration

// Account returns the requests of the crawl to a host, given as host:port or as a name with any port: the requests to the host, and
// those for its robots.txt, wherever it redirects to.
func (r *Reader) Account(host string) (*Account, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	rules, err := readAuditConfig(r.dir)
	if err != nil {
		return nil, err
	}
	a := &accountant{
		digest: digest.New(digest.Config{Audit: rules, Body: r.RobotsBody}),
		teller: teller{r, &c.Crawl}, account: Account{Host: host, Requests: []AccountRequest{}},
		own: owned{host: host, open: map[string]bool{}}, at: map[string]int{}, rules: map[string]*rulesFile{}, known: map[*Request]*politeness.OriginInfo{}, ended: map[string]time.Time{},
	}
	err = r.files.eachLine(LedgerName, a.read)
	if err = errors.Join(err, a.err); err != nil {
		return nil, readError(err)
	}
	sum := a.digest.Totals()
	sum.Name = host
	a.account.Summary = sum.Row()
	return &a.account, nil
}

// accountant collects an Account.
type accountant struct {
	teller
	digest  *digest.Digest
	account Account
	own     owned
	at      map[string]int                      // index in account of requests that have not ended
	rules   map[string]*rulesFile               // rules by origin
	known   map[*Request]*politeness.OriginInfo // state of the rules after each response for robots.txt
	ended   map[string]time.Time                // end of the last request, by host
	err     error
}

func (a *accountant) read(n int, b []byte) bool {
	var e ledger.Entry
	if json.Unmarshal(b, &e) != nil || !a.own.is(&e) {
		return true
	}
	id := requestID(&e)
	if e.Event == ledger.Copied {
		a.add(&e, &e)
		if f := a.file(e.URL); f != nil {
			f.copied(&Request{Line: n, Start: e, End: e})
		}
		return true
	}
	if e.Event == ledger.End {
		if i, ok := a.at[id]; ok {
			delete(a.at, id)
			a.add(&a.account.Requests[i].Start, &e)
			a.end(&a.account.Requests[i], e)
		}
		return true
	}
	a.add(&e, &e)
	r := AccountRequest{Request: Request{Line: n, Start: e}}
	if before := a.ended[e.Host]; !before.IsZero() && !e.Written.IsZero() {
		r.Pause = Pause(e.Written.Sub(before))
		for _, c := range e.Clauses {
			r.Owed = max(r.Owed, Pause(c.Until.Sub(before)))
		}
	}
	if e.Purpose != politeness.Robots.String() {
		a.judge(&r)
	}
	a.account.Requests = append(a.account.Requests, r)
	if i := len(a.account.Requests) - 1; e.Event == ledger.Unsent {
		a.end(&a.account.Requests[i], e)
	} else {
		a.at[id] = i
	}
	return a.err == nil
}

// add adds a line to the summary, if its request was to the host itself: not where its robots.txt redirects to.
func (a *accountant) add(start, line *ledger.Entry) {
	if a.own.same(start.Host) {
		a.digest.Add(line)
	}
}

// end adds the end of a request.
func (a *accountant) end(r *AccountRequest, e ledger.Entry) {
	r.End = e
	if e.Event == ledger.End {
		a.ended[r.Start.Host] = e.Ended
	}
	if r.Start.Purpose != politeness.Robots.String() {
		return
	}
	if f := a.file(cmp.Or(r.Start.For, r.Start.URL)); f != nil {
		answer := r.Request // a copy, because the slice of requests may be reallocated
		f.add(&answer)
	}
}

// file returns the robots.txt of a URL's origin, or nil if url is not a valid URL.
func (a *accountant) file(url string) *rulesFile {
	u, err := weburl.Parse(url)
	if err != nil {
		return nil
	}
	f := a.rules[u.Origin()]
	if f == nil {
		f = &rulesFile{of: u}
		a.rules[u.Origin()] = f
	}
	return f
}

// judge adds the robots.txt that was in force when the request began.
func (a *accountant) judge(r *AccountRequest) {
	f := a.file(r.Start.URL)
	if f == nil || f.answer == nil && f.failed == nil {
		return
	}
	last := f.answer
	if f.failed != nil {
		last = f.failed
	}
	if a.known[last] == nil {
		a.known[last], a.err = a.robots(f, f.of)
	}
	r.Robots = a.known[last]
}

// owned selects the lines of a ledger that concern one host.
type owned struct {
	host string
	open map[string]bool // requests that have not ended
}

func requestID(e *ledger.Entry) string { return fmt.Sprint(e.Run, " ", e.ID) }

func (o *owned) is(e *ledger.Entry) bool {
	id := requestID(e)
	switch e.Event {
	case ledger.Start:
		if o.names(e) {
			o.open[id] = true
			return true
		}
	case ledger.Unsent, ledger.Copied:
		return o.names(e)
	case ledger.End:
		if o.open[id] {
			delete(o.open, id)
			return true
		}
	}
	return false
}

func (o *owned) names(e *ledger.Entry) bool {
	if o.same(e.Host) {
		return true
	}
	if e.Purpose == politeness.Resource.String() { // a resource counts for its own host, not for the host of its page
		return false
	}
	u, err := weburl.Parse(e.For)
	return err == nil && o.same(u.Host())
}

func (o *owned) same(hostport string) bool {
	name, _, _ := strings.Cut(o.host, ":")
	return hostport == o.host || name == o.host && strings.HasPrefix(hostport, name+":")
}

// Evidence writes, as JSON lines, what the owner of a host needs to check the lines about the host without this program. It reveals
// nothing about other hosts. The first line has the members "begin", the chain before the first chained line (see [ledger.Chain]) in
// base64url, and "lines", the number of lines before that. Each following line stands for a line of the ledger: the line itself if it
// is about the host or is a signed head, and otherwise an object with the member "digest", the line's digest in base64url.
func (r *Reader) Evidence(host string, w io.Writer) error {
	o := owned{host: host, open: map[string]bool{}}
	before, lines, begun := sha256.New(), 0, false
	var failed error
	err := r.files.eachLine(LedgerName, func(_ int, b []byte) bool {
		plain, _, chained := unchained(bytes.TrimSuffix(b, []byte("\n")))
		if !chained && !begun {
			_, _ = before.Write(b) // Write on a hash never fails
			lines++
			return true
		}
		if !begun {
			begun = true
			_, failed = fmt.Fprintf(w, "{\"begin\":%q,\"lines\":%d}\n", base64.RawURLEncoding.EncodeToString(before.Sum(nil)), lines)
		}
		var e ledger.Entry
		if json.Unmarshal(b, &e) == nil && (e.Event == ledger.Head || o.is(&e)) {
			_, err := w.Write(b)
			failed = errors.Join(failed, err)
			return failed == nil
		}
		digest := sha256.Sum256(plain)
		_, err := fmt.Fprintf(w, "{\"digest\":%q}\n", base64.RawURLEncoding.EncodeToString(digest[:]))
		failed = errors.Join(failed, err)
		return failed == nil
	})
	return errors.Join(readError(err), failed)
}
