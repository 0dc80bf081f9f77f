package crawler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// This file handles documents about the uses that a site allows: RSL documents, and the tdmrep.json of an origin. Each document is
// requested like a robots.txt: before the first page that it could forbid, and again when it has expired. If a page's response names an
// unknown document, the page waits in memory until the document has been read.

// Usage holds a site's statements about the uses of a page, and the verdict that follows from them.
type Usage struct {
	consent.Record
	Verdict consent.Verdict
	Files   []sink.TermsFile // files that contain the statements, and files that contain none
}

// document is an RSL document or a tdmrep.json.
type document struct {
	sink.TermsFile
	Site    string // the origin that named the document first
	Expires time.Time
	Body    []byte // body as received; set only in the stored form

	license *consent.License // at least one of license and tdm is set if the document has statements
	tdm     *consent.TDM
	known   bool // the document was read, or the attempts to read it have failed
	unused  bool // no page has used the document since the request; one page may do so even after Expires, because the host may be slow
	busy    bool // the document is being requested
	next    weburl.URL
	hops    int
	tries   int
	size    int
}

// terms holds the documents of a crawl. It is safe for concurrent use.
type terms struct {
	policy consent.Policy
	agent  string
	store  frontier.Durable // nil without a durable frontier

	mu    sync.Mutex
	files map[string]*document // keyed by URL
	of    map[string]int       // number of documents, keyed by their Site
	bytes int                  // total bytes of the documents' bodies
	sites map[string]siteTerms // keyed by origin
	held  map[weburl.URL]waitingPage
	holds int // total bytes of the held pages
}

// siteTerms holds the names of the documents that a robots.txt names.
type siteTerms struct {
	group *robots.Group
	names []string
}

// waitingPage is a page that waits until documents that it names are read.
type waitingPage struct {
	page  *fetcher.Page // nil if there was no memory for the page; it is then requested again
	names []string
}

const (
	keyTerms = "crawler/terms/" // followed by the URL of the document

	maxDocuments  = 64       // maximum per origin, because pages can name any number of documents
	maxTermsBytes = 64 << 20 // maximum bytes in memory; other documents are read again from the store or requested again
	maxSites      = 10_000   // entries of terms.sites
	failedTerms   = time.Hour
	busyTerms     = time.Second
)

func newTerms(c *Config) *terms {
	return &terms{
		policy: c.Politeness.Policy(), agent: c.Identity().Product,
		files: map[string]*document{}, of: map[string]int{}, sites: map[string]siteTerms{}, held: map[weburl.URL]waitingPage{},
	}
}

// named returns the URLs of the documents that must be read before u is requested or, if p is not nil, before the response of p is used.
func (t *terms) named(u weburl.URL, group *robots.Group, p *consent.Page) []string {
	reserved := t.policy.Obeys(consent.AIInput, consent.TrainAI) // whether a tdmrep.json can forbid a purpose of the crawl
	if !reserved && p == nil && (group == nil || len(group.Licenses()) == 0) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	origin := u.Origin()
	s, ok := t.sites[origin]
	if !ok || s.group != group {
		s = siteTerms{group: group}
		if file, err := u.Resolve(consent.TDMPath); err == nil && reserved {
			s.names = append(s.names, file.String())
		}
		s.names = append(s.names, consent.Page{URL: u.RobotsURL(), Robots: group}.Named()...)
		if len(t.sites) >= maxSites {
			clear(t.sites)
		}
		t.sites[origin] = s
	}
	if p == nil {
		return s.names
	}
	return append(s.names[:len(s.names):len(s.names)], p.Named()...)
}

// missing returns the first of the named documents that is not known or has expired, and marks it as being requested. If that document is
// already being requested, missing returns nil and busy is true. If all are known, it returns nil and false.
func (t *terms) missing(ctx context.Context, u weburl.URL, names []string) (d *document, busy bool) {
	if len(names) == 0 {
		return nil, false
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		d := t.file(ctx, u.Origin(), name)
		switch {
		case d.known && (now.Before(d.Expires) || d.unused && now.Before(d.Expires.Add(robots.MaxFreshness))):
		case d.busy:
			return nil, true
		default:
			d.busy = true
			if d.next.IsZero() {
				d.next, _ = weburl.Parse(name) // named has resolved the name, so it is a valid URL
			}
			return d, false
		}
	}
	return nil, false
}

