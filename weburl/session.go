package weburl

// Sessionless returns the text of u without the parameters in query and path that identify a visitor's session, and
// true if it had any. [Usual] says what counts as one; nothing else is changed. URLs with the same Sessionless text
// differ in the session only. Do not request it: a server may insist on a session. Sessionless allocates only if
// there was a session.
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
