// Package robots parses robots.txt files and decides by them whether URLs may be fetched (RFC 9309 and earlier standards). It also reads
// the robots directives and usage preferences of pages. All functions are pure: no I/O, no clock, no state.
//
// [Parse] reads a file once, [Rules.For] finds the group of one robot once, and [Group.Test] then tests any number of paths:
//
//	group := robots.Parse(body).For("ExampleBot")
//	verdict := group.Test("/search?q=1")
//
// A [Verdict] names the line that decided and the line that would have decided otherwise, and [Explain] turns a Verdict into one
// sentence. No input is an error: lines that cannot be read are ignored, and [Rules.Lints] lists them.
//
// [ForStatus] returns the meaning of the status of a response to /robots.txt, and [Freshness] the time for which the response
// may be kept.
//
// # Dialects
//
// A file can be read in five ways, see [Dialect]. [RFC9309] is the default. All share one line parser, so that line numbers,
// lints and explanations are the same.
//
// The default reading goes beyond the RFC in three places, each of which can only refuse more: a Disallow line with several paths
// separated by spaces forbids each of them, a Disallow path without a leading slash is read as if it had one, and a Disallow path that is
// an absolute URL of the same host is read as that URL's path. Robot names may have digits, which the RFC's grammar does not allow.
package robots

import (
	"slices"
	"strings"
)

// MaxSize limits the bytes of a robots.txt that are read: 500 KiB, the lowest limit that RFC 9309 section 2.5 permits. If a body has
// MaxSize bytes or more, the part after the last line end within the limit is ignored, because a rule that is cut short would mean
// something else.
const MaxSize = 500 * 1024

// Rules is one robots.txt file, parsed. It is immutable and safe for concurrent use. The zero Rules is an empty file: it forbids nothing.
type Rules struct {
	body     string // at most MaxSize bytes; if the file was longer, body ends at a line end
	cut      bool   // the file was longer
	lines    []line
	licensed bool // the file has a License line
	dialect  Dialect
	host     string // host of the origin to which the file applies, in lower case; "" if not given
}

// Option changes how Parse reads a file.
type Option func(*options)

type options struct {
	dialect   Dialect
	host      string
	robotsTag []string // values of Robots-Tag headers
}

func optionsOf(opts []Option) options {
	if len(opts) == 0 {
		return options{} // the options are allocated, because a function may change them; most pages have no options
	}
	o := new(options)
	for _, opt := range opts {
		opt(o)
	}
	return *o
}

// WithDialect reads the file by another standard. The default is [RFC9309].
func WithDialect(d Dialect) Option { return func(o *options) { o.dialect = d } }

// WithOrigin names the origin to which the file applies, as scheme://host[:port]. It only matters for Disallow rules that are absolute
// URLs: they apply only if they have this host. Without it, all of them apply.
func WithOrigin(origin string) Option { return func(o *options) { o.host = hostOf(origin) } }

// Parse reads a robots.txt file. It never fails: lines that cannot be read are ignored, and [Rules.Lints] lists them. The body is copied.
// The time is linear in min(len(body), MaxSize).
func Parse(body []byte, opts ...Option) *Rules {
	o := optionsOf(opts)
	b, cut := clip(body)
	r := &Rules{body: string(b), cut: cut, dialect: o.dialect, host: o.host}
	r.lines = readLines(r.body)
	r.licensed = slices.ContainsFunc(r.lines, func(l line) bool { return l.kind == license })
	return r
}

// clip returns the part of a body that is read: the whole body, or its whole lines up to MaxSize.
func clip(body []byte) (b []byte, cut bool) {
	if len(body) < MaxSize {
		return body, false
	}
	cut = len(body) > MaxSize
	body = body[:MaxSize]
	end := MaxSize
	for end > 0 && body[end-1] != '\n' && body[end-1] != '\r' {
		end--
	}
	return body[:end], cut || end < MaxSize
}

// In returns the same file read in another dialect. Both share the parsed lines.
func (r *Rules) In(d Dialect) *Rules {
	c := *r
	c.dialect = d
	return &c
}

// Dialect returns the dialect in which the file is read.
func (r *Rules) Dialect() Dialect { return r.dialect }

// Truncated reports whether the file was longer than [MaxSize], so that its end was ignored.
func (r *Rules) Truncated() bool { return r.cut }

// For returns the group that applies to the robot with this product token; a whole User-Agent header works as well, by [ProductToken]. If
// the file does not name the robot, For returns the group of "*", or an empty group if there is none. For sorts the group's rules, so
// call it once per file and keep the result.
func (r *Rules) For(agent string) *Group {
	if r.dialect == Strictest {
		return strictest(r, agent)
	}
	return newGroup(r, agent)
}

// hostOf returns the host[:port] of an origin or absolute URL, in lower case and without the default port.
func hostOf(origin string) string {
	_, rest, ok := strings.Cut(origin, "://")
	if !ok {
		rest = origin
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = strings.ToLower(rest)
	rest = strings.TrimSuffix(rest, ":80")
	return strings.TrimSuffix(rest, ":443")
}

// Sitemaps returns the values of the Sitemap lines, in order, as written (the sitemaps protocol defines them, see RFC 9309 section
// 2.2.4). They belong to no group and may be relative to the URL of the file. Empty values are left out.
func (r *Rules) Sitemaps() []string { return r.values(sitemap) }

// Host returns the value of the first Host line, with which sites named their main mirror to Yandex, or "". Nothing in this package uses
// it.
func (r *Rules) Host() string { return first(r.values(host)) }

// values returns the non-empty values of the lines of one kind.
func (r *Rules) values(k kind) (out []string) {
	for _, l := range r.lines {
		if l.kind == k && l.value < l.end {
			out = append(out, r.value(l))
		}
	}
	return out
}

// CleanParam is the value of a Clean-param line (Yandex): query parameters that do not change the content of a page.
type CleanParam struct {
	Params []string // names of the parameters
	Path   string   // prefix of the paths to which the line applies, with "*" for any bytes; "" for all paths
	Line   int      // 1-based
}

// CleanParams returns the Clean-param lines, in order. They belong to no group. Nothing in this package uses them.
func (r *Rules) CleanParams() (out []CleanParam) {
	for _, l := range r.lines {
		if l.kind != cleanParam || l.value == l.end {
			continue
		}
		params, path, _ := cutBlank(r.value(l))
		c := CleanParam{Path: path, Line: int(l.num)}
		for p := range strings.SplitSeq(params, "&") {
			if p != "" {
				c.Params = append(c.Params, p)
			}
		}
		out = append(out, c)
	}
	return out
}
