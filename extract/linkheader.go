package extract

import "strings"

// LinkHeader reads the values of Link header fields (RFC 8288 section 3 and appendix B.2). The links have the kind
// LinkRel and no tag. Links with an anchor parameter, whose context is not the requested document, are left out
// (section 3.2), and so are links without rel. A syntax error ends the value that contains it. At most 1,000 links
// are read.
func LinkHeader(values []string) []Link {
	var links []Link
	for _, v := range values {
		for v != "" && len(links) < maxHeaderLinks {
			var l Link
			var ok bool
			l, v, ok = cutLinkValue(v)
			if ok {
				links = append(links, l)
			}
		}
	}
	return links
}

const maxHeaderLinks = 1_000

// cutLinkValue reads the first link of a field value and returns the text after it.
func cutLinkValue(s string) (l Link, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t,")
	if s == "" || s[0] != '<' {
		return l, "", false
	}
	end := strings.IndexByte(s, '>')
	if end < 0 {
		return l, "", false
	}
	l = Link{Ref: trimRef(s[1:end]), Kind: LinkRel}
	var p linkParams
	rest = p.read(s[end+1:])
	l.Rel, l.Type, l.Text = parseRel(p.rel), p.mediaType, p.title
	return l, rest, l.Ref != "" && l.Rel != 0 && !p.anchored
}

// linkParams holds those parameters of a link that are used. The first one of each name applies.
type linkParams struct {
	rel, mediaType, title string
	hasRel, anchored      bool
}

// read reads the parameters at the beginning of s and returns the text after the comma that ends them.
func (p *linkParams) read(s string) string {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return ""
		}
		if s[0] == ',' {
			return s[1:]
		}
		if s[0] != ';' {
			return ""
		}
		var name, val string
		name, val, s = cutParam(strings.TrimLeft(s[1:], " \t"))
		p.set(lowered(name), val)
	}
}

func (p *linkParams) set(name, val string) {
	switch {
	case name == "rel" && !p.hasRel:
		p.rel, p.hasRel = val, true
	case name == "anchor":
		p.anchored = true
	case name == "type" && p.mediaType == "":
		p.mediaType = val
	case name == "title" && p.title == "":
		p.title = strings.Join(strings.Fields(val), " ")
		p.title = p.title[:cut(p.title, maxText)]
	}
}

// cutParam reads "name=value" or "name" at the beginning of s. The value may be quoted.
func cutParam(s string) (name, val, rest string) {
	n := strings.IndexAny(s, " \t=;,")
	if n < 0 {
		return s, "", ""
	}
	name, s = s[:n], strings.TrimLeft(s[n:], " \t")
	if s == "" || s[0] != '=' {
		return name, "", s
	}
	s = strings.TrimLeft(s[1:], " \t")
	if s != "" && s[0] == '"' {
		val, rest = cutQuoted(s)
		return name, val, rest
	}
	n = strings.IndexAny(s, ";,")
	if n < 0 {
		n = len(s)
	}
	return name, strings.TrimRight(s[:n], " \t"), s[n:]
}

// cutQuoted reads a quoted-string (RFC 9110 section 5.6.4) at the beginning of s, which is its opening quotation mark.
func cutQuoted(s string) (val, rest string) {
	var b []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return string(b), s[i+1:]
		case '\\':
			if i++; i < len(s) {
				b = append(b, s[i])
			}
		default:
			b = append(b, s[i])
		}
	}
	return string(b), ""
}
