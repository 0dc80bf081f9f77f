package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// isJSONLD reports whether the type of a script means JSON-LD.
func isJSONLD(mediaType string) bool {
	t, _, _ := strings.Cut(mediaType, ";")
	return strings.EqualFold(strings.TrimSpace(t), "application/ld+json")
}

// maxScript limits a script, in bytes.
const maxScript = 4 << 20

// jsonLD parses a script. If it is not JSON, the most frequent mistakes are repaired: line feeds inside texts, and HTML comments or CDATA
// marks around the whole. If it still is not JSON, it is dropped, as search engines do.
func (p *Page) jsonLD(script string) {
	if len(script) > maxScript {
		return
	}
	script = strings.TrimSpace(script)
	for _, cut := range [][2]string{{"<!--", "-->"}, {"//<![CDATA[", "//]]>"}, {"<![CDATA[", "]]>"}, {"", ";"}} {
		script = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(script, cut[0]), cut[1]))
	}
	var v any
	if json.Unmarshal([]byte(script), &v) != nil {
		v = nil
		if json.Unmarshal([]byte(withoutControls(script)), &v) != nil {
			return
		}
	}
	p.top(v, 0)
}

// withoutControls replaces control characters by blanks, because JSON texts must not contain them.
func withoutControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// top reads a top-level value: an item, a list of items, or a graph.
func (p *Page) top(v any, depth int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if depth < maxDepth {
				p.top(e, depth+1)
			}
		}
	case map[string]any:
		if graph, ok := v["@graph"]; ok && depth < maxDepth {
			p.top(graph, depth+1)
			if _, typed := v["@type"]; !typed {
				return
			}
		}
		if it, ok := p.value(v, 0).(*Item); ok {
			p.Items = append(p.Items, it)
		}
	}
}

// value converts a JSON value to the value of a property, or returns nil. Its caller must handle lists.
func (p *Page) value(v any, depth int) any {
	switch v := v.(type) {
	case string:
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	case float64, bool:
		return v
	case map[string]any:
		if literal, ok := v["@value"]; ok {
			if _, nested := literal.(map[string]any); !nested {
				return p.value(literal, depth)
			}
			return nil
		}
		if depth > maxDepth {
			return nil
		}
		return p.object(v, depth)
	}
	return nil
}

// object converts a JSON object to an item; it returns nil if there are too many.
func (p *Page) object(v map[string]any, depth int) any {
	it := p.newItem("json-ld")
	if it == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch name {
		case "@context", "@graph":
		case "@id":
			it.ID, _ = v[name].(string)
		case "@type":
			for _, t := range asList(v[name]) {
				if t, ok := t.(string); ok && p.count() {
					it.Types = append(it.Types, local(t))
				}
			}
		default:
			for _, e := range flatten(v[name], depth) {
				p.add(it, local(name), p.value(e, depth+1))
			}
		}
	}
	if it.ID != "" && (len(it.Types) > 0 || len(it.Properties) > 0) && p.byID[it.ID] == nil {
		p.byID[it.ID] = it
	}
	return it
}

func asList(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// flatten returns the elements of a value, including the elements of lists, @list and @set in it.
func flatten(v any, depth int) (list []any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			if depth < maxDepth {
				list = append(list, flatten(e, depth+1)...)
			}
		}
		return list
	case map[string]any:
		for _, key := range []string{"@list", "@set"} {
			if l, ok := x[key]; ok && depth < maxDepth {
				return flatten(l, depth+1)
			}
		}
	}
	return []any{v}
}

// link replaces JSON-LD references, which are items that only have an identifier, by the items to which they refer. A reference to an item
// that contains it stays.
func (p *Page) link() {
	open := map[*Item]bool{}
	done := map[*Item]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		if done[it] || open[it] {
			return
		}
		open[it] = true
		for _, name := range sortedNames(it.Properties) {
			for i, v := range it.Properties[name] {
				sub, ok := v.(*Item)
				if !ok {
					continue
				}
				if len(sub.Types) == 0 && len(sub.Properties) == 0 && sub.ID != "" {
					to := p.byID[sub.ID]
					if to == nil || open[to] {
						continue
					}
					it.Properties[name][i], sub = to, to
				}
				visit(sub)
			}
		}
		delete(open, it)
		done[it] = true
	}
	for _, it := range p.Items {
		visit(it)
	}
}

func sortedNames(m map[string][]any) []string { return slices.Sorted(maps.Keys(m)) }
