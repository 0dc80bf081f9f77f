package robots

import "strings"

// Sitemaps are the values of the Sitemap lines, in order, as written (RFC 9309 section 2.2.4 leaves
// them to the sitemaps protocol). They belong to no group and may be relative to the file's address.
// Empty values are left out.
func (r *Rules) Sitemaps() []string { return r.values(sitemap) }

// Host is the first value of the Host lines, by which a site once named its main mirror to Yandex;
// "" when there is none. Nothing in this package acts on it.
func (r *Rules) Host() string { return first(r.values(host)) }

// values are the non-empty values of the lines of one kind.
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
	Path   string   // where they do not; "" everywhere. A prefix, with "*" for any bytes
	Line   int      // 1-based
}

// CleanParams are the Clean-param lines, in order. They belong to no group. Nothing in this package
// acts on them.
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
