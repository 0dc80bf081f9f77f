package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// seen is what a visit says, from its line or as it ends.
type seen struct {
	url     weburl.URL
	depth   int
	at      time.Time
	outcome crawler.Outcome
	status  int
	whole   bool // the body is
	sha256  [32]byte
	valid   fetcher.Validators
	to      string // of a redirect
}

// nothing is the hash of an empty body: of a body that was not kept, too.
var nothing = sha256.Sum256(nil)

// note learns from a visit, and returns the change that it found; Change.Change is "" without one. The caller holds the
// lock.
func (w *Watch) note(s *seen) (c Change) {
	key := w.profile.Key(s.url)
	delete(w.granted, key)
	r := w.pages[key]
	c = Change{URL: s.url.String(), At: s.at.UTC(), Status: s.status}
	switch {
	case s.outcome == crawler.NotModified && r != nil, s.there():
		if r == nil {
			r = w.add(key, s.url, s.depth, s.at)
			c.Change = New
		}
		r.found(s, &c)
	case r == nil: // it was never there
	case s.outcome == crawler.Redirected, s.outcome == crawler.Fetched && (s.status == http.StatusNotFound || s.status == http.StatusGone):
		if !r.gone {
			c.Change, c.Since = Gone, r.last.UTC()
			if s.to != "" {
				c.Change, c.To = Moved, s.to
			}
		}
		r.gone, r.past = true, crawler.Past{}
		r.host.sched.Gone(r.number, s.at)
		r.host.next = time.Time{}
	default:
		r.host.sched.Failed(r.number, s.at)
		r.host.next = time.Time{}
	}
	return c
}

// there reports whether the visit found a page.
func (s *seen) there() bool {
	return (s.outcome == crawler.Fetched || s.outcome == crawler.Duplicate) && s.status == http.StatusOK && s.whole
}

// found notes a visit that found the page.
func (r *ref) found(s *seen, c *Change) {
	before := r.past.SHA256
	sum := s.sha256
	if s.outcome == crawler.NotModified {
		sum = before
	}
	known := before != [32]byte{} && before != nothing && sum != [32]byte{} && sum != nothing
	differs := known && sum != before
	switch {
	case c.Change == New:
	case r.gone:
		c.Change, c.Since = Back, r.last.UTC()
	case differs:
		c.Change, c.Since, c.Before = Changed, r.last.UTC(), hex.EncodeToString(before[:])
	}
	if c.Change != "" {
		c.SHA256 = hex.EncodeToString(sum[:])
	}
	if c.Change != New {
		r.host.sched.Visit(r.number, s.at, differs || r.gone, s.age())
	}
	r.gone, r.last = false, s.at
	r.past = crawler.Past{Validators: s.valid, SHA256: sum}
	r.host.next = time.Time{}
}

// age returns how long before the visit the page changed last, as the site says; 0 if it does not.
func (s *seen) age() time.Duration {
	t, err := http.ParseTime(s.valid.LastModified)
	if err != nil || !t.Before(s.at) {
		return 0
	}
	return s.at.Sub(t)
}

// recall learns from a line of visits.jsonl.
func (w *Watch) recall(v *sink.Record) {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return
	}
	if w.isMap(v) {
		w.maps[w.profile.Key(u)] = &siteMap{url: u, last: v.Ended}
		return
	}
	s := seen{
		url: u, depth: v.Depth, at: v.Ended, outcome: crawler.Outcome(v.Outcome), status: v.Status, whole: v.Truncated == "",
		valid: fetcher.Validators{ETag: strings.Clone(v.ETag), LastModified: strings.Clone(v.LastModified)}, to: v.Final,
	}
	if b, err := hex.DecodeString(v.SHA256); err == nil && len(b) == len(s.sha256) {
		s.sha256 = [32]byte(b)
	}
	w.note(&s)
}

// isMap reports whether a line is that of a sitemap: a robots.txt or another sitemap has named it, without being a page
// that leads to pages.
func (w *Watch) isMap(v *sink.Record) bool {
	via, err := weburl.Parse(v.Via)
	if err != nil || v.Depth != 0 || v.Links != nil && v.Outcome == string(crawler.Fetched) && strings.Contains(v.Type, "html") {
		return false
	}
	return via.PathQuery() == "/robots.txt" || w.maps[w.profile.Key(via)] != nil
}

// handler is the Handler of the crawl.
type handler struct {
	w     *Watch
	inner crawler.Handler // of the program; nil without one
}

// Handle implements crawler.Handler.
func (h *handler) Handle(ctx context.Context, v *crawler.Visit) error {
	if h.inner != nil {
		if err := h.inner.Handle(ctx, v); err != nil {
			return err
		}
	}
	return h.w.visited(v)
}

// visited learns from a visit that ends.
func (w *Watch) visited(v *crawler.Visit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if v.Kind == frontier.KindSitemap {
		w.visitedMap(v, now)
		return nil
	}
	s := seen{url: v.URL, depth: v.Depth, at: now, outcome: v.Outcome, status: v.Status(), sha256: v.SHA256, valid: v.Validators}
	if v.Page != nil {
		s.whole = v.Page.Truncated == ""
		if s.sha256 == ([32]byte{}) && len(v.Page.Body) > 0 {
			s.sha256 = sha256.Sum256(v.Page.Body)
		}
	}
	if v.Outcome == crawler.Redirected {
		s.to = v.Location.String()
	}
	c := w.note(&s)
	if s.there() && strings.Contains(v.Page.ContentType, "xml") && !v.Page.IsHTML() {
		w.announce(v) // a feed
	}
	if c.Change == "" {
		return nil
	}
	if w.cfg.Found != nil {
		w.cfg.Found(c)
	}
	return v.Emit(c)
}

// visitedMap learns from a visit to a sitemap. One that has moved is not requested again; what it moved to is.
func (w *Watch) visitedMap(v *crawler.Visit, now time.Time) {
	key := w.profile.Key(v.URL)
	delete(w.granted, key)
	if v.Outcome == crawler.Redirected {
		delete(w.maps, key)
		return
	}
	w.maps[key] = &siteMap{url: v.URL, last: now}
	if v.Outcome == crawler.Fetched {
		w.announce(v)
	}
}

// announce passes on what a sitemap or a feed says of the times at which pages changed. The caller holds the lock.
func (w *Watch) announce(v *crawler.Visit) {
	if v.Status() != http.StatusOK {
		return
	}
	text, err := v.Page.Text()
	if err != nil {
		return
	}
	sm := extract.Sitemap(bytes.NewReader(text), extract.SitemapOptions{})
	for e, err := sm.Next(); err == nil; e, err = sm.Next() {
		changed, ok := e.Modified()
		to, err := v.URL.Resolve(e.Loc)
		if !ok || err != nil || e.Sitemap {
			continue
		}
		if r := w.pages[w.profile.Key(to)]; r != nil {
			r.host.sched.Announce(r.number, changed)
			r.host.next = time.Time{}
		}
	}
}