// file returns the document of this URL, from memory or from the store, or a new one. The lock is held.
func (t *terms) file(ctx context.Context, origin, name string) *document {
	if d := t.files[name]; d != nil {
		return d
	}
	d := &document{TermsFile: sink.TermsFile{URL: name}, Site: origin}
	if t.store != nil {
		if b, err := t.store.Value(context.WithoutCancel(ctx), "", keyTerms+name); err == nil && b != nil && json.Unmarshal(b, d) == nil {
			d.read(d.Body)
			t.count(d, len(d.Body))
			d.Body, d.known = nil, true
		}
	}
	if !d.known && t.of[origin] >= maxDocuments {
		d.fail(time.Now(), fmt.Errorf("the site names more than %d documents", maxDocuments))
	}
	t.files[name] = d
	t.of[d.Site]++
	return d
}

// count updates the size of a document and evicts other documents from memory if the limit is exceeded. The lock is held.
func (t *terms) count(d *document, size int) {
	t.bytes += size + 512 - d.size
	d.size = size + 512
	for name, other := range t.files {
		if t.bytes <= maxTermsBytes {
			return
		}
		if other != d && other.known && !other.busy {
			t.bytes -= other.size
			delete(t.files, name)
			if t.of[other.Site]--; t.of[other.Site] == 0 {
				delete(t.of, other.Site)
			}
		}
	}
}

// read parses the body of a document. A nil body means that the document could not be fetched.
func (d *document) read(body []byte) {
	if d.license, d.tdm = consent.ReadDocument(d.URL, d.Status, d.Error, body); d.license != nil && d.Error == "" && d.license.Err() != nil {
		d.Error = d.license.Err().Error()
	}
}

// fail records that a document cannot be fetched for now. If an earlier version was read, it stays in force.
func (d *document) fail(now time.Time, why error) {
	if !d.known || d.Error != "" {
		d.Error, d.Status, d.SHA256, d.Fetched = why.Error(), 0, "", now.UTC()
		d.read(nil)
	}
	d.Expires, d.known = now.Add(failedTerms), true
}

// answered records the response to a request for a document.
func (d *document) answered(p *fetcher.Page) {
	d.Status, d.Fetched, d.Error, d.known = p.Status, p.Ended.UTC(), "", true
	sum := sha256.Sum256(p.Body)
	d.SHA256 = hex.EncodeToString(sum[:])
	isTDM := strings.HasSuffix(d.URL, consent.TDMPath)
	switch {
	case p.Truncated == politeness.CutByLength:
		d.Error = fmt.Sprintf("longer than %d bytes", consent.MaxDocument)
	case p.Truncated != "":
		d.Error = "cut short: " + p.Truncated
	case p.Status != http.StatusOK && !isTDM:
		d.Error = fmt.Sprintf("status %d", p.Status)
	}
	d.read(p.Body)
	life := robots.Freshness(p.Header, p.Ended)
	if d.license != nil && d.license.MaxAge() > 0 {
		if p.Header.Get("Cache-Control") == "" && p.Header.Get("Expires") == "" {
			life = d.license.MaxAge()
		}
		life = min(life, d.license.MaxAge())
	}
	d.Expires = p.Ended.Add(life)
}

// settled records the result of requests for a document, the response p or the error why, and stores the document.
func (t *terms) settled(ctx context.Context, d *document, p *fetcher.Page, why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.next, d.hops, d.tries, d.busy, d.unused = weburl.URL{}, 0, 0, false, true
	var body []byte
	if p == nil {
		was := d.known && d.Error == ""
		d.fail(time.Now(), why)
		if was {
			return nil
		}
	} else {
		body = p.Body
		d.answered(p)
	}
	t.count(d, len(body))
	if t.store == nil {
		return nil
	}
	kept := document{TermsFile: d.TermsFile, Site: d.Site, Expires: d.Expires, Body: body}
	b, err := json.Marshal(&kept)
	if err != nil {
		return err
	}
	return t.store.Commit(context.WithoutCancel(ctx), nil, frontier.Checkpoint{Values: map[string][]byte{keyTerms + d.URL: b}})
}

