package render

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// RuleAlways is the rule of a Policy that renders every page. [Policy.Decide] lists the others.
const RuleAlways = "always"

const (
	ruleNoscript = "noscript"
	ruleRoot     = "app_root"
	ruleText     = "no_text"
	ruleModule   = "no_anchor"
)

// littleText is the number of characters of text below which a page with scripts counts as empty.
const littleText = 200

// Decide returns the name of the rule that selects a page for rendering, or "" if it stays static. The document is HTML in UTF-8. Decide
// takes time linear in the document's length. The names are stable across versions:
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

// Signs holds the properties of a document that Decide depends on.
type Signs struct {
	// Noscript is set if the text of a noscript element contains "JavaScript".
	Noscript bool
	// EmptyRoot is set if an element that is typically the root of an application is empty.
	EmptyRoot bool
	// Text is the number of characters of text in the body that is visible without scripts: runs of white space count as one, noscript
	// elements do not count.
	Text int
	// ScriptSrc is set if there is a script element with src.
	ScriptSrc bool
	// Module is set if there is a script element of type module.
	Module bool
	// Anchors is the number of a elements with href.
	Anchors int
}

// Scan returns the signs in an HTML document in UTF-8 that scripts make the page's content.
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
	hidden string // the invisible element that the parser is in
	root   string // name of an application's root element that is empty so far
}

// invisible elements contain text that is not part of the page's text. The content of noscript, including markup, is one token.
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

// Limits for skipping hosts whose renderings add nothing.
const (
	uselessRow  = 5      // consecutive renderings without gain after which a host is skipped
	staticPages = 50     // number of pages that then stay static
	maxHosts    = 10_000 // hosts in memory; older ones are forgotten
)

// Gains records which hosts' pages gain nothing from rendering: after 5 consecutive renderings without a new link and with less than 5 %
// more text, the next 50 pages of the host stay static. It is only in memory. The zero Gains is empty and ready for use; its methods may
// be called concurrently.
type Gains struct {
	mu         sync.Mutex
	young, old map[string]gain // two generations of at most maxHosts/2 hosts
}

type gain struct{ useless, static int }

// Skip reports whether a page of the host should stay static. If so, it counts the page.
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

// Note records a rendering: the number of its links that the static page lacked, and the numbers of characters of text before and after.
func (g *Gains) Note(host string, newLinks, textBefore, textAfter int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.get(host)
	if newLinks > 0 || (textAfter-textBefore)*20 >= max(textBefore, 1) {
		h.useless = 0
	} else if h.useless++; h.useless == uselessRow {
		h = gain{static: staticPages}
	}
	g.put(host, h)
}

func (g *Gains) get(host string) gain {
	if h, ok := g.young[host]; ok {
		return h
	}
	return g.old[host]
}

func (g *Gains) put(host string, h gain) {
	if g.young == nil || len(g.young) >= maxHosts/2 {
		g.young, g.old = map[string]gain{}, g.young
	}
	g.young[host] = h
}
