package crawler

import (
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/charset"
)

// linker reads pages. It reuses its buffers, so that a page without new links needs hardly any new memory. It is not safe for concurrent
// use.
type linker struct {
	judge   *judge
	cfg     *Config
	around  *aroundExtract // nil without Config.AroundExtract
	scanner *extract.Scanner
	xhtml   *extract.Scanner // scanner for XHTML pages; nil before the first
	res     *weburl.Resolver
	encoder weburl.Encoder // encoder of the current page
	keys    []weburl.Key
	known   []bool
	final   []bool     // by index in keys: no priority of this page's links raises the queued URL further
	follow  []followed // the links whose keys are in keys
	judged  *verdicts
	counts  map[Fate]int // number of the page's links by fate
	grown   bool         // a page with very many links has enlarged the buffers, so they should not be kept
}

// manyLinks is a number of links that hardly any page exceeds.
const manyLinks = 1000

// followed is a link to be followed.
type followed struct {
	at     int   // index in the Document's Links
	beyond uint8 // as in frontier.Request
}

func newLinker(j *judge) *linker {
	return &linker{
		judge:   j,
		cfg:     j.cfg,
		scanner: extract.NewScanner(j.cfg.extraction()),
		res:     weburl.NewResolver(weburl.URL{}, j.cfg.Canonical),
		judged:  newVerdicts(),
		counts:  map[Fate]int{},
	}
}

// extraction returns the options for reading pages.
func (c *Config) extraction() extract.Options {
	o := c.Extract
	o.Resources, o.MaxLinks = c.Follow.Resources, c.Limits.LinksPerPage
	return o
}

// scannerOf returns the scanner for a page.
func (k *linker) scannerOf(p *fetcher.Page) *extract.Scanner {
	if !p.IsXHTML() {
		return k.scanner
	}
	if k.xhtml == nil {
		o := k.cfg.extraction()
		o.XML = true
		k.xhtml = extract.NewScanner(o)
	}
	return k.xhtml
}

// linkers holds the idle linkers of a run, which keep no data of the pages that they have read. The linker used last is used next, so
// that the buffers of a few linkers stay in the processors' caches: there are as many workers as requests in flight, but not more pages
// are read at once than there are processors. No more linkers with grown buffers are kept than there are processors.
type linkers struct {
	mu     sync.Mutex
	idle   []*linker
	around *aroundExtract // nil without Config.AroundExtract
}

// take returns a linker for one page. put must return it.
func (l *linkers) take(j *judge) *linker {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.idle) - 1
	if last < 0 {
		k := newLinker(j)
		k.around = l.around
		return k
	}
	k := l.idle[last]
	l.idle[last] = nil // the list must not keep a linker that is never put back
	l.idle = l.idle[:last]
	return k
}