// putBack marks a document as no longer being requested, and returns the number of failed requests so far. tried reports whether another
// request has failed.
func (t *terms) putBack(d *document, tried bool) (tries int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.busy = false
	if tried {
		d.tries++
	}
	return d.tries
}

// redirected records the target of a document's redirect as the next URL to request. It returns false if there were too many redirects or
// the target is invalid.
func (t *terms) redirected(d *document, p *fetcher.Page) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	to, err := d.next.Resolve(p.Header.Get("Location"))
	if err != nil || p.Header.Get("Location") == "" || d.hops >= robots.MaxRedirects {
		return false
	}
	d.next, d.busy, d.tries = to, false, 0
	d.hops++
	return true
}

// hold stores a page that waits for documents. If the memory limit is reached, it stores only their names.
func (t *terms) hold(p *fetcher.Page, names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := waitingPage{names: names}
	if size := cutSize(p); t.holds+size <= maxPartials {
		t.holds += size
		w.page = p.Clone()
	}
	t.held[p.URL] = w
}

// release ends the wait of a page. It returns the page, or nil if the page was not stored.
func (t *terms) release(u weburl.URL) *fetcher.Page {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.held[u].page
	t.holds -= cutSize(p)
	delete(t.held, u)
	return p
}

// waiting returns the URLs of the documents for which a page waits, or nil if it does not wait.
func (t *terms) waiting(u weburl.URL) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[u].names
}

// judge returns the site's statements about a page, with the verdict of the crawl's policy. It returns nil if the site has no statements.
// src is the source of the robots.txt group.
func (t *terms) judge(ctx context.Context, p consent.Page, src robots.Source, names []string) *Usage {
	var all Usage
	if len(names) > 0 {
		t.mu.Lock()
		for _, name := range names {
			d := t.file(ctx, p.URL.Origin(), name)
			if d.license != nil {
				p.Licenses = append(p.Licenses, d.license)
			}
			if d.tdm != nil {
				p.TDM = d.tdm
			}
			if d.unused = false; d.known {
				all.Files = append(all.Files, d.TermsFile)
			}
		}
		t.mu.Unlock()
	}
	p.Agent = t.agent
	if all.Record = consent.Read(p); len(all.Statements) == 0 {
		return nil
	}
	if p.Robots != nil && src.SHA256 != [32]byte{} {
		all.Files = append([]sink.TermsFile{{
			URL: src.RobotsURL, Status: src.Status, Fetched: src.FetchedAt.UTC(), SHA256: hex.EncodeToString(src.SHA256[:]),
		}}, all.Files...)
	}
	all.Verdict = t.policy.Judge(all.Record)
	return &all
}

// refuse makes v the visit of a page that must not be collected, if its verdict forbids it, and reports whether it does.
func (v *Visit) refuse() bool {
	if v.Terms == nil || !v.Terms.Verdict.Refused() {
		return false
	}
	v.Outcome, v.Reason, v.Detail = Refused, politeness.ReasonUsage, "refused: "+v.Terms.Verdict.String()
	if v.Terms.Verdict.Statement.Place == consent.Status {
		v.Reason = ReasonPayment
	}
	return true
}

// forbiddenBefore reads the documents that apply to the claimed page, one for each claim, before the page is requested. It reports
// whether it has ended the claim: it made a request for a document, or the documents or robots.txt forbid the page.
func (a *attempt) forbiddenBefore(ctx context.Context) (ended bool) {
	u := a.claim.URL
	group, known := a.run.gate.Group(u)
	if !known {
		return false
	}
	names := a.run.terms.named(u, group, nil)
	if len(names) == 0 || forbids(group, u) { // a URL that robots.txt forbids is left to the gate
		return false
	}
	if h := a.run.gate.Host(u.Host()); h.GivenUp != "" || h.OptedOut {
		return false
	}
	if ended, _ := a.readTerms(ctx, u, names, nil); ended {
		return true
	}
	v := &Visit{Terms: a.run.terms.judge(ctx, consent.Page{URL: u, Robots: group}, a.run.gate.Origin(u).Source, names)}
	if !v.refuse() {
		return false
	}
	a.end(ctx, v, nil)
	return true
}

