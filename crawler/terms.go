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

// This file handles documents about the uses that a site allows: RSL documents, and the tdmrep.json of an origin. Each is requested
// like a robots.txt, before the first page that it could forbid, and again when it has expired. If a page's response names an
// unknown document, the page waits in memory until that has been read.

// Usage holds a site's statements about the uses of a page, and the verdict that follows from them.
type Usage struct {
	consent.Record
	Verdict consent.Verdict
	Files   []sink.TermsFile // files with the statements, and files without any
}

// document is an RSL document or a tdmrep.json.
type document struct {
	sink.TermsFile
	Site    string // the origin that named it first
	Expires time.Time
	Body    []byte // as received; only when it is stored

	license *consent.License // license or tdm is set if the document says anything
	tdm     *consent.TDM
	known   bool // it was read, or found to be unreadable
	unused  bool // not used yet: even if it expires before the host's next turn, one page may use it
	busy    bool // it is being requested
	next    weburl.URL
	hops    int
	tries   int
	size    int
}

// terms holds the documents of a crawl. It is safe for concurrent use.
type terms struct {
	policy consent.Policy
	agent  string
	store  frontier.Durable // nil if nothing outlives the process

	mu    sync.Mutex
	files map[string]*document // by URL
	of    map[string]int       // files by their Site
	bytes int                  // total bytes of their bodies
	sites map[string]siteTerms // by origin
	held  map[weburl.URL]waitingPage
	holds int // bytes of held
}

// siteTerms caches the documents named by a robots.txt.
type siteTerms struct {
	group *robots.Group
	names []string
}

// waitingPage is a page that waits for the documents it names.
type waitingPage struct {
	page  *fetcher.Page // nil: there was no memory for it, so it will be requested again
	names []string
}

const (
	keyTerms = "crawler/terms/" // by URL of the document

	maxDocuments  = 64       // per origin: pages can name any number of documents
	maxTermsBytes = 64 << 20 // in memory; other documents are read again from the store or requested again
	maxSites      = 10_000   // of the cache
	failedTerms   = time.Hour
	busyTerms     = time.Second
)

func newTerms(c *Config) *terms {
	return &terms{
		policy: c.Politeness.Policy(), agent: c.Identity().Product,
		files: map[string]*document{}, of: map[string]int{}, sites: map[string]siteTerms{}, held: map[weburl.URL]waitingPage{},
	}
}

// named returns the URLs of the documents that must be read before u may be requested, or before the response of p may be used.
func (t *terms) named(u weburl.URL, group *robots.Group, p *consent.Page) []string {
	reserved := t.policy.Obeys(consent.AIInput, consent.TrainAI) // the purposes that tdmrep.json can forbid
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

// missing returns the first named document that is not known or has expired, and marks it as requested. busy is true if it is
// already being requested. d is nil if all are known.
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
				d.next, _ = weburl.Parse(name) // it was resolved
			}
			return d, false
		}
	}
	return nil, false
}

// file returns the document of this URL, from memory or from the store. The lock is held.
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

// count updates the size of a document and evicts others if the limit is exceeded. The lock is held.
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

// read parses the body of a document; nil means that it could not be fetched.
func (d *document) read(body []byte) {
	if d.license, d.tdm = consent.ReadDocument(d.URL, d.Status, d.Error, body); d.license != nil && d.Error == "" && d.license.Err() != nil {
		d.Error = d.license.Err().Error()
	}
}

// fail records that a document cannot be fetched for now. A document that was read before stays in force.
func (d *document) fail(now time.Time, why error) {
	if !d.known || d.Error != "" {
		d.Error, d.Status, d.SHA256, d.Fetched = why.Error(), 0, "", now.UTC()
		d.read(nil)
	}
	d.Expires, d.known = now.Add(failedTerms), true
}

// answered records the response for a document.
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

// settled ends a request for a document, whose contents or absence are now known, and stores the document.
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

// putBack marks a document as still to be requested. tried means that a request for it has failed.
func (t *terms) putBack(d *document, tried bool) (tries int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.busy = false
	if tried {
		d.tries++
	}
	return d.tries
}

// redirected follows a document's redirect. It returns false if there were too many or the target is invalid.
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

// hold keeps a page that waits for documents, or only their names if the memory limit is reached.
func (t *terms) hold(p *fetcher.Page, names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := waitingPage{names: names}
	if size := cutSize(p); t.holds+size <= maxCuts {
		t.holds += size
		w.page = p.Clone()
	}
	t.held[p.URL] = w
}

// release stops a page's wait and returns the page, nil if none was kept.
func (t *terms) release(u weburl.URL) *fetcher.Page {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.held[u].page
	t.holds -= cutSize(p)
	delete(t.held, u)
	return p
}

// waiting returns the documents that a page waits for, nil if it does not wait.
func (t *terms) waiting(u weburl.URL) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[u].names
}

// judge returns the site's statements about a page, with the verdict of the crawl's policy. It returns nil if the site says
// nothing. src is the source of the group.
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

