// Package robots reads robots.txt files and judges URLs by them (RFC 9309 and its relatives), and reads the robots directives
// and usage signals of pages. It is pure: no I/O, no clock, no state.
//
// [Parse] reads a file once, [Rules.For] resolves one robot's group once, and [Group.Test] judges any number of paths by it:
//
//	group := robots.Parse(body).For("ExampleBot")
//	verdict := group.Test("/search?q=1")
//
// A [Verdict] names the line that decided and the line that would have decided otherwise, and [Explain] makes one sentence of
// it. No input is an error: a line that cannot be read is left out, and [Rules.Lints] lists it.
//
// [ForStatus] returns the meaning of the status of a response to /robots.txt, and [Freshness] the time for which the response
// may be kept.
//
// # Dialects
//
// A file can be read in five ways, see [Dialect]. [RFC9309] is the default. All share one line parser, so that line numbers,
// lints and explanations are the same.
//
// The default reading goes beyond the RFC in three places, each of which can only refuse more: a Disallow line with several
// paths separated by spaces forbids each of them, a Disallow path without its leading slash is read with it, and a Disallow
// path that is an absolute URL of the same host is read as that URL's path. Robot names may have digits, which the RFC's
// grammar leaves out.
package robots

import (
	"slices"
	"strings"
)

// MaxSize limits the bytes of a robots.txt that are read: 500 KiB, the lowest limit that RFC 9309 section 2.5 permits. Of a body of
// MaxSize bytes or more, the part after its last line end within the limit is dropped: a rule cut short would mean something
// else.
const MaxSize = 500 * 1024

// Rules is one robots.txt file, parsed. It is immutable and safe for concurrent use.
// The zero Rules is an empty file: it refuses nothing.
type Rules struct {
	body     string // at most MaxSize bytes, ending at a line end when it was cut
	cut      bool   // the file was longer
	lines    []line
	licensed bool // a line is a license
	dialect  Dialect
	host     string // of the origin to which the file applies, lower case; "" when not given
}

// Option changes how Parse reads a file.
type Option func(*options)

type options struct {
	dialect   Dialect
	host      string
	robotsTag []string // values of the header
}

func optionsOf(opts []Option) options {
	if len(opts) == 0 {
		return options{} // A function may change the options, so they are allocated. Most pages have none.
	}
	o := new(options)
	for _, opt := range opts {
		opt(o)
	}
	return *o
}

// WithDialect reads the file by another standard. The default is [RFC9309].
func WithDialect(d Dialect) Option { return func(o *options) { o.dialect = d } }

// WithOrigin names the origin to which the file applies, as scheme://host[:port]. It decides only whether a Disallow rule that
// is written as an absolute URL applies to this host. Without it every such rule does.
func WithOrigin(origin string) Option { return func(o *options) { o.host = hostOf(origin) } }

// Parse reads a robots.txt file. It never fails: a line that cannot be read is left out, and [Rules.Lints] names it. The body
// is copied. The time is linear in min(len(body), MaxSize).
func Parse(body []byte, opts ...Option) *Rules {
	o := optionsOf(opts)
	b, cut := clip(body)
	r := &Rules{body: string(b), cut: cut, dialect: o.dialect, host: o.host}
	r.lines = readLines(r.body)
	r.licensed = slices.ContainsFunc(r.lines, func(l line) bool { return l.kind == license })
	return r
}

// clip returns the part of a body that is read: all of it, or whole lines up to MaxSize.
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

// In returns the same file read in another dialect. It shares the parsed lines.
func (r *Rules) In(d Dialect) *Rules {
	c := *r
	c.dialect = d
	return &c
}

// Dialect returns the dialect in which the file is read.
func (r *Rules) Dialect() Dialect { return r.dialect }

// Truncated reports whether the file was longer than [MaxSize] and was cut.
func (r *Rules) Truncated() bool { return r.cut }

// For returns the group that applies to the robot with this product token; a whole User-Agent header works as well, by
// [ProductToken]. If the file does not name the robot, it is the group of "*", or an empty group if there is none. The call
// sorts the group's rules: resolve once per file and keep the result.
func (r *Rules) For(agent string) *Group {
	if r.dialect == Strictest {
		return strictest(r, agent)
	}
	return newGroup(r, agent)
}

// hostOf returns the host[:port] of an origin or absolute URL in lower case, without the default port.
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

// Sitemaps returns the values of the Sitemap lines, in order, as written (RFC 9309 section 2.2.4 leaves
// them to the sitemaps protocol). They belong to no group and may be relative to the file's address.
// Empty values are left out.
func (r *Rules) Sitemaps() []string { return r.values(sitemap) }

// Host returns the first value of the Host lines, with which a site once named its main mirror to Yandex;
// "" when there is none. Nothing in this package acts on it.
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

// CleanParam is a Clean-param line (Yandex): query parameters that do not change what a page shows.
type CleanParam struct {
	Params []string // names
	Path   string   // the paths for which that holds: a prefix, with "*" for any bytes; "" for all
	Line   int      // 1-based
}

// CleanParams returns the Clean-param lines, in order. They belong to no group. Nothing in this package acts on them.
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
