package weburl

import "strings"

// masked replaces user information.
const masked = "*****"

// withoutBreaks removes the characters that the URL Standard removes first. It is made once, because most pages have a mailto link, which
// is rejected.
var withoutBreaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// Redact returns text that was meant to be a URL, with user and password masked, so that it can be shown. It also masks text that is not
// user information by the URL Standard, such as a password with a slash in it. It is for text that Parse or Resolve has rejected; text
// that they accept contains no user information.
func Redact(text string) string {
	if strings.IndexByte(text, '@') < 0 {
		return text
	}
	s := withoutBreaks.Replace(text)
	start := authorityStart(s)
	if start < 0 {
		return text
	}
	rest := s[start:]
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 && oddPort(rest[:end]) {
		at = strings.LastIndexByte(rest, '@')
	}
	if at <= 0 {
		return text
	}
	return s[:start] + masked + rest[at:]
}

// Shown returns references that may be shown: those that are not valid URLs are redacted.
func Shown(refs []string) []string {
	res := make([]string, len(refs))
	for i, ref := range refs {
		if _, err := Parse(ref); err != nil {
			ref = Redact(ref)
		}
		res[i] = ref
	}
	return res
}

// authorityStart returns the index at which user information could begin, after the scheme and slashes. It returns -1 for a reference
// that has neither, which is a path.
func authorityStart(s string) int {
	i := len(s) - len(strings.TrimLeftFunc(s, func(r rune) bool { return r <= ' ' }))
	colon := strings.IndexByte(s[i:], ':')
	scheme := colon > 0 && strings.Trim(s[i:i+colon], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") == ""
	if scheme {
		i += colon + 1
	}
	slashes := len(s[i:]) - len(strings.TrimLeft(s[i:], `/\`))
	if !scheme && slashes < 2 {
		return -1
	}
	return i + slashes
}

// oddPort reports whether the text after the last colon of a host is not a port.
func oddPort(host string) bool {
	colon := strings.LastIndexByte(host, ':')
	return colon > strings.LastIndexByte(host, ']') && strings.Trim(host[colon+1:], "0123456789") != ""
}