// resourceForbidden returns the reason why the site's documents forbid a resource of a rendered page, or "". If a document is missing, it
// is requested first: ended is true, and the page waits.
func (a *attempt) resourceForbidden(ctx context.Context, x *rendering, u weburl.URL) (reason string, ended bool) {
	group, known := a.run.gate.Group(u)
	if !known { // robots.txt must be read before the documents that it names
		return "", false
	}
	names := a.run.terms.named(u, group, nil)
	if len(names) == 0 || forbids(group, u) {
		return "", false
	}
	if ended, reason = a.readTerms(ctx, u, names, x); ended || reason != "" {
		return reason, ended
	}
	return a.run.terms.resourceReason(ctx, consent.Page{URL: u, Robots: group}, names), false
}

// resourceReason returns the reason why a resource may not be used, or "". Its robots directives apply only if they concern the use by
// models: noindex, for instance, is irrelevant, because a script is not indexed anyway.
func (t *terms) resourceReason(ctx context.Context, p consent.Page, names []string) string {
	if !t.policy.Obeys(consent.AIInput, consent.TrainAI) && p.Header != nil {
		p.Header = p.Header.Clone()
		p.Header.Del("X-Robots-Tag")
		p.Header.Del("Robots-Tag")
	}
	v := Visit{Terms: t.judge(ctx, p, robots.Source{}, names)}
	v.refuse()
	return v.Reason
}

// waitsForTerms reports whether a visit must wait for documents that its page names. If so, it holds the page.
func (a *attempt) waitsForTerms(ctx context.Context, v *Visit, names []string) bool {
	d, busy := a.run.terms.missing(ctx, v.URL, names)
	if d != nil {
		a.run.terms.putBack(d, false) // the next claim of the page requests d, after the host's delay
	}
	if d == nil && !busy {
		return false
	}
	a.run.terms.hold(v.Page, names)
	return true
}

// readTerms requests the first missing document that applies to u, and reports whether the claim has ended. u is the URL of the claim, or
// a resource that x, the rendering of the claim's page, needs. reason says why x must do without the resource.
func (a *attempt) readTerms(ctx context.Context, u weburl.URL, names []string, x *rendering) (ended bool, reason string) {
	d, busy := a.run.terms.missing(ctx, u, names)
	switch {
	case busy:
		a.requeue(ctx, x, frontier.Again{NotBefore: time.Now().Add(busyTerms)})
		return true, ""
	case d == nil:
		return false, ""
	}
	to := d.next
	rule := a.overRobots(to)
	if rule == "" {
		rule = a.robotsSpent()
	}
	if rule != "" {
		a.run.terms.putBack(d, false)
		if x != nil {
			return false, ReasonRobotsBudget
		}
		a.end(ctx, &Visit{
			Outcome: Deferred, Reason: ReasonRobotsBudget, Rule: rule,
			Detail: "a document of its site, " + to.String() + ", is not known, and the crawl has requested as many as it may",
		}, nil)
		return true, ""
	}
	answer, err := a.run.client.Try(ctx, politeness.Request{
		URL: to, Purpose: politeness.Terms, Attempt: d.tries, Queued: a.claim.Queued, Deadline: a.claim.Deadline,
	})
	if err != nil {
		return a.termsNotRequested(ctx, d, err, x)
	}
	if to.Host() == a.claim.URL.Host() {
		a.ready = answer.Ready
	}
	a.account(ctx, answer)
	a.run.cfg.Trace.answered(a.claim.URL, answer)
	if a.run.commits != nil {
		a.run.commits.wake() // this request ends no visit, so nothing else wakes the committer
	}
	a.termsAnswered(ctx, d, answer, x)
	return true, ""
}

