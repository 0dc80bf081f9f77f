package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/weburl"
)

// TermsCheck reports whether the verdicts about uses in the visits follow from the stored files. Statements in headers and META
// elements are read again from the archived responses. Without an archive, or if a visit was refused and its response is not stored,
// they are taken from the visits; META elements of rendered pages always are.
type TermsCheck struct {
	Visits     int           `json:"visits"`           // visits that have a record of terms, or must have one
	FromVisits int           `json:"from_visits"`      // visits whose statements were taken from the visit, not from the archive
	Differ     []TermsDiffer `json:"differ,omitempty"` // the first 100 differences
	More       int           `json:"more,omitempty"`
	Unread     []TermsDiffer `json:"unread,omitempty"` // the first 100 visits whose archived responses are damaged, or statements cut
}

// TermsDiffer is a visit whose verdict does not follow from the files.
type TermsDiffer struct {
	URL  string `json:"url"`
	Line int    `json:"line"` // line in visits.jsonl
	Why  string `json:"why"`
}

const maxDiffer = 100

// termsChecker recomputes verdicts.
type termsChecker struct {
	TermsCheck
	job     *Reader
	policy  consent.Policy
	product string
	dialect robots.Dialect
	exempt  map[string]bool           // origins with a mandate
	lists   map[string]bool           // URLs requested as sitemaps
	kept    map[string][]RobotsAnswer // index entries by origin, for visits without a record
	read    map[termsKey]*termsFile
	absent  TermsCheck // visits without a record that should have one
	archive *answers   // nil: the job has none
	some    bool       // at least one visit has a record, so the program that crawled writes records
}

// termsFile is a stored file in which a site states allowed uses.
type termsFile struct {
	err      error         // the file was not stored, or differs from the one received
	group    *robots.Group // set for a robots.txt
	license  *consent.License
	tdm      *consent.TDM
	readable bool // the visit records an invalid RSL document, but the file can be read
}

// termsKey identifies a termsFile; its time of receipt is zero.
type termsKey struct {
	sink.TermsFile
	isRobots bool
}

// answers reads archived responses like a crawl.
type answers struct {
	*Pages
	config crawler.Config
}

// openAnswers opens the archive of the job. It returns nil if there is none or it cannot be read, which the check of files reports.
func (r *Reader) openAnswers(c crawler.Config) (*answers, error) {
	names, err := r.Archives()
	if err != nil || len(names) == 0 {
		return nil, nil //nolint:nilerr,nilnil // see above
	}
	dir := filepath.Join(r.dir, archiveName)
	archive, err := r.OpenArchive()
	if err != nil {
		if archive, err = warc.OpenFiles(dir); err != nil {
			return nil, nil //nolint:nilerr,nilnil // see above
		}
	}
	p, err := newPages(archive, c.Fetch)
	if err != nil {
		return nil, err
	}
	return &answers{p, c}, nil
}

// page returns the statements about uses in the archived response of a visit, and whether its META elements are the ones that the crawl
// read. It returns nil if the response is not archived. An error means that the archive is damaged there.
func (a *answers) page(v *sink.Record, u weburl.URL) (p *consent.Page, metas bool, err error) {
	if a == nil || v.WARC == nil || v.Outcome != string(crawler.Fetched) {
		return nil, false, nil
	}
	page, err := a.Read(context.Background(), u, v.WARC)
	if err != nil {
		return nil, false, err
	}
	defer page.Release()
	if !page.IsHTML() || v.Links == nil || v.Rendered != nil && v.Rendered.Bytes > 0 {
		return &consent.Page{URL: u, Status: page.Status, Header: page.Header}, false, nil
	}
	says, err := a.config.ConsentPage(page)
	says.Body = nil // the body is released; it only matters for status 402, whose responses are not stored
	return &says, true, err
}

