package consent

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// namespace is the namespace of RSL's elements.
const namespace = "https://rslstandard.org/rsl"

// License is an RSL document: a site's terms for paths or URLs. It is safe for concurrent use.
type License struct {
	url      string
	err      error
	maxAge   time.Duration
	contents []content
}

// content holds the terms for URLs that match a pattern.
type content struct {
	pattern robots.Pattern
	origin  string // origin of the pattern; "" if the pattern applies to every page that names the document
	server  string
	terms   []terms // alternative terms, of which a user of the page can choose one
}

// terms is one licence element of a document.
type terms struct {
	permits, prohibits map[string][]string // words by type: usage, user or geo
	payments           []payment
	text               string // summary for statements
}

type payment struct {
	kind, amount, currency string
}

// Unread returns a License for a document that was not received, because the request failed, robots.txt forbids it, or the document is
// gone. It forbids ai-input and train-ai, because the site has terms, but they are unknown.
func Unread(url string, why error) *License { return &License{url: url, err: why} }

// ParseLicense parses an RSL document. If the document is invalid, the result equals that of [Unread], and [License.Err] is the reason.
func ParseLicense(url string, body []byte) *License {
	l := &License{url: url}
	if l.err = l.parse(body); l.err != nil {
		return Unread(url, l.err)
	}
	return l
}

// URL returns the document's URL.
func (l *License) URL() string { return l.url }

// Err returns the reason why the document could not be read; nil if it was read.
func (l *License) Err() error { return l.err }

// MaxAge returns for how long the document says it may be cached; 0 if it does not say so. The response may become stale earlier.
func (l *License) MaxAge() time.Duration { return l.maxAge }

const (
	maxDepth    = 32     // maximum depth of elements
	maxElements = 50_000 // maximum number of elements of a document
	maxWords    = 64     // maximum number of words of a permits or prohibits element
)

// parse parses the elements of a document. Entities other than the five of XML are errors, so no entity is ever expanded.
func (l *License) parse(body []byte) error {
	if len(body) > MaxDocument {
		return fmt.Errorf("longer than %d bytes", MaxDocument)
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if l := strings.ToLower(label); l == "us-ascii" || l == "ascii" {
			return r, nil
		}
		return nil, fmt.Errorf("charset %q: RSL is UTF-8", label)
	}
	var c *content
	var t *terms
	depth, elements := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 && elements > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an RSL document: %w", err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			switch depth--; depth {
			case 1:
				c = nil
			case 2:
				t = nil
			}
		case xml.StartElement:
			if elements++; elements > maxElements || depth == maxDepth {
				return errors.New("more elements than a licence needs")
			}
			depth++
			if depth == 1 && (e.Name.Local != "rsl" || e.Name.Space != namespace) {
				return fmt.Errorf("not an RSL document: its root is %q of %q", e.Name.Local, e.Name.Space)
			}
			if e.Name.Space != namespace {
				continue
			}
			switch {
			case depth == 1:
				if days, err := strconv.Atoi(attribute(e, "max-age")); err == nil && days > 0 && days <= 3650 {
					l.maxAge = time.Duration(days) * 24 * time.Hour
				}
			case depth == 2 && e.Name.Local == "content":
				l.contents = append(l.contents, newContent(attribute(e, "url"), attribute(e, "server")))
				c = &l.contents[len(l.contents)-1]
			case depth == 3 && e.Name.Local == "license" && c != nil:
				c.terms = append(c.terms, terms{permits: map[string][]string{}, prohibits: map[string][]string{}})
				t = &c.terms[len(c.terms)-1]
			case depth == 4 && t != nil && (e.Name.Local == "permits" || e.Name.Local == "prohibits"):
				text, err := inner(d)
				if err != nil {
					return err
				}
				depth--
				t.words(e.Name.Local, attribute(e, "type"), text)
			case depth == 4 && t != nil && e.Name.Local == "payment":
				kind := strings.ToLower(strings.TrimSpace(attribute(e, "type")))
				t.payments = append(t.payments, payment{kind: kind})
				t.note("payment " + kind)
			case depth == 5 && t != nil && e.Name.Local == "amount" && len(t.payments) > 0:
				text, err := inner(d)
				if err != nil {
					return err
				}
				depth--
				p := &t.payments[len(t.payments)-1]
				if text = strings.TrimSpace(text); isAmount(text) {
					p.amount, p.currency = text, strings.ToUpper(strings.TrimSpace(attribute(e, "currency")))
					t.note(p.amount + " " + p.currency)
				}
			}
		}
	}
}

