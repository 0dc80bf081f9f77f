package identity

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

const (
	cbcp        = "cbcp-00 section "
	maxPageRead = 1 << 20
)

// page checks the contact page, and returns the URLs of the other files.
func (k *checking) page(u *url.URL) found {
	at := u.String()
	f := found{origin: u.Scheme + "://" + u.Host, contact: at}
	r := k.followOnce(&f)
	if r == nil {
		return f
	}
	if r.Status != http.StatusOK {
		k.must(f.contact, cbcp+"2.6", "Upload the public folder.", "the contact page answers with status %d, not 200", r.Status)
		return f
	}
	if t := mediaType(r); t != "text/html" {
		k.must(f.contact, cbcp+"2.6", "Serve it as text/html.", "the contact page is served as %q", printable(t))
		return f
	}
	p := readPage(r.Body)
	f.pageRead = true
	k.links(&f, r, p)
	k.content(f.contact, p)
	return f
}

// followOnce fetches the page. It follows one redirect, to the folder of the same name, because static hosts send browsers there. Any other
// redirect is a defect: it leads away from the page in the User-Agent.
func (k *checking) followOnce(f *found) *Response {
	r := k.read("the contact page", f.contact)
	if r == nil || r.Status/100 != 3 {
		return r
	}
	to := resolve(f.contact, r.Header.Get("Location"))
	if to != f.contact+"/" {
		k.must(f.contact, cbcp+"2.6", "Serve the page at the address that the User-Agent names.",
			"the contact page redirects to %q", printable(r.Header.Get("Location")))
		return nil
	}
	f.contact = to
	return k.read("the contact page", to)
}

// pageText holds the text and links of a page.
type pageText struct {
	text  string              // visible text
	links map[string][]string // targets of link elements, by relation
	hrefs []string            // targets of a elements
}

// readPage reads at most 1 MiB of a page.
func readPage(body []byte) *pageText {
	p := &pageText{links: map[string][]string{}}
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), maxPageRead)]))
	var text strings.Builder
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			p.text = text.String()
			return p
		case html.TextToken:
			if hidden == "" {
				text.Write(z.Text())
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
			text.WriteByte(' ')
		case html.StartTagToken, html.SelfClosingTagToken:
			if name := p.tag(z); name == "script" || name == "style" {
				hidden = name
			}
			text.WriteByte(' ')
		}
	}
}

// tag records the links in a start tag and returns the tag's name.
func (p *pageText) tag(z *html.Tokenizer) string {
	b, more := z.TagName()
	name, rel, href := string(b), "", ""
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "rel":
			rel = string(value)
		case "href":
			href = string(value)
		}
	}
	if name == "link" && href != "" {
		for _, r := range strings.Fields(strings.ToLower(rel)) {
			p.links[r] = append(p.links[r], href)
		}
	}
	if name == "a" {
		p.hrefs = append(p.hrefs, href)
	}
	return name
}

// links finds the URLs of the address ranges and the card, in the page's markup or in header fields (RFC 8288).
func (k *checking) links(f *found, r *Response, p *pageText) {
	named := func(rel string) string {
		refs := append(slices.Clone(p.links[rel]), linkHeader(r.Header.Values("Link"), rel)...)
		if len(refs) == 0 {
			return ""
		}
		return resolve(f.contact, refs[0])
	}
	if f.rangesURL = named("client-ranges"); f.rangesURL != "" {
		f.rangesFrom = f.contact
	}
	f.cardURL = named("describedby")
}

// linkHeader returns the targets with a relation in Link fields. It supports a part of RFC 8288 section 3: targets in angle brackets, and
// rel.
func linkHeader(lines []string, rel string) []string {
	var refs []string
	for _, line := range lines {
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, "<")
			if !ok {
				break
			}
			target, params, ok := strings.Cut(after, ">")
			if !ok {
				break
			}
			end := strings.IndexByte(params, '<')
			if end < 0 {
				end = len(params)
			}
			if slices.Contains(relsOf(params[:end]), rel) {
				refs = append(refs, target)
			}
			rest = params[end:]
		}
	}
	return refs
}

func relsOf(params string) []string {
	for p := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(p, "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.Fields(strings.ToLower(strings.Trim(strings.TrimRight(strings.TrimSpace(value), ", "), `"`)))
		}
	}
	return nil
}

// content checks that the page has the information that its readers need.
func (k *checking) content(at string, p *pageText) {
	text := strings.ToLower(p.text)
	if !strings.Contains(text, "user-agent:") || !strings.Contains(text, "disallow:") {
		k.should(at, cbcp+"2.6", "Show the two lines of robots.txt that stop the crawler.", "the page shows no robots.txt that blocks the crawler")
	}
	if k.Profile == nil {
		if !strings.Contains(text, "@") && !slices.ContainsFunc(p.hrefs, leadsToSomebody) {
			k.should(at, cbcp+"2.6", "Name a mail address or a form.", "the page seems to give no address to write to")
		}
		return
	}
	for _, c := range k.Profile.Contacts {
		if uri, err := contactURI(c); err == nil && !slices.Contains(p.hrefs, uri) {
			k.must(at, cbcp+"2.6", "Publish the page again.", "the page does not give the contact %s", printable(c))
		}
	}
	if !strings.Contains(text, strings.ToLower(k.Profile.Product)) {
		k.must(at, cbcp+"2.2", "Publish the page again.", "the page does not name %q, which the User-Agent does", k.Profile.Product)
	} else if !strings.Contains(spaces(p.text), spaces(k.Profile.UserAgent)) {
		k.should(at, cbcp+"2.2", "Publish the page again.", "the page does not show the User-Agent that is sent, %q", k.Profile.UserAgent)
	}
}

func leadsToSomebody(href string) bool {
	href = strings.ToLower(href)
	return strings.HasPrefix(href, "mailto:") || strings.Contains(href, "contact")
}

// spaces returns text with each run of white space replaced by one blank.
func spaces(s string) string { return strings.Join(strings.Fields(s), " ") }
