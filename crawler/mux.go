package crawler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Mux is a Handler that dispatches visits to other Handlers by URL, response and outcome. The zero value is ready to use.
//
//	var mux crawler.Mux
//	mux.On("blog.site.to.crawl/{year}/{slug}", article)
//	mux.On("/feeds/", feed, crawler.OfType("application/rss+xml", "application/atom+xml"))
//	mux.On("", broken, crawler.WithStatus(404, 410))
//	mux.Else(rest)
//
// Routes are tried in the order in which they were added, and the first route that matches gets the visit: add the most specific
// routes first. A visit that matches no route goes to Else's Handler, or is only recorded.
//
// A pattern is [HOST]PATH, matched against the URL without scheme and query:
//
//   - "" matches every URL, and a HOST without a PATH every URL of the host.
//   - HOST is a name as weburl.URL.Hostname returns it, with :PORT if the port matters, or *.NAME for all
//     names that end in .NAME.
//   - "/a/b" matches this path, and "/a/" every path below it. "/a/{$}" matches only "/a/".
//   - in "/a/{x}/c", {x} matches one segment, which must not be empty. {x...}, at the end, matches the
//     rest of the path, which may be empty. [Visit.PathValue] returns the text that matched.
//
// Segments are compared, and values returned, with percent-encoding undone.
//
// A route without WithStatus and WithOutcome is for pages that were fetched successfully: Fetched, with a status from 200 to 299.
// Its Handler therefore need not check whether there is a page.
//
// Routes are added before the crawl begins; from then on a Mux is safe for concurrent use.
type Mux struct {
	routes []route
	rest   Handler
}

type route struct {
	pattern
	conditions []Condition
	handler    Handler
}

// On adds a route: h gets the visits whose URLs match the pattern and that meet all the conditions. It
// panics when the pattern is malformed or h is nil, because both are part of the program's text.
func (m *Mux) On(pattern string, h HandlerFunc, conditions ...Condition) {
	p, err := parsePattern(pattern)
	if err != nil {
		panic(fmt.Sprintf("crawler: Mux.On(%q): %v", pattern, err))
	}
	if h == nil {
		panic(fmt.Sprintf("crawler: Mux.On(%q): nil handler", pattern))
	}
	if !slices.ContainsFunc(conditions, func(c Condition) bool { return c.fate }) {
		conditions = append(slices.Clone(conditions), had)
	}
	m.routes = append(m.routes, route{p, conditions, h})
}

// Else sets the Handler for visits of any outcome that no route matches.
func (m *Mux) Else(h HandlerFunc) { m.rest = h }

// Handle implements [Handler].
func (m *Mux) Handle(ctx context.Context, v *Visit) error {
	path := v.path
	defer func() { v.path = path }()
	for i := range m.routes {
		if r := &m.routes[i]; r.fits(v) {
			return r.handler.Handle(ctx, v)
		}
	}
	if m.rest == nil {
		return nil
	}
	return m.rest.Handle(ctx, v)
}

func (r *route) fits(v *Visit) bool {
	for _, c := range r.conditions {
		if !c.holds(v) {
			return false
		}
	}
	values, ok := r.match(v)
	if ok {
		v.path = append(values, v.path...) // the pattern's own values come before those of an enclosing Mux
	}
	return ok
}

