// Package forms fills in the forms of pages as a browser does for a person: the values that the program sets are sent to the form's
// address together with the page's hidden and pre-filled fields.
//
// A form that is sent by GET is a URL of the crawl: [Form.URL] returns it, for crawler.Visit.Enqueue or fetcher.Client.Get. A form that is
// sent by POST changes something at a site, so a crawl sends one only to log in. [Submit] does that, in crawler.Config.Login.
package forms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Errors about forms.
var (
	ErrNoForm  = errors.New("forms: the page has no such form")
	ErrEnctype = errors.New("forms: the form is not sent as application/x-www-form-urlencoded")
	ErrPost    = errors.New("forms: the form is sent by POST, which only a login does")
)

// Form is a form of a page, with the page's values.
type Form struct {
	Action weburl.URL // address to which the form is sent
	ByPost bool       // the form is sent by POST, otherwise by GET
	// Fields are the names and values that a browser would send if nobody changed anything: hidden and filled-in fields, checked
	// and selected options, and the first button. Files are left out.
	Fields url.Values
}

// Find returns the form that a CSS selector selects, the first if there are several, or the form around the element that it selects. The
// selector "" is "form". base is the URL of the page; a base element of the page takes precedence. The error is ErrNoForm or ErrEnctype,
// or describes an invalid selector or form address.
func Find(page *html.Node, base weburl.URL, selector string) (*Form, error) {
	if selector == "" {
		selector = "form"
	}
	s, err := css.Compile(selector)
	if err != nil {
		return nil, err
	}
	n := css.First(page, s)
	for n != nil && n.DataAtom != atom.Form {
		n = n.Parent
	}
	if n == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoForm, selector)
	}
	f := &Form{Fields: url.Values{}}
	c := &collector{form: n, id: attr(n, "id"), fields: f.Fields}
	c.walk(page, false)
	action, method, enctype := attr(n, "action"), attr(n, "method"), attr(n, "enctype")
	if b := c.button; b != nil {
		action, method, enctype = cmp.Or(attr(b, "formaction"), action), cmp.Or(attr(b, "formmethod"), method), cmp.Or(attr(b, "formenctype"), enctype)
		if name := attr(b, "name"); name != "" {
			f.Fields.Add(name, attr(b, "value"))
		}
	}
	if c.base != "" {
		if b, err := base.Resolve(c.base); err == nil && action != "" { // without an action, forms go to the URL of the page
			base = b
		}
	}
	if f.Action, err = base.Resolve(action); err != nil {
		return nil, fmt.Errorf("forms: the form is sent to %q: %w", weburl.Redact(action), err)
	}
	switch f.ByPost = strings.EqualFold(method, "post"); {
	case strings.EqualFold(method, "dialog"):
		return nil, fmt.Errorf("%w: a dialog form is sent nowhere", ErrNoForm)
	case f.ByPost && (strings.EqualFold(enctype, "multipart/form-data") || strings.EqualFold(enctype, "text/plain")):
		return nil, fmt.Errorf("%w: %s", ErrEnctype, enctype)
	}
	return f, nil
}

// With returns the fields of the form with values added, which replace fields of the same names. A name with an empty list is not
// sent.
func (f *Form) With(values url.Values) url.Values {
	all := url.Values{}
	for _, from := range []url.Values{f.Fields, values} {
		for name, list := range from {
			all[name] = list
			if len(list) == 0 {
				delete(all, name)
			}
		}
	}
	return all
}

// URL returns the URL to which a form sent by GET leads, with the fields of [Form.With]. The error is ErrPost for a form sent by
// POST.
func (f *Form) URL(values url.Values) (weburl.URL, error) {
	if f.ByPost {
		return weburl.URL{}, ErrPost
	}
	return f.Action.Resolve("?" + f.With(values).Encode()) // the form's query replaces the query of the action, as in browsers
}

