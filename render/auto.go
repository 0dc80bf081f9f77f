package render

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// RuleAlways is the rule of a Policy that renders every page. [Policy.Decide] lists the other rules.
const RuleAlways = "always"

const (
	ruleNoscript = "noscript"
	ruleRoot     = "app_root"
	ruleText     = "no_text"
	ruleModule   = "no_anchor"
)

// littleText is the number of characters of text below which a page with scripts counts as having none.
const littleText = 200

// Decide returns the name of the rule that selects a page for rendering, or "" if the page is not rendered. The document is HTML in UTF-8.
// The time that Decide takes is linear in the document's length. The names are stable across versions:
//
//	always     the Policy renders every page
//	noscript   a noscript element contains "JavaScript"
//	app_root   an element that is typically the root of an application is empty
//	no_text    less than 200 characters of text, and a script with src
//	no_anchor  no link, and a module script
func (p *Policy) Decide(status int, document []byte) string {
	if status != 200 || p.Mode != Auto && p.Mode != Always {
		return ""
	}
	if p.Mode == Always {
		return RuleAlways
	}
	s := Scan(document)
	switch {
	case s.Noscript:
		return ruleNoscript
	case s.EmptyRoot:
		return ruleRoot
	case s.Text < littleText && s.ScriptSrc:
		return ruleText
	case s.Anchors == 0 && s.Module:
		return ruleModule
	}
	return ""
}

// Signs holds the properties of a document on which Decide depends.
type Signs struct {
	// Noscript is set if the text of a noscript element contains "JavaScript".
	Noscript bool
	// EmptyRoot is set if an element that is typically the root of an application is empty.
	EmptyRoot bool
	// Text is the number of characters of text in the body that are visible without scripts. A run of white space counts as one character;
	// text in noscript elements does not count.
	Text int
	// ScriptSrc is set if there is a script element with src.
	ScriptSrc bool
	// Module is set if there is a script element of type module.
	Module bool
	// Anchors is the number of a elements with href.
	Anchors int
}

// Scan returns the Signs of an HTML document in UTF-8, which show whether scripts make the page's content.
func Scan(document []byte) Signs {
	s := scanner{z: html.NewTokenizer(bytes.NewReader(document))}
	for {
		switch s.z.Next() {
		case html.ErrorToken:
			return s.signs
		case html.TextToken:
			s.text(s.z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			s.start()
		case html.EndTagToken:
			name, _ := s.z.TagName()
			s.end(string(name))
		}
	}
}

// scanner is the state of Scan between two tokens.
type scanner struct {
	z      *html.Tokenizer
	signs  Signs
	hidden string // invisible element inside of which the parser is; "" for none
	root   string // name of the root element of an application, if the element is empty so far
}

// invisible lists elements whose text is not part of the page's text. The content of noscript, including its markup, is one token.
var invisible = []string{"noscript", "script", "style", "template", "title", "textarea", "noframes", "iframe"}

func (s *scanner) start() {
	raw, more := s.z.TagName()
	name := string(raw)
	if s.hidden != "" {
		return
	}
	a := s.attributes(more)
	switch {
	case name == "noscript":
	case name == "script":
		s.signs.ScriptSrc = s.signs.ScriptSrc || a.src
		s.signs.Module = s.signs.Module || a.module
	case name == "a" && a.href:
		s.signs.Anchors++
		fallthrough
	default:
		s.root = ""
		if a.root {
			s.root = name
		}
	}
	if slices.Contains(invisible, name) {
		s.hidden = name
	}
}

func (s *scanner) end(name string) {
	switch {
	case s.hidden == name:
		s.hidden = ""
	case s.hidden != "":
	case s.root != "":
		s.signs.EmptyRoot = s.signs.EmptyRoot || s.root == name
		s.root = ""
	}
}

func (s *scanner) text(t []byte) {
	switch s.hidden {
	case "noscript":
		s.signs.Noscript = s.signs.Noscript || bytes.Contains(bytes.ToLower(t), []byte("javascript"))
	case "":
		fields := bytes.Fields(t)
		for _, f := range fields {
			s.signs.Text += utf8.RuneCount(f) + 1
		}
		if len(fields) > 0 {
			s.root = ""
		}
	}
}

// attributes holds the relevant attributes of an element.
type attributes struct{ src, module, href, root bool }

// rootIDs are typical ids of root elements of applications.
var rootIDs = []string{"root", "app", "__next", "__nuxt", "___gatsby", "main-app"}

func (s *scanner) attributes(more bool) (a attributes) {
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "src":
			a.src = a.src || len(bytes.TrimSpace(value)) > 0
		case "href":
			a.href = true
		case "type":
			a.module = strings.EqualFold(string(bytes.TrimSpace(value)), "module")
		case "id":
			a.root = a.root || slices.Contains(rootIDs, string(value))
		case "ng-version", "data-reactroot":
			a.root = true
		case "data-server-rendered":
			a.root = a.root || string(value) == "false"
		}
	}
	return a
}

// Limits for skipping hosts whose pages gain nothing from rendering.
const (
	uselessRow  = 5      // consecutive useless renderings after which a host is skipped
	staticPages = 50     // number of the host's next pages that are not rendered
	maxHosts    = 10_000 // maximum number of hosts in memory; older ones are forgotten
)

// Gains records the hosts whose pages gain nothing from rendering. After 5 consecutive renderings with no new link and less than 5 % more
// text, the next 50 pages of the host are not rendered. Gains is only in memory. The zero Gains is empty and ready for use; its methods may
// be called concurrently.
type Gains struct {
	mu         sync.Mutex
	young, old map[string]benefit // two generations of at most maxHosts/2 hosts
}

type benefit struct{ useless, static int }

// Skip reports whether a page of the host should not be rendered. If so, it counts the page as skipped.
func (g *Gains) Skip(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.get(host)
	if h.static == 0 {
		return false
	}
	h.static--
	g.put(host, h)
	return true
}

// Note records a rendering: the number of links that only the rendered page has, and the characters of text before and after rendering.
func (g *Gains) Note(host string, newLinks, textBefore, textAfter int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.get(host)
	if newLinks > 0 || (textAfter-textBefore)*20 >= max(textBefore, 1) {
		h.useless = 0
	} else if h.useless++; h.useless == uselessRow {
		h = benefit{static: staticPages}
	}
	g.put(host, h)
}

func (g *Gains) get(host string) benefit {
	if h, ok := g.young[host]; ok {
		return h
	}
	return g.old[host]
}

func (g *Gains) put(host string, h benefit) {
	if g.young == nil || len(g.young) >= maxHosts/2 {
		g.young, g.old = map[string]benefit{}, g.young
	}
	g.young[host] = h
}
