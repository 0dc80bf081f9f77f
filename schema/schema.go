// Package schema reads the structured data of a page: JSON-LD, Microdata and RDFa Lite as items, and the properties of OpenGraph and
// Dublin Core.
//
//	page := schema.Read(tree, "https://shop.site.example/kettle")
//	products, err := schema.All[Product](page, "Product")
//
// An [Item] has types and properties, whatever its syntax on the page. [All] decodes the items of a type into structs, with the names in
// their json tags. Sites write the same property as text, as an item or as a list; All decodes each of these, whether the struct has a
// string, a number, a struct or a slice.
//
// The package accepts hostile input: its time is linear in the size of the page, and the results are limited. It makes no requests: it does
// not load JSON-LD contexts, and compares names without their namespaces.
package schema

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of the data kept for a page. Data beyond them is dropped.
const (
	maxItems  = 10_000  // maximum number of items, including nested ones
	maxValues = 100_000 // maximum number of values of properties, including nested ones
	maxDepth  = 64      // maximum depth of nested items
)

// Page holds the structured data of a page.
type Page struct {
	Items []*Item // items that are not a property of another item, in document order; items of JSON-LD come first

	// Properties has the values of META elements of OpenGraph (og:, article:, …) and Dublin Core (dc., dcterms.), by name in lower case, in
	// document order.
	Properties map[string][]string

	items, values int
	byID          map[string]*Item
}

// Item is an entity that a page describes.
type Item struct {
	Syntax string   // "json-ld", "microdata" or "rdfa"
	ID     string   // URL or identifier of the item, or ""
	Types  []string // names without their namespace, for example "Product"

	// Properties has the values of each property, by name without namespace. A value is a string, a float64, a bool or an *Item.
	Properties map[string][]any
}

// Is reports whether the item has a type. Namespace and case do not matter.
func (it *Item) Is(name string) bool {
	name = local(name)
	for _, t := range it.Types {
		if strings.EqualFold(t, name) {
			return true
		}
	}
	return false
}

// Text returns the first value of a property as text. If the value is an item, it is the item's name or identifier. It is "" if there is no
// value.
func (it *Item) Text(property string) string {
	for _, v := range it.Properties[property] {
		if s := plain(v); s != "" {
			return s
		}
	}
	return ""
}

// Read reads the structured data of a page's element tree. base is the page's URL, to resolve relative URLs in Microdata and RDFa; ""
// leaves these unchanged.
func Read(tree *html.Node, base string) *Page {
	p := &Page{Properties: map[string][]string{}, byID: map[string]*Item{}}
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode || n.Namespace != "" {
			continue
		}
		switch n.DataAtom {
		case atom.Script:
			if isJSONLD(attr(n, "type")) && n.FirstChild != nil {
				p.jsonLD(n.FirstChild.Data)
			}
		case atom.Meta:
			p.meta(n)
		}
	}
	p.link()
	p.markup(tree, base)
	return p
}

// meta reads a META element.
func (p *Page) meta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	for _, key := range []string{"property", "name"} {
		for _, name := range strings.Fields(strings.ToLower(attr(n, key))) {
			prefix, _, ok := strings.Cut(strings.Replace(name, ".", ":", 1), ":")
			if ok && metaPrefixes[prefix] && content != "" && p.count() {
				p.Properties[name] = append(p.Properties[name], content)
			}
		}
	}
}

var metaPrefixes = map[string]bool{
	"og": true, "article": true, "book": true, "profile": true, "video": true, "music": true, "product": true,
	"dc": true, "dcterms": true, "twitter": true, "fb": true,
}

// Property returns the first value of the first of these META properties that has a value.
func (p *Page) Property(names ...string) string {
	for _, name := range names {
		if v := p.Properties[name]; len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// Find returns the items that have any of these types, including nested ones, in document order and each once.
func (p *Page) Find(types ...string) (found []*Item) {
	seen := map[*Item]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		if seen[it] {
			return
		}
		seen[it] = true
		for _, t := range types {
			if it.Is(t) {
				found = append(found, it)
				break
			}
		}
		for _, name := range sortedNames(it.Properties) {
			for _, v := range it.Properties[name] {
				if sub, ok := v.(*Item); ok {
					visit(sub)
				}
			}
		}
	}
	for _, it := range p.Items {
		visit(it)
	}
	return found
}

// count counts a value, and reports whether it may be kept.
func (p *Page) count() bool {
	p.values++
	return p.values <= maxValues
}

// newItem returns an item, or nil if there are too many.
func (p *Page) newItem(syntax string) *Item {
	if p.items++; p.items > maxItems {
		return nil
	}
	return &Item{Syntax: syntax, Properties: map[string][]any{}}
}

// add adds a value to a property.
func (p *Page) add(it *Item, name string, v any) {
	if name != "" && v != nil && p.count() {
		it.Properties[name] = append(it.Properties[name], v)
	}
}

// local returns a name without its namespace, such as "Product" for "https://schema.org/Product" and "schema:Product".
func local(name string) string {
	if i := strings.LastIndexAny(name, "/#:"); i >= 0 {
		return name[i+1:]
	}
	return name
}

// attr returns an attribute's value, or "".
func attr(n *html.Node, name string) string {
	v, _ := lookup(n, name)
	return v
}

func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}