// requeue returns the claim to the queue, and keeps the rendering x of its page if it is not nil.
func (a *attempt) requeue(ctx context.Context, x *rendering, again frontier.Again) {
	if x == nil {
		a.putBack(ctx, again, nil)
		return
	}
	a.wait(ctx, x, again.NotBefore)
}

// termsAnswered handles the response to a request for a document, or for the robots.txt that must be read first.
func (a *attempt) termsAnswered(ctx context.Context, d *document, answer *fetcher.Answer, x *rendering) {
	page, t := answer.Page, a.run.terms
	if page != nil {
		defer page.Release()
	}
	again := frontier.Again{}
	switch {
	case fetcher.ReasonOf(answer.Err) == fetcher.ReasonLedger:
		a.run.fail(answer.Err)
		t.putBack(d, false)
	case (ctx.Err() != nil || answer.TurnLost) && (page == nil || page.Truncated != ""), fetcher.ReasonOf(answer.Err) == fetcher.ReasonPermit:
		t.putBack(d, false)
	case answer.Permit.Purpose() == politeness.Robots:
		a.run.causes.note(answer.Permit.URL().Origin(), page, answer.Err)
		a.run.cfg.Trace.robots(d.next, a.run.gate)
		t.putBack(d, false)
	case page != nil && page.Challenged: // retry: the Fetcher will sign the next request for this URL
		t.putBack(d, false)
	case page != nil && page.Wall != "":
		a.settleTerms(ctx, d, nil, &wallError{page.Wall})
	case temporary(answer.Err) || page != nil && (retryable(page.Status) || brokeOff(page)):
		tries := t.putBack(d, true)
		if int64(tries) <= a.run.cfg.Retries.Max.Value() && a.run.tally.retry(d.next.Host()) {
			again.NotBefore = time.Now().Add(pause(a.run.cfg.Retries.Pause, tries-1))
			break
		}
		a.settleTerms(ctx, d, nil, statusError(answer))
	case answer.Err != nil || page.Status >= http.StatusInternalServerError || page.Status == http.StatusAccepted:
		a.settleTerms(ctx, d, nil, statusError(answer))
	case isRedirect(page.Status) && t.redirected(d, page):
	default:
		a.settleTerms(ctx, d, page, nil)
	}
	a.requeue(ctx, x, again)
}

// statusError returns the reason why a response cannot be used.
func statusError(a *fetcher.Answer) error {
	if a.Page == nil {
		return errors.New(reasonOf(a.Err))
	}
	return errors.New(cmp.Or(a.Page.Truncated, fmt.Sprintf("status %d", a.Page.Status)))
}

func (a *attempt) settleTerms(ctx context.Context, d *document, p *fetcher.Page, why error) {
	if err := a.run.terms.settled(ctx, d, p, why); err != nil {
		a.run.fail(fmt.Errorf("crawler: the document %s: %w", d.URL, err))
	}
}

// termsNotRequested handles the error that prevented the request for a document. Its results are those of readTerms.
func (a *attempt) termsNotRequested(ctx context.Context, d *document, err error, x *rendering) (ended bool, reason string) {
	var wait *politeness.NotYet
	var denied *politeness.Denied
	var lookup *fetcher.LookupError
	t, own, again := a.run.terms, d.next.Host() == a.claim.URL.Host(), frontier.Again{}
	switch {
	case errors.As(err, &wait):
		t.putBack(d, false)
		switch {
		case wait.Copied:
			a.run.cfg.Trace.robots(d.next, a.run.gate)
		case own:
			a.ready = wait.Until
		default:
			again.NotBefore = wait.Until
		}
		if !wait.Copied {
			a.run.cfg.Trace.waiting(a.claim.URL, wait)
		}
	case errors.As(err, &denied) && denied.Deferred() && own: // the gate has given up the host of the claimed URL
		t.putBack(d, false)
		if x != nil {
			return false, denied.Reason
		}
		a.denied(ctx, denied)
		return true, ""
	case errors.As(err, &denied) && denied.Reason == politeness.ReasonRobots && strings.HasSuffix(d.URL, consent.TDMPath): // forbidden tdmrep.json: counts as a 403
		a.settleTerms(ctx, d, &fetcher.Page{URL: d.next, Status: http.StatusForbidden, Ended: time.Now()}, nil)
	case errors.As(err, &denied):
		a.settleTerms(ctx, d, nil, errors.New(denied.Reason))
	case errors.As(err, &lookup):
		a.termsUnresolved(ctx, d, lookup, &again)
	case errors.Is(err, fetcher.ErrKeepRobots):
		a.run.fail(err)
		t.putBack(d, false)
	default:
		a.settleTerms(ctx, d, nil, err)
	}
	a.requeue(ctx, x, again)
	return true, ""
}

