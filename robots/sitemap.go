package robots

// Sitemaps are the values of the Sitemap lines, in order, as written. They belong to no group and
// may be relative to the file's address. Empty values are left out.
func (r *Rules) Sitemaps() []string { return r.values(sitemap) }

// values are the non-empty values of the lines of one kind.
func (r *Rules) values(k kind) (out []string) {
	for _, l := range r.lines {
		if l.kind == k && l.value < l.end {
			out = append(out, r.value(l))
		}
	}
	return out
}