// PathValue returns the text that matched {name} in the pattern of the [Mux] route that handles the visit; "" if the pattern has
// no such name.
func (v *Visit) PathValue(name string) string {
	for _, p := range v.path {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// Condition is a test that a visit must pass for a route of a [Mux], in addition to the pattern.
type Condition struct {
	holds func(v *Visit) bool
	fate  bool // the function holds uses the outcome of the visit
}

// had is the condition of routes that have no condition on the outcome.
var had = Condition{holds: func(v *Visit) bool { return v.Outcome == Fetched && v.Status()/100 == 2 }}

// OfType returns the condition that the response has one of these media types: "text/html", or "image/*" for all types that begin
// with "image/". They are compared with fetcher.Page.ContentType: lower case, without parameters.
func OfType(types ...string) Condition {
	return Condition{holds: func(v *Visit) bool {
		return v.Page != nil && slices.ContainsFunc(types, func(t string) bool {
			begin, wild := strings.CutSuffix(t, "*")
			return v.Page.ContentType == t || wild && strings.HasPrefix(v.Page.ContentType, begin)
		})
	}}
}

// WithStatus returns the condition that there was a response with one of these HTTP statuses. A number from 1 to 5 is a class: 4
// stands for 400 to 499.
func WithStatus(statuses ...int) Condition {
	return Condition{fate: true, holds: func(v *Visit) bool {
		s := v.Status()
		return s != 0 && (slices.Contains(statuses, s) || slices.Contains(statuses, s/100))
	}}
}

// WithOutcome returns the condition that the URL had one of these outcomes.
func WithOutcome(outcomes ...Outcome) Condition {
	return Condition{fate: true, holds: func(v *Visit) bool { return slices.Contains(outcomes, v.Outcome) }}
}

// OfKind returns the condition that the URL was found as one of these kinds.
func OfKind(kinds ...frontier.Kind) Condition {
	return Condition{holds: func(v *Visit) bool { return slices.Contains(kinds, v.Kind) }}
}

// When returns a custom condition. holds is called concurrently.
func When(holds func(v *Visit) bool) Condition { return Condition{holds: holds} }

// pattern describes the URLs that a route matches.
type pattern struct {
	host     string // host in lower case; "" for any
	suffix   bool   // host is the end of a name, including the dot before it
	port     bool   // host includes a port
	segments []segment
	open     bool // the path may continue after the segments
	any      bool // the pattern has no path
}

// segment is the part of a path between two slashes: literal text, or a name that matches any text.
type segment struct {
	text string
	name string // name of the placeholder, without braces
	rest bool   // the placeholder is {name...}
}

type pathValue struct{ name, value string }

// parsePattern reads a pattern of Mux.On.
func parsePattern(s string) (p pattern, err error) {
	host, path, found := strings.Cut(s, "/")
	if err := p.parseHost(host); err != nil {
		return p, err
	}
	if strings.ContainsAny(path, "?#") {
		return p, errors.New("a pattern is of the path alone, without query and fragment")
	}
	if p.any = !found; p.any {
		return p, nil
	}
	return p, p.parsePath(path)
}

func (p *pattern) parseHost(host string) error {
	p.host, p.suffix = strings.CutPrefix(strings.ToLower(host), "*")
	p.port = strings.Contains(strings.TrimPrefix(p.host, "["), ":") && !strings.HasSuffix(p.host, "]")
	if !p.port {
		p.host = strings.Trim(p.host, "[]") // without the brackets of an IPv6 literal
	}
	if strings.ContainsAny(p.host, "{}*?# ") || strings.HasSuffix(p.host, ":") || p.suffix && (len(p.host) < 2 || p.host[0] != '.') {
		return fmt.Errorf("host %q", host)
	}
	return nil
}

// parsePath parses the part after the first slash.
func (p *pattern) parsePath(path string) error {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch seg, err := parseSegment(part); {
		case err != nil:
			return err
		case seg.rest && !last, part == "{$}" && !last:
			return fmt.Errorf("%s must be the last", part)
		case slices.ContainsFunc(p.segments, func(o segment) bool { return o.name == seg.name && seg.name != "" }):
			return fmt.Errorf("{%s} stands there twice", seg.name)
		case part == "" && last:
			p.open = true
		case part == "{$}":
			p.segments = append(p.segments, segment{})
		default:
			p.segments = append(p.segments, seg)
		}
	}
	return nil
}

func parseSegment(part string) (segment, error) {
	name, ok := strings.CutPrefix(part, "{")
	if !ok {
		if strings.ContainsAny(part, "{}") {
			return segment{}, fmt.Errorf("%q: braces are around whole segments", part)
		}
		return segment{text: unescape(part)}, nil
	}
	name, ok = strings.CutSuffix(name, "}")
	name, rest := strings.CutSuffix(name, "...")
	if !ok || name == "" || strings.ContainsAny(name, "{}") {
		return segment{}, fmt.Errorf("%q: want {name} or {name...}", part)
	}
	return segment{name: name, rest: rest}, nil
}

func unescape(s string) string {
	if t, err := url.PathUnescape(s); err == nil {
		return t
	}
	return s
}

// match compares the pattern with the visit's URL and returns the values of the pattern's placeholders.
func (p *pattern) match(v *Visit) (values []pathValue, ok bool) {
	if !p.matchHost(v) {
		return nil, false
	}
	if p.any {
		return nil, true
	}
	left, more := strings.TrimPrefix(v.URL.Path(), "/"), true
	for _, seg := range p.segments {
		if seg.rest && more {
			return append(values, pathValue{seg.name, unescape(left)}), true
		}
		if !more {
			return nil, false
		}
		var part string
		part, left, more = strings.Cut(left, "/")
		part = unescape(part)
		switch {
		case seg.name == "" && part != seg.text, seg.name != "" && part == "":
			return nil, false
		case seg.name != "":
			values = append(values, pathValue{seg.name, part})
		}
	}
	return values, more == p.open
}

func (p *pattern) matchHost(v *Visit) bool {
	host := v.URL.Hostname()
	if p.port {
		host = v.URL.Host()
	}
	return p.host == "" || host == p.host || p.suffix && strings.HasSuffix(host, p.host)
}

// Middleware wraps a Handler.
type Middleware func(Handler) Handler

// Chain wraps h in middleware. The first is outermost: it is called first and returns last.
func Chain(h Handler, around ...Middleware) Handler {
	for _, m := range slices.Backward(around) {
		h = m(h)
	}
	return h
}

// Only passes only the visits with these outcomes to the Handler. All others are recorded without it.
func Only(outcomes ...Outcome) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			if !slices.Contains(outcomes, v.Outcome) {
				return nil
			}
			return h.Handle(ctx, v)
		})
	}
}

// Timeout gives each call a context that ends after d. The Handler must observe the context: its call cannot be aborted, because the
// visit belongs to the Handler until the Handler returns.
func Timeout(d time.Duration) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return h.Handle(ctx, v)
		})
	}
}

// MaxCalls lets at most n calls (at least one) run at once, for Handlers that need a scarce resource. Other calls wait, and the
// hosts of their pages wait with them. If the crawl is cancelled, waiting calls return its context's error, and their URLs stay queued.
func MaxCalls(n int) Middleware {
	places := make(chan struct{}, max(1, n))
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-places }()
			return h.Handle(ctx, v)
		})
	}
}

// Logging writes a record for each call: "visit handled" at level Info, or, if the Handler fails, "visit not handled" at level Warn with
// the error. [SkipLinks] and [Stop] are not errors. The attributes are url, outcome, status, took, and error.
func Logging(l *slog.Logger) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, v *Visit) error {
			began := time.Now()
			err := h.Handle(ctx, v)
			attrs := []slog.Attr{
				slog.String("url", v.URL.String()), slog.String("outcome", string(v.Outcome)), slog.Int("status", v.Status()),
				slog.Duration("took", time.Since(began)),
			}
			if fatal(err) {
				l.LogAttrs(ctx, slog.LevelWarn, "visit not handled", append(attrs, slog.Any("error", err))...)
			} else {
				l.LogAttrs(ctx, slog.LevelInfo, "visit handled", attrs...)
			}
			return err
		})
	}
}
