package robots

import (
	"strconv"
	"strings"
	"time"
)

// WithRobotsTag adds the values of a page's Robots-Tag headers (draft-illyes-repext-03), which [PageDirectives] reads in addition to
// X-Robots-Tag. Both apply.
func WithRobotsTag(values ...string) Option { return func(o *options) { o.robotsTag = values } }

// readRobotsTag reads one Robots-Tag value: a list of robots, each with its directives as parameters ("*;noindex, Bot;nofollow"). A
// directive without a robot applies to every robot, and an error only invalidates the part that contains it. Both are stricter than the
// draft.
func (d *Directives) readRobotsTag(value, product string) {
	for value != "" {
		var member string
		member, value = cutUnquoted(value, ',')
		first, params := cutUnquoted(member, ';')
		name, scoped, colon := strings.Cut(first, ":")
		name = strings.Trim(name, " \t\"")
		switch {
		case isDirective(name) || strings.Contains(name, "="):
			d.readParameter(first)
		case name != "*" && !foldEqual(name, "robots") && (product == "" || !foldEqual(name, product)):
			continue
		case colon: // the value follows a colon, as in X-Robots-Tag
			d.readParameter(scoped)
		}
		for params != "" {
			var p string
			p, params = cutUnquoted(params, ';')
			d.readParameter(p)
		}
	}
}

// isDirective reports whether a name is that of a directive, or several names of directives without commas between them, and not that of
// a robot.
func isDirective(name string) bool {
	words := strings.Fields(strings.ToLower(name))
	return takesValue(name) || len(words) > 0 && allKnown(words)
}

// readParameter reads one directive, with a value after "=" or, as in X-Robots-Tag, after a colon.
func (d *Directives) readParameter(p string) {
	name, value, ok := strings.Cut(p, "=")
	if !ok || strings.Contains(name, ":") {
		d.readChunk(strings.TrimSpace(p), originHeader)
		return
	}
	switch value = strings.TrimSpace(value); {
	case value == "?0":
		return
	case value == "?1":
		value = ""
	case strings.HasPrefix(value, "@"):
		if at, err := strconv.ParseInt(value[1:], 10, 48); err == nil {
			value = time.Unix(at, 0).UTC().Format(time.RFC3339)
		}
	case strings.HasPrefix(value, `"`):
		value = strings.ReplaceAll(strings.Trim(value, `"`), `\`, "")
	}
	if value != "" {
		name += ":" + value
	}
	d.readChunk(name, originHeader)
}

// cutUnquoted cuts s at the first separator outside a quoted string. A quotation mark without a closing one does not quote anything.
func cutUnquoted(s string, sep byte) (before, after string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case sep:
			return s[:i], s[i+1:]
		case '"':
			i += max(0, quotedLen(s[i+1:]))
		}
	}
	return s, ""
}

// quotedLen returns the length of the rest of a quoted string, with its closing quotation mark, or 0 if there is none.
func quotedLen(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
