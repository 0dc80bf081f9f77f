package robots

import "strings"

// MaxSize is how many bytes of a robots.txt are read: 500 KiB, the least limit that RFC 9309 section 2.5 permits. Of a body of
// MaxSize bytes or more, the part after its last line end within the limit is dropped: a rule cut short would mean something
// else.
const MaxSize = 500 * 1024

// Rules is one robots.txt file, parsed. It is immutable and safe for concurrent use.
// The zero Rules is an empty file: it refuses nothing.
type Rules struct {
	body    string // at most MaxSize bytes, ending at a line end when it was cut
	cut     bool   // the file was longer
	lines   []line
	dialect Dialect
	host    string // of the origin to which the file applies, lower case; "" when not given
}

// Option changes how Parse reads a file.
type Option func(*options)

type options struct {
	dialect   Dialect
	host      string
	robotsTag []string // values of the header
}

// WithDialect reads the file by another standard. The default is [RFC9309].
func WithDialect(d Dialect) Option { return func(o *options) { o.dialect = d } }

// WithOrigin names the origin to which the file applies, as scheme://host[:port]. It decides only whether a Disallow rule that
// is written as an absolute URL applies to this host. Without it every such rule does.
func WithOrigin(origin string) Option { return func(o *options) { o.host = hostOf(origin) } }

// Parse reads a robots.txt file. It never fails: a line that cannot be read is left out, and [Rules.Lints] names it. The body
// is copied. The time is linear in min(len(body), MaxSize).
func Parse(body []byte, opts ...Option) *Rules {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	b, cut := clip(body)
	r := &Rules{body: string(b), cut: cut, dialect: o.dialect, host: o.host}
	r.lines = readLines(r.body)
	return r
}

// clip is what is read of a body: all of it, or whole lines up to MaxSize.
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

// In is the same file read in another dialect. It shares the parsed lines.
func (r *Rules) In(d Dialect) *Rules {
	c := *r
	c.dialect = d
	return &c
}

// Dialect is how the file is read.
func (r *Rules) Dialect() Dialect { return r.dialect }

// Truncated reports whether the file was longer than [MaxSize] and was cut.
func (r *Rules) Truncated() bool { return r.cut }

// For is the group that applies to the robot with this product token; a whole User-Agent header works as well, by
// [ProductToken]. When the file does not name the robot, it is the group of "*", or an empty group without one. The time is
// that of sorting the group's rules: resolve once per file and keep the result.
func (r *Rules) For(agent string) *Group {
	if r.dialect == Strictest {
		return strictest(r, agent)
	}
	return newGroup(r, agent)
}

// hostOf is the host[:port] of an origin or absolute URL in lower case, without the default port.
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