// termsUnresolved handles a document whose host name has no usable address.
func (a *attempt) termsUnresolved(ctx context.Context, d *document, e *fetcher.LookupError, again *frontier.Again) {
	t := a.run.terms
	switch reason := fetcher.ReasonOf(e.Err); {
	case reason == fetcher.ReasonPin:
		a.run.fail(e.Err)
		t.putBack(d, false)
	case ctx.Err() != nil && e.Ready.IsZero():
		t.putBack(d, false)
	case reason == fetcher.ReasonNoResources:
		t.putBack(d, false)
		again.NotBefore = time.Now().Add(pause(a.run.cfg.Retries.Pause, 0))
	case !e.Ready.IsZero() && int64(t.putBack(d, true)) <= a.run.cfg.Retries.Max.Value():
		again.NotBefore = e.Ready
	default:
		a.settleTerms(ctx, d, nil, errors.New(reasonOf(e.Err)))
	}
}

// ConsentPage returns the statements about uses in a response itself, as a crawl with this configuration reads them: status, header, and
// the META and link elements of its document. Other fields, such as that of robots.txt, are zero. An error means that the charset is
// unusable or that c.Extractor failed.
func (c *Config) ConsentPage(p *fetcher.Page) (consent.Page, error) {
	doc, err := (&linker{cfg: c, scanner: extract.NewScanner(c.extraction())}).extract(p)
	v := &Visit{URL: p.URL, Page: p, Doc: doc}
	page := v.speaks(metasOf(doc))
	page.Agent = c.Identity().Product
	return page, err
}

// speaks returns the statements about uses in a visit's response, given its META elements.
func (v *Visit) speaks(metas []robots.Meta) consent.Page {
	return consent.Page{URL: v.URL, Status: v.Page.Status, Header: v.Page.Header, Body: v.Page.Body, Metas: metas, Links: v.licenses()}
}

// licenses returns the licences that the link elements and the header of a document name.
func (v *Visit) licenses() (urls []string) {
	if v.Doc == nil {
		return nil
	}
	for i := range v.Doc.Links {
		l := &v.Doc.Links[i]
		if l.Kind == extract.LinkRel && l.Rel&extract.License != 0 && strings.EqualFold(l.Type, consent.MediaType) {
			if u, err := v.target(l.Ref); err == nil {
				urls = append(urls, u.String())
			}
		}
	}
	return urls
}

// Terms returns the record of u for the sinks, or nil if u is nil.
func (u *Usage) Terms() *sink.Terms {
	if u == nil {
		return nil
	}
	r := &sink.Terms{Effect: u.Verdict.Effect.String(), Use: u.Verdict.Use, Statements: make([]sink.Statement, len(u.Statements))}
	if u.Verdict.Statement != nil {
		r.Purpose = u.Verdict.Purpose.String()
	}
	for i := range u.Statements {
		s := &u.Statements[i]
		if s == u.Verdict.Statement {
			r.By = i + 1
		}
		r.Statements[i] = statementRecord(s)
	}
	for _, f := range u.Files {
		r.Files = append(r.Files, sink.TermsFile{URL: f.URL, Status: f.Status, Fetched: f.Fetched.UTC().Truncate(time.Microsecond), SHA256: f.SHA256, Error: f.Error})
	}
	for _, c := range u.Costs {
		r.Costs = append(r.Costs, sink.Cost(c))
	}
	return r
}

