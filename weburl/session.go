package weburl

// Sessionless is the text of u without the parameters that carry a visitor's session, in query and
// path, and true if it had any. What counts as one is told at [Usual]; nothing else is changed. URLs
// with one Sessionless text differ in the session only. It is no URL to be requested: a server may
// insist on a session. It allocates only when there was one.
func (u URL) Sessionless() (text string, had bool) {
	if u.href == "" {
		return "", false
	}
	var space [512]byte
	path := int(u.marks.path)
	dst := append(space[:0], u.href[:path]...)
	dst = appendSessionless(dst, u.Path())
	query := u.href[u.marks.query:]
	for i, sep := 1, byte('?'); i <= len(query); {
		p := parameterAt(query, i)
		if !isSession(query[p.start:p.end]) {
			dst = append(append(dst, sep), query[p.start:p.end]...)
			sep = '&'
		}
		i = p.end + 1
	}
	if len(dst) == len(u.href) {
		return u.href, false
	}
	return string(dst), true
}
