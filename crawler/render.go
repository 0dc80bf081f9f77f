package crawler

import (
	"context"
	"time"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/render"
)

// Renderer runs one round of the rendering of a page. It makes no request: what a page wants and Task.Have has no answer
// to is in Result.Missing. It is called concurrently, at most for half of Config.Concurrency pages at a time. An error,
// other than that of the context, leaves the page as it was fetched.
type Renderer interface {
	Round(ctx context.Context, t render.Task) (*render.Result, error)
}

// Rendered is what a page became when its scripts had run.
type Rendered struct {
	Why        string         // the rule that decided to render it, one of render's Rule constants
	Rounds     int            // rounds taken
	Virtual    time.Duration  // how long the page ran by its own clock
	DOM        []byte         // the document, HTML in UTF-8; nil if there is none: then the Visit is of the page as fetched
	Routes     []render.Route // where scripts tried to go: links of the page
	Requests   []render.Fate  // what it requested, and what came of it
	Dropped    int            // requests that Requests has no room for
	Console    []string       // the first lines that it wrote to its console
	Dialogs    int            // that it opened
	Screenshot []byte         // a PNG, if Config.Render wants one
	// Cut is why the page was not rendered to its end, "" if it was: a Cut constant of package render, [CutHost], or
	//
	//	render_failed    the Renderer returned an error: no DOM
	//	render_no_room   there was no memory for another page that waits for answers: no DOM
	//	render_no_gain   earlier renderings of its host gave nothing new: no DOM
	Cut string
}

// content is the page that is read: as it is after rendering, if it was rendered.
func (v *Visit) content() *fetcher.Page {
	if v.shown != nil {
		return v.shown
	}
	return v.Page
}

// rendering is a page between two rounds.
type rendering struct {
	*render.Rendering
	page    *fetcher.Page // as it was fetched
	attempt int           // of its claim when it was fetched
	tries   int           // failed requests for what is missing first
}

// begin starts the rendering of a visit's page, or returns nil if it is to be left as it is: v.Rendered then says why, if it
// was to be rendered.
func (s *renders) begin(v *Visit, j *judge, c *frontier.Claim) *rendering {
	if s == nil || !v.Page.IsHTML() || v.Page.Truncated != "" {
		return nil
	}
	probe := *v
	if out, followed := j.outOfType(&probe); out && !followed {
		return nil
	}
	text, err := v.Page.Text()
	if err != nil {
		return nil
	}
	why := s.cfg.Render.Decide(v.Page.Status, text)
	switch {
	case why == "":
		return nil
	case s.static(v.Page.URL):
		v.Rendered = &Rendered{Why: why, Cut: CutHost}
		return nil
	case why != render.RuleAlways && s.gains.Skip(v.Page.URL.Host()):
		v.Rendered = &Rendered{Why: why, Cut: cutGain}
		return nil
	}
	page := v.Page.Clone()
	if s.reserve(len(page.Body)) {
		document := &render.Answer{Status: page.Status, Header: page.Header, Body: page.Body}
		if r, err := render.Begin(&s.cfg.Render, s.store, page.URL, document, why, page.Started); err == nil {
			x := &rendering{Rendering: r, page: page, attempt: c.Attempt}
			s.attach(x)
			return x
		}
		s.free(len(page.Body))
	}
	v.Rendered = &Rendered{Why: why, Cut: cutStore}
	return nil
}

// visit is the visit of a page that needs no more rounds; res is nil if the Renderer has failed.
func (s *renders) visit(x *rendering, res *render.Result) *Visit {
	v := &Visit{Page: x.page, Outcome: Fetched, Rendered: &Rendered{Why: x.Why(), Rounds: x.Rounds(), Cut: cutRenderer}}
	if res == nil {
		return v
	}
	r := v.Rendered
	r.Virtual, r.DOM, r.Routes, r.Requests, r.Dropped = res.Virtual, res.DOM, res.Routes, res.Requests, res.Dropped
	r.Console, r.Dialogs, r.Screenshot, r.Cut = res.Console, res.Dialogs, res.Screenshot, res.Cut
	if r.DOM == nil {
		return v
	}
	shown := *x.page.Clone()
	shown.Body, shown.Charset, shown.CharsetCertain = r.DOM, "utf-8", true
	v.shown, v.address = &shown, res.URL
	return v
}

// complete adds to the document of a rendered page what it would lack: where scripts tried to go, and links that only the
// page as fetched has, such as those in noscript elements that the browser does not show.
func (s *renders) complete(v *Visit, k *linker) {
	if v.shown == nil {
		return
	}
	s.rebase(v)
	known := map[string]bool{}
	for i := range v.Doc.Links {
		known[v.Doc.Links[i].Ref] = true
	}
	before := len(v.Doc.Links)
	static, err := k.extract(v.Page)
	if err == nil && static != nil {
		s.gain(v, static, known)
		for _, l := range static.Links {
			if !known[l.Ref] {
				v.Doc.Links = append(v.Doc.Links, l)
			}
		}
	}
	for _, r := range v.Rendered.Routes {
		if ref := r.URL.String(); !known[ref] {
			known[ref] = true
			v.Doc.Links = append(v.Doc.Links, extract.Link{Ref: ref, Kind: extract.Anchor, Tag: "script"})
		}
	}
	if limit := s.cfg.Limits.LinksPerPage; len(v.Doc.Links) > limit {
		v.Doc.Links = v.Doc.Links[:max(limit, before)]
	}
}

// rebase makes the document's links relative to the address that scripts have given it.
func (*renders) rebase(v *Visit) {
	if v.address.IsZero() || v.address == v.URL {
		return
	}
	if base, err := v.address.Resolve(v.Doc.Base); err == nil {
		v.Doc.Base = base.String()
	}
}

// gain notes whether rendering has brought anything.
func (s *renders) gain(v *Visit, static *extract.Document, shown map[string]bool) {
	if v.Rendered.Why == render.RuleAlways {
		return
	}
	without := map[string]bool{}
	for i := range static.Links {
		without[static.Links[i].Ref] = true
	}
	added := len(v.Rendered.Routes)
	for ref := range shown {
		if !without[ref] {
			added++
		}
	}
	before, err := v.Page.Text()
	if err == nil {
		s.gains.Note(v.URL.Host(), added, render.Scan(before).Text, render.Scan(v.shown.Body).Text)
	}
}
