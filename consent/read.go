package consent

import (
	"net/http"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Page holds the data from which the Record of a page is made. Fields that are not known are zero, such as those of the response before the
// page is requested.
type Page struct {
	URL      weburl.URL
	Agent    string        // the crawler's product token
	Robots   *robots.Group // the crawler's group in the robots.txt of the page's origin; nil without a file
	TDM      *TDM          // tdmrep.json of the page's origin; nil without a file
	Licenses []*License    // licences named for the page: see [Page.Named]

	Status int           // status of the response; 0 before there is a response
	Header http.Header   // header of the response
	Body   []byte        // body of a response with status 402, otherwise nil
	Metas  []robots.Meta // META elements of the parsed document
	Links  []string      // absolute targets of the document's <link rel=license>
}

// Named returns the URLs of the licences that robots.txt, the header and the document name for a page, in that order and each once. It
// returns at most 16, and only http and https URLs.
//
// A link names a licence only if its type attribute is that of RSL. A link without a type is left out, because it may lead to an ordinary
// page, such as one of Creative Commons.
func (p Page) Named() (urls []string) {
	add := func(ref string) {
		if u, err := p.URL.Resolve(ref); err == nil && len(urls) < maxLicenses && !slices.Contains(urls, u.String()) {
			urls = append(urls, u.String())
		}
	}
	if p.Robots != nil {
		for _, l := range p.Robots.Licenses() {
			add(l.URL)
		}
	}
	for _, v := range p.Header.Values("Link") {
		for target, params := range links(v) {
			if strings.EqualFold(params["type"], MediaType) && slices.Contains(strings.Fields(strings.ToLower(params["rel"])), "license") {
				add(target)
			}
		}
	}
	for _, l := range p.Links {
		add(l)
	}
	return urls
}

// MediaType is the media type of an RSL document.
const MediaType = "application/rsl+xml"

const maxLicenses = 16 // maximum for a page

// Read returns the record of a page.
func Read(p Page) Record {
	var r Record
	if p.Robots != nil {
		file := p.URL.RobotsURL().String()
		if v := p.Robots.Test(p.URL.PathQuery()); !v.Allowed {
			r.add(Statement{Place: RobotsTxt, Document: file, Line: v.Line, Name: "Disallow", Text: v.Path, effects: effects(Forbids, Purposes()...)})
		}
		for _, s := range p.Robots.Usage(p.URL.PathQuery()) {
			r.preference(s, RobotsTxt, file)
		}
	}
	for _, s := range robots.PageUsage(nil, "", p.Header, nil, robots.Directives{}).Statements {
		r.preference(s, Header, "")
	}
	for _, s := range robots.PageUsage(nil, "", nil, p.Metas, robots.Directives{}).Statements {
		r.preference(s, Meta, "")
	}
	headers := robots.PageDirectives(p.Agent, p.Header.Values("X-Robots-Tag"), nil, robots.WithRobotsTag(p.Header.Values("Robots-Tag")...))
	r.directives(headers, Header, "X-Robots-Tag")
	r.directives(robots.PageDirectives(p.Agent, nil, p.Metas), Meta, "robots")
	if p.TDM != nil {
		p.TDM.read(&r, p.URL)
	}
	for _, l := range p.Licenses {
		l.read(&r, p.URL)
	}
	r.status(p)
	return r
}

// preference adds a statement about one use, from Content-Usage, Content-Signal or the TDM Reservation Protocol.
func (r *Record) preference(s robots.Statement, place Place, document string) {
	out := Statement{Place: place, Document: document, Line: s.Line, Name: s.Name, Text: s.Text, Use: s.Use, Signal: s.Signal}
	switch covers := uses[s.Use]; {
	case s.Signal == robots.Disallowed:
		out.effects = effects(Forbids, covers...)
	case s.Signal == robots.Allowed:
		out.effects = effects(Allows, covers...)
	case s.Use == "use" && strings.EqualFold(s.Name, "Content-Signal"):
		level := contentUses[strings.ToLower(s.Value)]
		out.effects, out.Condition = level.means, level.condition
	}
	r.add(out)
}

// directives adds those of the page's robots directives that are about uses.
func (r *Record) directives(d robots.Directives, place Place, name string) {
	for _, term := range d.Terms() {
		word := term
		if strings.HasPrefix(term, "max-snippet:0") && d.NoSnippet {
			word = "nosnippet"
		}
		if forbidden, ok := directives[word]; ok {
			s := Statement{Place: place, Name: name, Text: term, effects: effects(Forbids, forbidden...)}
			if word == "noai" || word == "noml" {
				s.Use, s.Signal = robots.UseTrainAI, robots.Disallowed
			}
			r.add(s)
		} else if word == "noimageai" { // noimageai is about images in the page
			r.add(Statement{Place: place, Name: name, Text: term, Use: robots.UseTrainAIImage, Signal: robots.Disallowed})
		}
	}
}

// links yields the targets in the value of a Link header (RFC 8288 section 3), each with its parameters. Names of parameters are in lower
// case. It stops at invalid input.
func links(value string) func(yield func(target string, params map[string]string) bool) {
	return func(yield func(string, map[string]string) bool) {
		for {
			_, rest, ok := strings.Cut(value, "<")
			if !ok {
				return
			}
			target, rest, ok := strings.Cut(rest, ">")
			if !ok {
				return
			}
			params := map[string]string{}
			for {
				rest = strings.TrimLeft(rest, " \t")
				if !strings.HasPrefix(rest, ";") {
					break
				}
				name := strings.TrimLeft(rest[1:], " \t")
				end := strings.IndexAny(name, "=;,")
				if end < 0 || name[end] != '=' {
					rest = name[max(end, 0):]
					if end < 0 {
						rest = ""
					}
					continue
				}
				var v string
				v, rest = parameter(strings.TrimLeft(name[end+1:], " \t"))
				if key := strings.ToLower(strings.TrimSpace(name[:end])); params[key] == "" {
					params[key] = v
				}
			}
			if !yield(strings.TrimSpace(target), params) {
				return
			}
			value = rest
		}
	}
}

// parameter reads the value of a parameter, which is a token or a quoted string, from the beginning of s.
func parameter(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