// refuse turns v into the visit of a page that must not be collected, if the verdict says so.
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

// forbiddenBefore ends the claim of a page that documents or robots.txt forbid, before the page is requested; missing
// documents are read first. It returns false if they do not forbid the request.
func (a *attempt) forbiddenBefore(ctx context.Context) (ended bool) {
	u := a.claim.URL
	group, known := a.run.gate.Group(u)
	if !known {
		return false
	}
	names := a.run.terms.named(u, group, nil)
	if len(names) == 0 || forbids(group, u) { // the latter is the gate's decision
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

// resourceForbidden returns why documents of the site forbid a resource of a rendered page, "" if they do not. Missing
// documents are requested first; then the claim has ended and the page waits.
func (a *attempt) resourceForbidden(ctx context.Context, x *rendering, u weburl.URL) (reason string, ended bool) {
	group, known := a.run.gate.Group(u)
	if !known { // its robots.txt comes first
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

// resourceReason returns why a resource may not be used, "" if it may. Only its robots directives about models apply: noindex, for
// instance, is irrelevant, because a script is not indexed anyway.
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

// waitsForTerms holds the page of a visit that names unknown documents.
func (a *attempt) waitsForTerms(ctx context.Context, v *Visit, names []string) bool {
	d, busy := a.run.terms.missing(ctx, v.URL, names)
	if d != nil {
		a.run.terms.putBack(d, false) // the next claim requests it, after the host's delay
	}
	if d == nil && !busy {
		return false
	}
	a.run.terms.hold(v.Page, names)
	return true
}

// readTerms requests the first document that is missing for u, and reports whether the claim has ended. u is the URL of the claim
// or a resource that x, the rendering of its page, needs. The reason is why x must do without it.
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
		a.run.commits.wake() // it ends no visit
	}
	a.termsAnswered(ctx, d, answer, x)
	return true, ""
}

// requeue returns the claim to the queue, with the rendering of its page if there is one.
func (a *attempt) requeue(ctx context.Context, x *rendering, again frontier.Again) {
	if x == nil {
		a.putBack(ctx, again, nil)
		return
	}
	a.wait(ctx, x, again.NotBefore)
}

// termsAnswered acts on the answer to a request for a document, or for the robots.txt that it needs first.
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
	case page != nil && page.Challenged: // the Fetcher signs the next request for it
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

// statusError returns why an answer cannot be used.
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
	case errors.As(err, &denied) && denied.Deferred() && own: // the host was given up
		t.putBack(d, false)
		if x != nil {
			return false, denied.Reason
		}
		a.denied(ctx, denied)
		return true, ""
	case errors.As(err, &denied) && denied.Reason == politeness.ReasonRobots && strings.HasSuffix(d.URL, consent.TDMPath): // robots.txt forbids everybody to read it
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

// termsUnresolved handles a document whose host has no address.
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

// ConsentPage returns what a response itself says about its uses, as a crawl with this configuration reads it: status, header, and
// the META and link elements of its document. Other fields, such as that of robots.txt, are zero. The error is that of its charset
// or of c.Extractor.
func (c *Config) ConsentPage(p *fetcher.Page) (consent.Page, error) {
	doc, err := (&linker{cfg: c, scanner: extract.NewScanner(c.extraction())}).extract(p)
	v := &Visit{URL: p.URL, Page: p, Doc: doc}
	page := v.speaks(metasOf(doc))
	page.Agent = c.Identity().Product
	return page, err
}

// speaks returns what a visit's response itself, with these META elements, says about its uses.
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

// Terms returns u in the form for the sinks; nil if u is nil.
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

// statementRecord returns a statement in the form for the sinks.
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

// HostCost sums the prices of a host's pages that the site offers for a payment. The crawl left them out.
type HostCost struct {
	Host     string `json:"host"` // "" for all hosts after the first 1,000
	Currency string `json:"currency"`
	Per      string `json:"per"`    // request, or a payment's type of RSL
	Pages    int    `json:"pages"`  // number of pages with this price
	Amount   string `json:"amount"` // sum over these pages, a decimal number
}

// AddTerms counts the verdict in the record of a visit to a host.
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
	least := map[[2]string]sink.Cost{} // licences are alternatives: only the cheapest counts
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

const maxTermsHosts = 1000 // in LeftOut and Cost

// leftOutOf returns the counts of a host in all, or those of all further hosts if the maximum number is reached.
func leftOutOf(all map[string]map[string]int, host string) map[string]int {
	if all[host] == nil && len(all) >= maxTermsHosts {
		host = ""
	}
	if all[host] == nil {
		all[host] = map[string]int{}
	}
	return all[host]
}

// addLeftOut returns the sum of two tables, sharing no memory with them.
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

// addCost adds a cost to those of its host, currency and unit.
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

// decimal parses an amount in the form of package consent.
func decimal(s string) *big.Rat {
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return new(big.Rat)
}