// statementRecord returns the record of a statement for the sinks.
func statementRecord(s *consent.Statement) sink.Statement {
	effect := func(p consent.Purpose) string {
		if e := s.Effect(p); e != consent.Silent {
			return e.String()
		}
		return ""
	}
	return sink.Statement{
		Place: string(s.Place), Document: s.Document, Line: s.Line, Name: s.Name, Text: s.Text, Use: s.Use, Condition: s.Condition,
		Archive: effect(consent.Archive), Research: effect(consent.Research), Search: effect(consent.Search),
		AIInput: effect(consent.AIInput), TrainAI: effect(consent.TrainAI),
	}
}

// HostCost sums the prices of those pages of a host that the site offers for a payment. The crawl left these pages out.
type HostCost struct {
	Host     string `json:"host"` // "" for all hosts after the first 1,000
	Currency string `json:"currency"`
	Per      string `json:"per"`    // unit of the price: "request", or a payment type of RSL
	Pages    int    `json:"pages"`  // number of pages with this price
	Amount   string `json:"amount"` // sum over these pages, as a decimal number
}

// AddTerms counts the verdict in t, which is from the record of a visit to a host.
func (r *Report) AddTerms(host string, t *sink.Terms) {
	by := t.Decisive()
	if by == nil {
		return
	}
	if r.Verdicts == nil {
		r.Verdicts = map[string]int{}
	}
	r.Verdicts[t.Purpose+" "+t.Effect]++
	if t.Effect != consent.Unmet.String() && t.Effect != consent.Forbids.String() {
		return
	}
	if r.LeftOut == nil {
		r.LeftOut = map[string]map[string]int{}
	}
	leftOutOf(r.LeftOut, host)[by.Place+" "+by.Name]++
	if t.Effect != consent.Unmet.String() {
		return
	}
	least := map[[2]string]sink.Cost{} // licences are alternatives, so count only the cheapest for each currency and unit
	for _, c := range t.Costs {
		key := [2]string{c.Currency, c.Per}
		if was, ok := least[key]; !ok || decimal(c.Amount).Cmp(decimal(was.Amount)) < 0 {
			least[key] = c
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(least), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		c := least[key]
		r.Cost = addCost(r.Cost, HostCost{host, c.Currency, c.Per, 1, c.Amount})
	}
}

const maxTermsHosts = 1000 // maximum number of hosts in LeftOut and Cost

// leftOutOf returns the counts of a host in all. If the maximum number of hosts is reached, it returns those of the host "".
func leftOutOf(all map[string]map[string]int, host string) map[string]int {
	if all[host] == nil && len(all) >= maxTermsHosts {
		host = ""
	}
	if all[host] == nil {
		all[host] = map[string]int{}
	}
	return all[host]
}

// addLeftOut returns the sum of two tables. The sum shares no memory with them.
func addLeftOut(all, more map[string]map[string]int) map[string]map[string]int {
	if len(all)+len(more) == 0 {
		return nil
	}
	sum := map[string]map[string]int{}
	for host, by := range all {
		sum[host] = maps.Clone(by)
	}
	for _, host := range slices.Sorted(maps.Keys(more)) {
		counts := leftOutOf(sum, host)
		for statement, n := range more[host] {
			counts[statement] += n
		}
	}
	return sum
}

// addCost adds c to the cost with the same host, currency and unit.
func addCost(all []HostCost, c HostCost) []HostCost {
	at := slices.IndexFunc(all, func(x HostCost) bool { return x.Host == c.Host && x.Currency == c.Currency && x.Per == c.Per })
	if at < 0 && c.Host != "" && len(all) >= maxTermsHosts {
		c.Host = ""
		return addCost(all, c)
	}
	if at < 0 {
		return append(all, c)
	}
	sum := new(big.Rat).Add(decimal(all[at].Amount), decimal(c.Amount))
	all[at].Pages += c.Pages
	all[at].Amount = strings.TrimSuffix(strings.TrimRight(sum.FloatString(maxDecimals), "0"), ".")
	return all
}

const maxDecimals = 32 // digits of an amount; package consent reads up to 32 characters

// decimal parses an amount as package consent writes it.
func decimal(s string) *big.Rat {
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return new(big.Rat)
}