// checkTerms recomputes the verdict of every visit, even if files differ from their commits.
func (r *Reader) checkTerms(mandates map[string]bool) (*TermsCheck, error) {
	cfg, err := r.Config()
	if err != nil {
		return nil, err
	}
	c := &termsChecker{
		job: r, policy: cfg.Crawl.Politeness.Policy(), product: cfg.Crawl.Identity().Product, dialect: cfg.Crawl.Politeness.Dialect, exempt: mandates,
		lists: map[string]bool{}, kept: map[string][]RobotsAnswer{}, read: map[termsKey]*termsFile{},
	}
	err = r.files.eachLine(filepath.Join(robotsName, indexName), func(_ int, b []byte) bool {
		var l RobotsAnswer
		if json.Unmarshal(b, &l) == nil {
			if u, err := weburl.Parse(l.URL); err == nil {
				c.kept[u.Origin()] = append(c.kept[u.Origin()], l)
			}
		}
		return true
	})
	if err != nil && !missingFile(err) {
		return nil, err
	}
	parseRequest := parseLedger()
	var q ledger.Entry
	err = r.files.eachLine(LedgerName, func(_ int, b []byte) bool {
		if has(b, []byte(`"sitemap"`)) && parseRequest(b, &q) == nil && q.Purpose == politeness.Sitemap.String() {
			c.lists[q.URL] = true
		}
		return true
	})
	if err != nil && !missingFile(err) {
		return nil, err
	}
	if c.archive, err = r.openAnswers(cfg.Crawl); err != nil {
		return nil, err
	}
	if c.archive != nil {
		defer func() { _ = c.archive.Close() }() // only read, so an error of closing loses nothing
	}
	parse := parseVisits()
	err = r.files.eachLine(VisitsName, func(n int, b []byte) bool {
		var v sink.Record
		if parse(b, &v) == nil { // the other checks report invalid JSON
			if v.Terms != nil {
				c.some = true
				c.differs(v.URL, n, c.visit(&v, n))
			} else if why := c.missing(&v); why != "" {
				c.absent.Visits++
				c.absent.differs(v.URL, n, why)
			}
		}
		return true
	})
	if missingFile(err) {
		return nil, nil //nolint:nilnil // the check of files says so
	}
	if c.some {
		c.Visits += c.absent.Visits
		c.More += c.absent.More
		for _, d := range c.absent.Differ {
			c.differs(d.URL, d.Line, d.Why)
		}
	}
	if c.Visits == 0 {
		return nil, err
	}
	return &c.TermsCheck, err
}

// differs records a fault of a visit, if why is not "".
func (t *TermsCheck) differs(url string, line int, why string) {
	if why != "" && len(t.Differ) < maxDiffer {
		t.Differ = append(t.Differ, TermsDiffer{url, line, why})
	} else if why != "" {
		t.More++
	}
}

// missing returns why a visit without a record should have one, "" if it should not.
func (c *termsChecker) missing(v *sink.Record) string {
	u, err := weburl.Parse(v.URL)
	switch {
	case err != nil:
		return ""
	case v.Reason == politeness.ReasonUsage || v.Reason == crawler.ReasonPayment:
		return "it was refused, and no statement is recorded"
	case v.Outcome != string(crawler.Fetched) || c.lists[v.URL]:
		return ""
	case !c.exempt[u.Origin()] && c.allSpeak(u):
		return "no statement is recorded, and the files that were kept have some"
	}
	if p, _, err := c.archive.page(v, u); err == nil && p != nil {
		if p.Agent = c.product; len(consent.Read(*p).Statements) > 0 {
			return "no statement is recorded, and the archived answer has some"
		}
	}
	return ""
}

// visit returns the fault of a visit's verdict, "" if there is none.
func (c *termsChecker) visit(v *sink.Record, line int) (why string) {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return ""
	}
	byTerms := v.Reason == politeness.ReasonUsage || v.Reason == crawler.ReasonPayment
	c.Visits++
	page, err := c.page(v, line, u)
	switch {
	case errors.Is(err, errCut):
		c.unread(v, line, err)
		return ""
	case err != nil:
		return err.Error()
	}
	record := consent.Read(page)
	verdict := c.policy.Judge(record)
	t, want := v.Terms, (&crawler.Usage{Record: record, Verdict: verdict}).Terms()
	if why := compare(t.Statements, want.Statements); why != "" {
		return why
	}
	switch {
	case t.Effect != want.Effect || t.Purpose != want.Purpose || t.By != want.By || t.Use != want.Use:
		return fmt.Sprintf("the verdict is recorded as %s, and follows as: %s", cmp.Or(t.Purpose+" "+t.Effect, "none"), verdict)
	case verdict.Refused() && (v.Outcome == string(crawler.Fetched) || v.Outcome == string(crawler.Duplicate)):
		return fmt.Sprintf("its outcome is %s, although %s", v.Outcome, verdict)
	case byTerms && !verdict.Refused():
		return "it was refused, although " + verdict.String()
	}
	return ""
}

// allSpeak reports whether every stored robots.txt of an origin has a statement about the uses of u. If so, one was in force when the
// page was judged.
func (c *termsChecker) allSpeak(u weburl.URL) bool {
	n := 0
	for _, l := range c.kept[u.Origin()] {
		if l.URL != u.RobotsURL().String() || robots.ForStatus(l.Status) != robots.Obey || l.Truncated != "" {
			if l.URL == u.RobotsURL().String() {
				return false
			}
			continue
		}
		f := c.file(sink.TermsFile{URL: l.URL, Status: l.Status, SHA256: l.SHA256}, u)
		if f.group == nil || len(consent.Read(consent.Page{URL: u, Robots: f.group}).Statements) == 0 {
			return false
		}
		n++
	}
	return n > 0
}