func (l *linkers) put(k *linker) {
	k.scanner.Reset()
	if k.xhtml != nil {
		k.xhtml.Reset()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !k.grown || len(l.idle) < runtime.GOMAXPROCS(0) {
		l.idle = append(l.idle, k)
	}
}

// extract calls read and recovers from its panics.
func (k *linker) extract(p *fetcher.Page) (doc *extract.Document, err error) {
	defer func() {
		if x := recover(); x != nil {
			part := "Config.Extractor"
			if k.around != nil {
				part = "Config.AroundExtract"
			}
			err = &PanicError{part, x, debug.Stack()}
		}
	}()
	if k.around == nil {
		return k.read(p)
	}
	doc, err = k.around.extract(k, p)
	k.limit(doc)
	return doc, err
}

// limit applies Limits.LinksPerPage to a document made by a custom extractor.
func (k *linker) limit(doc *extract.Document) {
	if doc != nil {
		kept := min(len(doc.Links), k.cfg.Limits.LinksPerPage)
		doc.Dropped += len(doc.Links) - kept
		doc.Links = doc.Links[:kept]
	}
}

// aroundExtract calls the Extractor that Config.AroundExtract returned, and passes the linker of the page to the Extractor that the former
// wraps.
type aroundExtract struct {
	outer   Extractor
	judge   *judge
	linkers sync.Map // maps a *fetcher.Page to its *linker, until the wrapped Extractor is called
}

func newAroundExtract(j *judge, around func(Extractor) Extractor) *aroundExtract {
	if around == nil {
		return nil
	}
	a := &aroundExtract{judge: j}
	a.outer = around(innerExtract{a})
	return a
}

func (a *aroundExtract) extract(k *linker, p *fetcher.Page) (*extract.Document, error) {
	a.linkers.Store(p, k)
	defer a.linkers.Delete(p)
	return a.outer.Extract(p)
}

// innerExtract is the Extractor that is passed to Config.AroundExtract.
type innerExtract struct{ of *aroundExtract }

// Extract reads a page like a crawl without AroundExtract. A second call for the same page, or for a copy of it, uses new buffers,
// because the linker's buffers hold the first Document.
func (i innerExtract) Extract(p *fetcher.Page) (*extract.Document, error) {
	if k, ok := i.of.linkers.LoadAndDelete(p); ok {
		return k.(*linker).read(p)
	}
	return newLinker(i.of.judge).read(p)
}

// read returns a page's document, made by the Config's Documents or Extractor or, for HTML, by the linker's scanner. Other media types
// have no document.
func (k *linker) read(p *fetcher.Page) (*extract.Document, error) {
	cfg := k.cfg
	if cfg.readsDocuments(p.ContentType) {
		doc, err := cfg.Documents.Extract(p)
		k.limit(doc)
		return doc, err
	}
	if cfg.Extractor != nil {
		return cfg.Extractor.Extract(p)
	}
	if !cfg.parses(p.ContentType) {
		return nil, nil
	}
	text, err := p.Text()
	switch {
	case err != nil:
		return nil, err
	case p.ContentType == typeCSS:
		return extract.CSS(text), nil
	case !p.IsHTML():
		return extract.Feed(text), nil
	}
	doc := k.scannerOf(p).ScanBytes(text)
	k.grown = k.grown || len(doc.Links) > manyLinks
	doc.Links = append(doc.Links, extract.LinkHeader(p.Header.Values("Link"))...)
	if ref, ok := extract.MetaRefresh(p.Header.Get("Refresh")); ok && ref != "" {
		doc.Links = append(doc.Links, extract.Link{Ref: ref, Kind: extract.Refresh})
	}
	return doc, nil
}

const typeCSS = "text/css"

// reads reports whether bodies of a type are received completely because of their links. With AroundExtract these are all types,
// because the types that it reads are unknown.
func (c *Config) reads(contentType string) bool {
	return c.AroundExtract != nil || c.parses(contentType)
}

// parses reports whether bodies of a type are read for links, without AroundExtract.
func (c *Config) parses(contentType string) bool {
	switch contentType {
	case "text/html", "application/xhtml+xml":
		return true
	case typeCSS:
		return c.Follow.Resources || c.Extractor != nil
	}
	return c.Extractor != nil || c.Follow.Feeds && mayBeFeed(contentType) || c.readsDocuments(contentType)
}

// mayBeFeed reports whether documents of a media type can be feeds: RFC 4287 section 7 for Atom and JSON Feed section "Suggestions
// for Publishers" register types, RSS has no registered type, and many feeds have a generic XML or JSON type.
func mayBeFeed(contentType string) bool {
	switch contentType {
	case "application/atom+xml", "application/rss+xml", "application/rdf+xml", "application/feed+json",
		"text/xml", "application/xml", "application/json":
		return true
	}
	return false
}

// sort decides about every link of the visit's document and counts the links by fate. It returns Requests for links that may be new, and
// for links that may raise the priority of queued URLs.
func (k *linker) sort(v *Visit) (news, raises []frontier.Request) {
	clear(k.counts)
	v.linker, v.counts = k, k.counts
	k.open(v)
	k.keys, k.follow = k.keys[:0], k.follow[:0]
	for i := range v.Doc.Links {
		d := k.decide(v, &v.Doc.Links[i])
		if d.fate == FateFollow {
			k.keys, k.follow = append(k.keys, d.key), append(k.follow, followed{i, d.beyond})
		} else {
			v.counts[d.fate]++
		}
	}
	if len(k.follow) > 0 {
		v.counts[FateFollow] = len(k.follow)
	}
	if v.Doc.Dropped > 0 {
		v.counts[FateLimit] = v.Doc.Dropped
	}
	return k.news(v), k.raises(v)
}

// news returns Requests for those links in k.follow that the frontier may not know yet.
func (k *linker) news(v *Visit) []frontier.Request {
	k.known = slices.Grow(k.known[:0], len(k.keys))[:len(k.keys)]
	clear(k.known)
	if k.judge.queue != nil {
		k.judge.queue.Known(k.keys, v.Depth+1, k.unraised(), k.known)
	}
	var queue []frontier.Request
	in := k.judge.room()
	for i, f := range k.follow {
		if k.known[i] {
			continue
		}
		view, err := k.resolve(&v.Doc.Links[f.at])
		if err != nil {
			continue // cannot happen: decide has resolved the link
		}
		u := view.URL()
		if why := k.enter(in, u); why != FateFollow {
			v.counts[FateFollow]--
			v.counts[why]++
			continue
		}
		queue = append(queue, frontier.Request{URL: u, Depth: v.Depth + 1, Via: v.URL, Beyond: f.beyond})
		q := &queue[len(queue)-1]
		q.Priority, q.Score = k.judge.priorities.link(v, f.at, u)
	}
	return queue
}

// unraised returns the highest priority that a link may have without raising the priority of a queued URL. If priorities depend on the
// linking page, raises checks further.
func (k *linker) unraised() int8 {
	if k.judge.priorities.none() {
		return 0
	}
	return lowest
}

// raises returns Requests for links in k.follow to known URLs whose priority they may raise. It is called after news.
func (k *linker) raises(v *Visit) (queue []frontier.Request) {
	if k.judge.priorities.firm() || k.judge.queue == nil {
		return nil
	}
	k.final = slices.Grow(k.final[:0], len(k.keys))[:len(k.keys)]
	clear(k.final)
	k.judge.queue.Known(k.keys, v.Depth+1, math.MaxInt8, k.final)
	for i, f := range k.follow {
		if !k.known[i] || k.final[i] {
			continue
		}
		view, err := k.resolve(&v.Doc.Links[f.at])
		if err != nil {
			continue // cannot happen: decide has resolved the link
		}
		u := view.URL()
		p, score := k.judge.priorities.link(v, f.at, u)
		if k.judge.cfg.Score != nil || p > lowest && !k.judge.knows(u, v.Depth+1, p) {
			queue = append(queue, frontier.Request{URL: u, Depth: v.Depth + 1, Priority: p, Score: score, Via: v.URL, Beyond: f.beyond})
		}
	}
	return queue
}

// enter admits a possibly new URL to the queue, or returns the fate with which it is rejected.
func (k *linker) enter(in *room, u weburl.URL) Fate {
	switch {
	case !in.has(u):
		return FateFull
	case k.judge.trapCounts.enter(u) != "":
		return FateTrap
	}
	in.take(u)
	return FateFollow
}

// decided is the fate of a link, and further data about it.
type decided struct {
	verdict
	key    weburl.Key // zero when the link was not resolved
	beyond uint8      // with FateFollow: number of links followed beyond the scope, as in frontier.Request
}

func fated(f Fate, rule string) decided { return decided{verdict: verdict{fate: f, rule: rule}} }

// decide decides about one link, with the cheapest checks first.
func (k *linker) decide(v *Visit, l *extract.Link) decided {
	cfg := k.cfg
	switch {
	case !cfg.Follow.Resources && !navigates(*l), l.Rel&extract.Preconnect != 0: // a preconnect link names an origin, not a page
		return fated(FateResource, "not navigation")
	case v.Directives.NoFollow:
		return fated(FateNoFollow, "page nofollow")
	case v.Page.Status < 200 || v.Page.Status > 299:
		// Sites respond with error pages to any URL, so following the relative links of error pages would never end.
		return fated(FateNoFollow, "error page")
	case cfg.Sample.N > 0:
		return fated(FateDepth, "sample")
	case v.Beyond > 0 && v.Beyond >= cfg.Scope.Beyond:
		return fated(FateScope, beyondRules[min(v.Beyond, frontier.MaxBeyond)].last)
	case l.Rel&extract.NoFollow != 0 && !cfg.Follow.NoFollow:
		return fated(FateNoFollow, "rel=nofollow")
	}
	view, err := k.resolve(l)
	if err != nil {
		return fated(FateInvalid, weburl.ReasonOf(err))
	}
	if limit := k.judge.limit(len(view.Bytes()), v.Depth+1); limit.fate != FateFollow {
		return decided{verdict: limit}
	}
	d := decided{key: view.Key()}
	d.verdict = k.judged.of(d.key, l.Kind, func() verdict { return k.judge.belongs(k.look(view), kindOf(l.Kind)) })
	if d.fate == FateScope {
		k.judge.stretch(&d, v, l)
	}
	return d
}

// look returns the URL to judge. For a SeedScope, which does not retain the URL, it is only valid until the next call and needs no
// memory; another Scope gets a copy.
func (k *linker) look(view weburl.View) weburl.URL {
	if _, own := k.judge.scope.(*SeedScope); own {
		return view.Peek()
	}
	return view.URL()
}

// Links returns the page's links in document order, each with its fate. It computes them at each call, and may only be called while
// the Visit is valid.
func (v *Visit) Links() []Link {
	if v.Doc == nil || v.linker == nil {
		return nil
	}
	k := v.linker
	k.open(v)
	links := make([]Link, len(v.Doc.Links))
	for i := range v.Doc.Links {
		l := &v.Doc.Links[i]
		d := k.decide(v, l)
		links[i] = Link{Link: *l, Fate: d.fate, Rule: d.rule}
		if view, err := k.resolve(l); err == nil {
			links[i].URL = view.URL()
		}
	}
	return links
}

// navigates reports whether a link leads to another page rather than to a resource of this page.
func navigates(l extract.Link) bool {
	if l.Kind != extract.LinkRel {
		return l.Kind.Navigation()
	}
	return l.Rel&(extract.Next|extract.Prev|extract.Alternate|extract.Canonical) != 0 &&
		l.Rel&(extract.Stylesheet|extract.Icon) == 0
}

// open prepares the linker to resolve the visit's links.
func (k *linker) open(v *Visit) {
	k.encoder = v.encoder()
	k.res.Reset(v.base())
}

// resolve resolves a link of the visit passed to open. The encoding of a page applies to references in its elements, not to those
// in CSS (CSS Values 4, section "URL processing model") or in Link header fields.
func (k *linker) resolve(l *extract.Link) (weburl.View, error) {
	if l.Tag == "" || l.Kind == extract.Style || l.Kind == extract.Import {
		return k.res.Resolve(l.Ref)
	}
	return k.res.ResolveIn(k.encoder, l.Ref)
}

// encoder returns the encoder for the queries of references on the visit's page (HTML Standard section 2.4.3). nil means UTF-8.
func (v *Visit) encoder() weburl.Encoder {
	if v.Page == nil || !v.Page.IsHTML() {
		return nil
	}
	return charset.Encoder(v.content().Charset)
}

// base returns the base URL of the visit's links. If the document names a base that cannot be requested, such as "mailto:", base returns
// the zero URL, so that only absolute references are valid. A browser accepts such a base, too: it falls back to the address of the page
// only if the base is not a URL at all (HTML Standard section 4.2.3, set the frozen base URL).
func (v *Visit) base() weburl.URL {
	if v.Doc == nil || v.Doc.Base == "" {
		return v.URL
	}
	b, err := v.URL.ResolveIn(v.encoder(), v.Doc.Base)
	if weburl.ReasonOf(err) == weburl.ReasonSyntax {
		return v.URL
	}
	return b
}

// target resolves a reference that is not a link of the document in the same way as a link.
func (v *Visit) target(ref string) (weburl.URL, error) { return v.base().ResolveIn(v.encoder(), ref) }