// Submit finds a form of a page (see [Find]) and sends it, with the fields of [Form.With], by one request of c: a POST with the
// purpose Login ([fetcher.Client.Login]), or a GET. Like every request it obeys robots.txt, waits until the host may be requested,
// and has a line in the ledger. It returns the response whatever its status; redirects are not followed.
func Submit(ctx context.Context, c *fetcher.Client, page *fetcher.Page, selector string, values url.Values) (*fetcher.Page, error) {
	text, err := page.Text()
	if err != nil {
		return nil, err
	}
	root, err := extract.Tree(text)
	if err != nil {
		return nil, err
	}
	f, err := Find(root, page.URL, selector)
	if err != nil {
		return nil, err
	}
	if f.ByPost {
		return c.Login(ctx, f.Action, f.With(values))
	}
	u, err := f.URL(values)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, u, politeness.Page)
}

// collector finds the fields of a form: the elements inside the form, and those elsewhere whose form attribute names it (HTML Standard,
// section 4.10.21.4, constructing the entry list). Its time is linear in the size of the page.
type collector struct {
	form   *html.Node
	id     string
	fields url.Values
	button *html.Node // the first button that submits the form
	base   string
}

// walk visits n and its descendants. The parser limits the depth of a tree.
func (c *collector) walk(n *html.Node, inside bool) {
	inside = inside || n == c.form
	if n.Type == html.ElementNode {
		switch n.DataAtom {
		case atom.Base:
			c.base = cmp.Or(c.base, attr(n, "href"))
		case atom.Template, atom.Datalist:
			return
		case atom.Fieldset:
			if has(n, "disabled") {
				return
			}
		case atom.Input, atom.Textarea, atom.Select, atom.Button:
			owner, other := lookup(n, "form")
			if mine := inside && !other || other && owner == c.id && c.id != ""; mine && !has(n, "disabled") {
				c.field(n)
			}
		}
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.walk(k, inside)
	}
}

func (c *collector) field(n *html.Node) {
	name, kind := attr(n, "name"), strings.ToLower(attr(n, "type"))
	submits := n.DataAtom == atom.Button && kind != "button" && kind != "reset" || n.DataAtom == atom.Input && kind == "submit"
	if submits && c.button == nil {
		c.button = n
	}
	if name == "" || n.DataAtom == atom.Button {
		return
	}
	switch {
	case n.DataAtom == atom.Textarea:
		c.fields.Add(name, strings.TrimPrefix(content(n), "\n"))
	case n.DataAtom == atom.Select:
		c.selected(n, name)
	case kind == "submit", kind == "image", kind == "button", kind == "reset", kind == "file":
	case kind == "checkbox", kind == "radio":
		if has(n, "checked") {
			value, ok := lookup(n, "value")
			if !ok {
				value = "on"
			}
			c.fields.Add(name, value)
		}
	default:
		c.fields.Add(name, attr(n, "value"))
	}
}

// selected adds the selected options of a list. If no option is selected, it adds the first option, unless several can be selected.
func (c *collector) selected(n *html.Node, name string) {
	var first, chosen []string
	for o := range n.Descendants() {
		if o.DataAtom != atom.Option || has(o, "disabled") {
			continue
		}
		value, ok := lookup(o, "value")
		if !ok {
			value = strings.Join(strings.Fields(content(o)), " ")
		}
		if first == nil {
			first = []string{value}
		}
		if has(o, "selected") {
			chosen = append(chosen, value)
		}
	}
	if !has(n, "multiple") {
		if chosen = chosen[max(0, len(chosen)-1):]; chosen == nil {
			chosen = first
		}
	}
	for _, value := range chosen {
		c.fields.Add(name, value)
	}
}

func content(n *html.Node) string {
	var b strings.Builder
	for t := range n.Descendants() {
		if t.Type == html.TextNode {
			b.WriteString(t.Data)
		}
	}
	return b.String()
}

func lookup(n *html.Node, name string) (value string, ok bool) {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func attr(n *html.Node, name string) string {
	value, _ := lookup(n, name)
	return value
}

func has(n *html.Node, name string) bool {
	_, ok := lookup(n, name)
	return ok
}
