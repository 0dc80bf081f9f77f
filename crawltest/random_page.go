package crawltest

import (
	"fmt"
	"html"
	"strings"
)

// serve adds a node to its site.
func (b *builder) serve(n *node) {
	p := n.host.site.Page(n.path, "")
	if n.fault != nil {
		p.Fault(*n.fault)
	}
	if n.forbidden {
		p.Forbidden()
	}
	if n.host.far {
		p.Header("Connection", "close")
	}
	var body string
	switch n.kind {
	case nodePage:
		body = b.html(n, p)
	case nodeText:
		p.Type("text/plain; charset=utf-8")
		body = b.traps(n) + "no links here\n"
	case nodeRedirect:
		p.Status(pick(b, []int{301, 302, 303, 307, 308})).Location(b.spell(n, n.to, n.path))
		body = "moved\n"
	case nodeMissing:
		p.Status(404)
		body = "not found, this page is\n"
	case nodeHidden:
		body = "nobody links to this page\n"
	}
	p.set(func() { p.body = body })
}

// html returns the HTML of a page with its links, in random spellings, and its traps.
func (b *builder) html(n *node, p *Page) string {
	var s strings.Builder
	s.WriteString("<!DOCTYPE html>\n<html><head><title>" + html.EscapeString(n.path) + "</title>\n")
	base := n.path
	if b.chance(10) {
		base = "/some/where/else.html"
		fmt.Fprintf(&s, "<base href=\"%s\">\n", n.host.site.URL(base))
	}
	if n.nofollow {
		if b.chance(50) {
			s.WriteString("<meta name=\"robots\" content=\"noindex, NOFOLLOW\">\n")
		} else {
			p.Header("X-Robots-Tag", "nofollow")
		}
	}
	s.WriteString("</head><body>\n")
	for _, to := range n.links {
		s.WriteString(b.anchor(b.spell(n, to, base)))
	}
	s.WriteString(b.traps(n))
	s.WriteString("</body></html>\n")
	return s.String()
}

// anchor returns a link.
func (b *builder) anchor(href string) string {
	if b.chance(5) {
		href = " \n" + href + "\t"
	}
	href = strings.ReplaceAll(html.EscapeString(href), "&amp;", pick(b, []string{"&amp;", "&#38;", "&#x26;"}))
	return fmt.Sprintf(pick(b, []string{
		"<p><a href=\"%s\">a link</a>\n", "<A HREF='%s'>a link</A>\n", "<a class=x href = \"%s\" title='y'>a link<a>\n", "<div><a href=\"%s\" /></div>\n",
	}), href)
}

// traps returns text that mentions the node's hidden URLs in places where they are not links.
func (b *builder) traps(n *node) string {
	var s strings.Builder
	for _, h := range n.hidden {
		u := h.url()
		a := fmt.Sprintf("<a href=\"%s\">x</a>", u)
		s.WriteString(pick(b, []string{
			"<!-- " + a + " -->\n",
			"<script>var s = '" + a + "'; location = \"" + u + "\"</script>\n",
			"<style>a::after { content: '" + a + "' }</style>\n",
			"<textarea>" + a + "</textarea>\n",
			"<p>see " + u + "\n",
			"<a data-href=\"" + u + "\" name=\"" + u + "\">x</a>\n",
			"<a href=\"javascript:location='" + u + "'\">x</a>\n",
			"<a href=\"view-source:" + u + "\">x</a><a href=\"mailto:x@h0.example\">y</a>\n",
			"<p title='" + a + "'>x</p>\n",
			"<![CDATA[" + a[:len(a)-len("x</a>")] + "]]>\n",
		}))
	}
	return s.String()
}

// spell returns a spelling of the link from one node to another that a browser resolves correctly against base, a path of from's host.
func (b *builder) spell(from, to *node, base string) string {
	var link string
	same := from.host == to.host
	switch {
	case same && b.chance(40):
		link = b.dots(b.escape(to.path))
	case same && b.chance(60):
		link = relative(base, b.escape(to.path), b.rng.IntN(2)*b.rng.IntN(4))
	case from.host.site.scheme == to.host.site.scheme && b.chance(20):
		link = strings.TrimPrefix(to.host.site.URL(b.escape(to.path)), to.host.site.scheme+":")
	default:
		link = b.origin(to.host.site) + b.dots(b.escape(to.path))
	}
	if b.chance(15) {
		link += pick(b, []string{"#", "#top", "#/a?b#c"})
	}
	return link
}

// origin returns scheme and host, sometimes in capitals or with the default port.
func (b *builder) origin(s *Site) string {
	origin := s.origin
	if b.chance(15) {
		origin = strings.ToUpper(origin)
	}
	if s.port == 80 && s.scheme == "http" && b.chance(15) {
		origin += ":80"
	}
	if s.port == 443 && b.chance(15) {
		origin += ":443"
	}
	return origin
}

// escape sometimes percent-encodes an unreserved letter of the path: another spelling of the same URL (RFC 3986
// section 6.2.2.2).
func (b *builder) escape(path string) string {
	if !b.chance(10) {
		return path
	}
	bare, query, has := strings.Cut(path, "?")
	bare = strings.Replace(bare, "p", pick(b, []string{"%70", "%70"}), 1)
	bare = strings.Replace(bare, "~", pick(b, []string{"%7E", "%7e"}), 1)
	if has {
		bare += "?" + query
	}
	return bare
}

// dots adds segments that resolving removes (RFC 3986 section 5.2.4).
func (b *builder) dots(path string) string {
	if !b.chance(10) {
		return path
	}
	return pick(b, []string{"/.", "/x/..", "/../..", "/x/%2e%2E"}) + path
}

// relative returns path relative to base, with extra steps towards the root that are too many.
func relative(base, path string, extra int) string {
	bare, _, _ := strings.Cut(base, "?")
	up := strings.Count(bare, "/") - 1 + extra
	if up == 0 {
		return "./" + path[1:]
	}
	return strings.Repeat("../", up) + path[1:]
}