// newContent returns a content without terms, for the URLs that a url attribute matches.
func newContent(pattern, server string) content {
	c := content{server: strings.TrimSpace(server)}
	pattern = strings.TrimSpace(pattern)
	if u, err := weburl.Parse(pattern); err == nil { // the pattern begins like an absolute URL
		c.origin = u.Origin()
		if _, after, ok := strings.Cut(pattern, "://"); ok { // from the pattern as written, because characters are escaped in u
			if i := strings.IndexByte(after, '/'); i >= 0 {
				pattern = after[i:]
			} else {
				pattern = "/"
			}
		}
	}
	c.pattern = robots.NewPattern(pattern)
	return c
}

// words adds the words of a permits or prohibits element.
func (t *terms) words(element, kind, text string) {
	m := t.permits
	if element == "prohibits" {
		m = t.prohibits
	}
	kind = strings.ToLower(strings.TrimSpace(kind))
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	m[kind] = append(m[kind], list[:min(len(list), maxWords)]...)
	t.note(fmt.Sprintf("%s %s %s", element, kind, strings.Join(list[:min(len(list), maxWords)], ",")))
}

func (t *terms) note(s string) {
	if len(t.text) < MaxText {
		t.text = strings.TrimPrefix(t.text+"; "+s, "; ")
	}
}

// attribute returns the value of an attribute, "" if there is none.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// inner returns the text up to the end of the open element. It skips nested elements.
func inner(d *xml.Decoder) (string, error) {
	var b strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("not an RSL document: %w", err)
		}
		switch e := token.(type) {
		case xml.CharData:
			b.Write(e)
		case xml.StartElement:
			if err := d.Skip(); err != nil {
				return "", fmt.Errorf("not an RSL document: %w", err)
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// read adds the document's statements about a page. They come from the content element whose pattern matches and is longest, or from all of
// them if several are equally long.
func (l *License) read(r *Record, u weburl.URL) {
	if l.err != nil {
		r.add(Statement{Place: RSL, Document: l.url, Name: "license", Text: "cannot be read: " + l.err.Error(), effects: effects(Forbids, AIInput, TrainAI)})
		return
	}
	longest := -1
	var matching []*content
	for i := range l.contents {
		c := &l.contents[i]
		if c.origin != "" && c.origin != u.Origin() || c.pattern.Len() < longest || !c.pattern.Match(u.PathQuery()) {
			continue
		}
		if c.pattern.Len() > longest {
			longest, matching = c.pattern.Len(), nil
		}
		matching = append(matching, c)
	}
	for _, c := range matching {
		c.read(r, l.url)
	}
}

// read adds the statement of a content element. Its licences are alternatives, so the most lenient one counts for each purpose.
func (c *content) read(r *Record, document string) {
	s := Statement{Place: RSL, Document: document, Name: "license"}
	if len(c.terms) == 0 {
		s.Text = "no terms"
		r.add(s)
		return
	}
	var texts []string
	for _, p := range Purposes() {
		s.effects[p] = Forbids
	}
	for i := range c.terms {
		t := &c.terms[i]
		texts = append(texts, t.text)
		for _, p := range Purposes() {
			e, condition := t.effect(p, c.server)
			if e < s.effects[p] {
				s.effects[p] = e
			}
			if condition != "" && !strings.Contains(s.Condition, condition) {
				s.Condition = strings.TrimPrefix(s.Condition+"; "+condition, "; ")
			}
		}
		for _, pay := range t.payments {
			if pay.amount != "" && pay.currency != "" {
				r.Costs = append(r.Costs, Cost{pay.amount, pay.currency, pay.kind})
			}
		}
	}
	s.Text = strings.Join(texts, " | ")
	r.add(s)
}

// effect returns the effect of one licence on a purpose, and the condition, if there is one.
func (t *terms) effect(p Purpose, server string) (e Effect, condition string) {
	included := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(usageWords[p], w) })
	}
	permits, listed := t.permits["usage"]
	if included(t.prohibits["usage"]) || listed && !included(permits) {
		return Forbids, ""
	}
	e = Allows
	for _, kind := range [...]string{"user", "geo"} { // only somebody who uses the page can know whether these limits are met
		if words := t.permits[kind]; len(words) > 0 {
			e, condition = Conditional, "only for "+kind+" "+strings.Join(words, ",")
		}
		if words := t.prohibits[kind]; len(words) > 0 {
			e, condition = Conditional, "not for "+kind+" "+strings.Join(words, ",")
		}
	}
	if server != "" {
		return Unmet, "a licence of " + server
	}
	for _, pay := range t.payments {
		switch pay.kind {
		case "free", "":
		case "attribution":
			e, condition = max(e, Conditional), "attribution"
		default:
			return Unmet, "a payment (" + pay.kind + ")"
		}
	}
	return e, condition
}