// file returns a file that was read for u. Pages of a site share its files, so they are cached.
func (c *termsChecker) file(f sink.TermsFile, u weburl.URL) *termsFile {
	f.Fetched = time.Time{}
	key := termsKey{f, f.URL == u.RobotsURL().String()}
	if x := c.read[key]; x != nil {
		return x
	}
	x, body := &termsFile{}, []byte(nil)
	if f.SHA256 != "" {
		if body, x.err = c.job.RobotsBody(f.SHA256); x.err != nil {
			x.err = fmt.Errorf("%s was not kept: %w", f.URL, x.err)
		} else if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != f.SHA256 {
			x.err = fmt.Errorf("%s is not as it was received", f.URL)
		}
	}
	switch {
	case !key.isRobots:
		x.license, x.tdm = consent.ReadDocument(f.URL, f.Status, f.Error, body)
		x.readable = x.license != nil && f.Error != "" && f.SHA256 != "" && f.Status == http.StatusOK && len(body) < consent.MaxDocument &&
			consent.ParseLicense(f.URL, body).Err() == nil
	case f.SHA256 == "" || body != nil:
		x.group = robots.Parse(body[:min(len(body), robots.MaxSize+1)], robots.WithOrigin(u.Origin()), robots.WithDialect(c.dialect)).For(c.product)
	}
	if len(c.read) >= maxTermsFiles {
		clear(c.read)
	}
	c.read[key] = x
	return x
}

const maxTermsFiles = 1000 // maximum number of cached files

// page reconstructs the page that a visit's verdict was about: the files as stored, the response from the archive and, for missing
// parts, from the visit.
func (c *termsChecker) page(v *sink.Record, line int, u weburl.URL) (p consent.Page, err error) {
	t := v.Terms
	answer, metas, err := c.archive.page(v, u)
	if err != nil {
		c.unread(v, line, fmt.Errorf("its archived answer cannot be read: %w", err))
	}
	if p = (consent.Page{URL: u, Header: http.Header{}}); answer != nil {
		p = *answer
	}
	p.Agent = c.product
	for _, name := range p.Named() {
		if !slices.ContainsFunc(t.Files, func(f sink.TermsFile) bool { return f.URL == name }) {
			return p, fmt.Errorf("the archived answer names the licence %s, and it is not recorded that it was read", name)
		}
	}
	for _, f := range t.Files {
		x := c.file(f, u)
		switch {
		case x.err != nil:
			return p, x.err
		case x.group != nil:
			p.Robots = x.group
		case x.tdm != nil:
			p.TDM = x.tdm
		case x.readable:
			return p, fmt.Errorf("%s is recorded as unreadable (%s), and can be read", f.URL, f.Error)
		case x.license != nil:
			p.Licenses = append(p.Licenses, x.license)
		}
	}
	restated := false
	for i := range t.Statements {
		s := &t.Statements[i]
		if s.Document == "" && (answer == nil || s.Place == string(consent.Meta) && !metas) {
			if len(s.Text) > consent.MaxText-utf8.UTFMax {
				return p, errCut
			}
			restate(&p, s)
			restated = true
		}
	}
	if restated {
		c.FromVisits++
	}
	return p, nil
}

var errCut = errors.New("a statement is too long for a visit, and no archive has the answer")

// unread records a visit that cannot be checked.
func (c *termsChecker) unread(v *sink.Record, line int, why error) {
	if len(c.Unread) < maxDiffer {
		c.Unread = append(c.Unread, TermsDiffer{v.URL, line, why.Error()})
	}
}

// restate adds a recorded statement of a response to a page, so that it can be read again.
func restate(p *consent.Page, s *sink.Statement) {
	add := func(name string) {
		for _, v := range p.Header.Values(name) {
			if v == s.Text {
				return
			}
		}
		p.Header.Add(name, s.Text)
	}
	switch {
	case s.Place == string(consent.Header):
		add(s.Name)
	case s.Place == string(consent.Meta):
		p.Metas = append(p.Metas, robots.Meta{Name: s.Name, Content: s.Text})
	case s.Place == string(consent.Status) && s.Name == "WWW-Authenticate":
		p.Status = http.StatusUnauthorized
		add(s.Name)
	case s.Place == string(consent.Status):
		p.Status = http.StatusPaymentRequired
		if s.Name == "crawler-price" || s.Name == "crawler-error" {
			add(s.Name)
		}
	}
}

// compare describes the difference between the recorded statements and those that were read again.
func compare(recorded, again []sink.Statement) string {
	if len(recorded) != len(again) {
		return fmt.Sprintf("%d statements are recorded, and what was kept has %d", len(recorded), len(again))
	}
	for i, want := range again {
		is := recorded[i]
		if is.Name == "x402" { // the statement is in the body, which is not stored: compare the rest
			is.Name, is.Text = want.Name, want.Text
		}
		if is != want {
			return fmt.Sprintf("the statement %q of %s is recorded, and reads %q of %s, or means something else", is.Name+": "+is.Text, is.Place, want.Name+": "+want.Text, want.Place)
		}
	}
	return ""
}
