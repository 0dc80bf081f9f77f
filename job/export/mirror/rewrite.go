package mirror

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	tokens "golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
)

// page replaces the references of a page.
type page struct {
	// replace returns the new text of a reference, and whether its target is in the mirror. ok is false if the reference stays unchanged.
	replace func(ref string) (to string, here, ok bool)
	// text returns text of the page in UTF-8.
	text func(b []byte) string
}

// html returns a page with its references replaced. All other bytes are unchanged.
func (p *page) html(body []byte) []byte {
	z := tokens.NewTokenizer(bytes.NewReader(body))
	out := make([]byte, 0, len(body)+len(body)/8)
	done, style := 0, false
	for {
		kind := z.Next()
		raw := z.Raw()
		if kind == tokens.ErrorToken {
			return append(out, body[done:]...) // the rest, for which the tokenizer has no token, stays unchanged
		}
		done += len(raw)
		switch {
		case kind == tokens.StartTagToken || kind == tokens.SelfClosingTagToken:
			name, _ := tagName(raw)
			out = p.tag(out, raw)
			style = name == "style"
			continue
		case kind == tokens.TextToken && style:
			out = append(out, p.css(string(raw), true, p.text)...)
		default:
			out = append(out, raw...)
		}
		style = false
	}
}

// css returns CSS with its references replaced.
func (p *page) css(s string, sheet bool, text func([]byte) string) string {
	var b strings.Builder
	done := 0
	extract.CSSReferences(s, sheet, func(ref string, from, to int) {
		if strings.HasPrefix(ref, "#") {
			return
		}
		if becomes, _, ok := p.replace(text([]byte(ref))); ok {
			b.WriteString(s[done:from])
			b.WriteString(cssEscaper.Replace(becomes))
			done = to
		}
	})
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// cssEscaper escapes characters that are valid in a URL but not in an unquoted url(). Backslashes are escaped because browsers
// change them if they treat a style attribute as a URL.
var cssEscaper = strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", `"`, "%22", " ", "%20", `\`, "%5C", "<", "%3C")

// attribute is the position of an attribute in a tag.
type attribute struct {
	name     string // lower case
	from, to int    // offsets of the value, without quotes
	quoted   bool
}

// tagName returns the name of a tag in lower case, and the offset behind it.
func tagName(raw []byte) (string, int) {
	i := 1
	for i < len(raw) && !isBlank(raw[i]) && raw[i] != '/' && raw[i] != '>' {
		i++
	}
	return strings.ToLower(string(raw[1:i])), i
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// attributes returns the attributes of a tag, by the rules of the HTML Standard. If two have the same name, the first counts.
func attributes(raw []byte, i int) (all []attribute) {
	end := len(raw)
	if end > 0 && raw[end-1] == '>' {
		end--
	}
	blanks := func() {
		for i < end && isBlank(raw[i]) {
			i++
		}
	}
	for {
		for i < end && (isBlank(raw[i]) || raw[i] == '/') {
			i++
		}
		if i >= end {
			return all
		}
		from := i
		for i++; i < end && !isBlank(raw[i]) && raw[i] != '/' && raw[i] != '='; i++ {
		}
		a := attribute{name: strings.ToLower(string(raw[from:i]))}
		blanks()
		if i >= end || raw[i] != '=' {
			if !hasAttribute(all, a.name) {
				a.from, a.to = i, i
				all = append(all, a)
			}
			continue
		}
		i++
		blanks()
		if i < end && (raw[i] == '"' || raw[i] == '\'') {
			quote := raw[i]
			i++
			a.quoted, a.from = true, i
			for i < end && raw[i] != quote {
				i++
			}
			a.to = i
			i++
		} else {
			a.from = i
			for i < end && !isBlank(raw[i]) {
				i++
			}
			a.to = i
		}
		if a.to <= len(raw) && !hasAttribute(all, a.name) {
			all = append(all, a)
		}
	}
}

func hasAttribute(all []attribute, name string) bool {
	for i := range all {
		if all[i].name == name {
			return true
		}
	}
	return false
}

// tag appends a tag with its references replaced.
func (p *page) tag(out, raw []byte) []byte {
	name, i := tagName(raw)
	all := attributes(raw, i)
	done, here := 0, false
	put := func(a *attribute, value string) {
		if out = append(out, raw[done:a.from]...); a.quoted {
			out = append(out, escaped(value)...)
		} else {
			out = append(append(append(out, '"'), escaped(value)...), '"')
		}
		done = a.to
	}
	value := func(a *attribute) string { return html.UnescapeString(p.text(raw[a.from:a.to])) }
	refresh := false
	for i := range all {
		a := &all[i]
		refresh = refresh || name == "meta" && a.name == "http-equiv" && strings.EqualFold(strings.TrimSpace(value(a)), "refresh")
		if (name == "script" || name == "link") && hasAttribute(all, "integrity") {
			if a.name == "src" || a.name == "href" {
				_, in, ok := p.replace(value(a))
				here = here || in && ok
			}
		}
	}
	for i := range all {
		a := &all[i]
		if to, ok := p.value(name, a, value(a), refresh, here); ok {
			put(a, to)
		}
	}
	return append(out, raw[done:]...)
}

// escaped escapes an attribute's value so that it is the same in any charset.
func escaped(value string) string {
	var b strings.Builder
	for _, r := range html.EscapeString(value) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

// value returns the new value of an attribute.
func (p *page) value(tag string, a *attribute, old string, refresh, here bool) (string, bool) {
	switch {
	case a.from == a.to:
	case tag == "base" && a.name == "href":
		return "", true // all references are resolved now
	case reference(tag, a.name):
		to, _, ok := p.replace(old)
		return to, ok
	case a.name == "srcset" || a.name == "imagesrcset":
		return p.srcset(old)
	case a.name == "style":
		css := p.css(old, false, func(b []byte) string { return string(b) })
		return css, css != old
	case a.name == "integrity":
		return "", here // the style sheet was changed, so its hash no longer matches
	case refresh && a.name == "content":
		ref, ok := extract.MetaRefresh(old)
		at := strings.LastIndex(old, ref)
		if !ok || ref == "" || at < 0 {
			break
		}
		if to, _, ok := p.replace(ref); ok {
			return old[:at] + to + old[at+len(ref):], true
		}
	}
	return "", false
}

// reference reports whether an attribute holds a URL.
func reference(tag, name string) bool {
	switch name {
	case "href", "src", "poster", "background", "action", "formaction", "cite", "longdesc", "xlink:href":
		return true
	case "data":
		return tag == "object"
	}
	return false
}

// srcset replaces the URLs of an image list, by the rules of the HTML Standard.
func (p *page) srcset(old string) (string, bool) {
	var b strings.Builder
	changed := false
	for i := 0; i < len(old); {
		from := i
		for i < len(old) && (isBlank(old[i]) || old[i] == ',') {
			i++
		}
		b.WriteString(old[from:i])
		from = i
		for i < len(old) && !isBlank(old[i]) {
			i++
		}
		ref := strings.TrimRight(old[from:i], ",")
		if to, _, ok := p.replace(ref); ok && ref != "" {
			b.WriteString(to)
			changed = true
		} else {
			b.WriteString(ref)
		}
		b.WriteString(old[from+len(ref) : i])
		if from+len(ref) < i {
			continue // a comma ends an entry without a descriptor
		}
		from = i
		for depth := 0; i < len(old) && (depth > 0 || old[i] != ','); i++ {
			switch old[i] {
			case '(':
				depth++
			case ')':
				depth = max(0, depth-1)
			}
		}
		b.WriteString(old[from:i])
	}
	return b.String(), changed
}
