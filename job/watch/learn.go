package watch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// seen holds the facts of a visit, either from its line in visits.jsonl or when it ends.
type seen struct {
	url     weburl.URL
	depth   int
	at      time.Time
	outcome crawler.Outcome
	status  int
	whole   bool // the body is complete
	missed  bool // the recorded line says that the change came without a signal, although signals cover the page
	sha256  [32]byte
	valid   fetcher.Validators
	to      string // target of a redirect
}

// nothing is the hash of an empty body, which also stands for a body that was not kept.
var nothing = sha256.Sum256(nil)

// note learns from a visit, and returns the change that it found; Change.Change is "" if there is none. The caller must hold the lock.
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
	case r == nil: // no page before, and none now: no change
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

// found records a visit that found the page.
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
		c.Signal = r.signal(s)
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

// signal returns Change.Signal for a page that has changed.
func (r *ref) signal(s *seen) string {
	if s.missed {
		r.host.sched.List(r.number)
	}
	switch listed, announced := r.host.sched.Signal(r.number); {
	case announced:
		return Announced
	case listed:
		return Missed
	}
	return ""
}

// age returns the time between the page's last change, according to the site, and the visit; 0 if it is unknown.
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
	said := saidIn(v)
	if w.isMap(v, u) {
		w.maps[w.profile.Key(u)] = &siteMap{url: u, last: v.Ended, moved: v.Outcome == string(crawler.Redirected)}
		w.announced(said.Announced)
		return
	}
	s := seen{
		url: u, depth: v.Depth, at: v.Ended, outcome: crawler.Outcome(v.Outcome), status: v.Status, whole: v.Truncated == "",
		valid: fetcher.Validators{ETag: strings.Clone(v.ETag), LastModified: strings.Clone(v.LastModified)}, to: v.Final,
		missed: said.Signal == Missed,
	}
	if b, err := hex.DecodeString(v.SHA256); err == nil && len(b) == len(s.sha256) {
		s.sha256 = [32]byte(b)
	}
	w.note(&s)
	w.announced(said.Announced)
}

// writtenFields holds the fields of a line that a watch has written.
type writtenFields struct {
	Signal    string               `json:"signal,omitempty"`
	Announced map[string]time.Time `json:"announced,omitempty"`
}

// saidIn returns the fields of a line that a watch has written, without those of other programs.
func saidIn(v *sink.Record) (all writtenFields) {
	for _, d := range v.Data {
		var s writtenFields
		if json.Unmarshal(d, &s) == nil {
			all.Signal = cmp.Or(all.Signal, s.Signal)
			if all.Announced == nil {
				all.Announced = s.Announced
			}
		}
	}
	return all
}

// announced restores the changes that a sitemap or a feed has announced. The caller must hold the lock.
func (w *Watch) announced(all map[string]time.Time) {
	for url, changed := range all {
		if u, err := weburl.Parse(url); err == nil {
			w.announceOne(u, changed)
		}
	}
}

// announceOne passes the time of a page's change to its schedule, and reports whether it is new. The caller must hold the lock.
func (w *Watch) announceOne(u weburl.URL, changed time.Time) bool {
	r := w.pages[w.profile.Key(u)]
	if r == nil {
		return false
	}
	r.host.next = time.Time{}
	return r.host.sched.Announce(r.number, changed)
}

// isMap reports whether a line is a visit to a sitemap: at its first visit a robots.txt or another sitemap had named it, and it is not
// a page that leads to pages.
func (w *Watch) isMap(v *sink.Record, u weburl.URL) bool {
	if w.maps[w.profile.Key(u)] != nil {
		return true
	}
	via, err := weburl.Parse(v.Via)
	if err != nil || v.Depth != 0 || v.Links != nil && v.Outcome == string(crawler.Fetched) && strings.Contains(v.Type, "html") {
		return false
	}
	return via.PathQuery() == "/robots.txt" || w.maps[w.profile.Key(via)] != nil
}

// handler is the Handler of the crawl.
type handler struct {
	w     *Watch
	inner crawler.Handler // handler of the program; may be nil
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

// visited learns from a visit that has ended.
func (w *Watch) visited(v *crawler.Visit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if v.Kind == frontier.KindSitemap {
		return w.visitedMap(v, now)
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
		if err := w.announce(v); err != nil { // an XML page may be a feed
			return err
		}
	}
	if c.Change == "" {
		return nil
	}
	if w.cfg.Found != nil {
		w.cfg.Found(c)
	}
	return v.Emit(c)
}

// visitedMap learns from a visit to a sitemap.
func (w *Watch) visitedMap(v *crawler.Visit, now time.Time) error {
	key := w.profile.Key(v.URL)
	delete(w.granted, key)
	w.maps[key] = &siteMap{url: v.URL, last: now, moved: v.Outcome == crawler.Redirected}
	if v.Outcome == crawler.Fetched {
		return w.announce(v)
	}
	return nil
}

// maxAnnounced limits the announcements in a line. After a kill, others are known again once they are read again.
const maxAnnounced = 10_000

// announce processes the times of changes in a sitemap or a feed. New ones become part of the visit's line, so that they are known
// after a kill. The caller must hold the lock.
func (w *Watch) announce(v *crawler.Visit) error {
	if v.Status() != http.StatusOK {
		return nil
	}
	text, err := v.Page.Text()
	if err != nil {
		return nil //nolint:nilerr // a page that cannot be read announces nothing
	}
	news := map[string]time.Time{}
	sm := extract.Sitemap(bytes.NewReader(text), extract.SitemapOptions{})
	for e, err := sm.Next(); err == nil; e, err = sm.Next() {
		changed, ok := e.Modified()
		to, err := v.URL.Resolve(e.Loc)
		if !ok || err != nil || e.Sitemap {
			continue
		}
		if w.announceOne(to, changed) && len(news) < maxAnnounced {
			news[to.String()] = changed.UTC()
		}
	}
	if len(news) == 0 {
		return nil
	}
	return v.Emit(writtenFields{Announced: news})
}
