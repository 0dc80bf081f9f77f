package article

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// choose returns which blocks belong to the main text: those that the model prefers, except long blocks that repeat earlier text. If the
// model prefers none, the page has no article; it may be a list of links. In this case it returns the blocks outside menus and the like.
func (p *page) choose() []bool { return p.chooseBy(p.judge(standard())) }

func (p *page) chooseBy(score []float32) []bool {
	keep := make([]bool, len(p.blocks))
	had := map[uint64]bool{}
	some := false
	for i := range p.blocks {
		b := &p.blocks[i]
		if score[i] <= 0 || b.chars > 100 && b.share(had) > 0.8 {
			continue
		}
		above := p.heads > 0 && b.heads == 0 && !b.prosaic() // a few words before the first H1
		if !some && (p.isTitle(i) || b.dated() || above) {   // the text begins after titles and dates
			continue
		}
		keep[i], some = true, true
		b.shingles(func(h uint64) { had[h] = true })
	}
	if !some {
		p.keepOutsideMenus(keep, score)
	}
	return keep
}

// keepOutsideMenus chooses the blocks of a page without an article: those in its main element, or on the whole page if there is no such
// element, except its title, menus, sidebars, forms, headers and footers. If nothing else is left, it chooses the block with the highest
// score.
func (p *page) keepOutsideMenus(keep []bool, score []float32) {
	main := slices.ContainsFunc(p.blocks, func(b block) bool { return b.in&inMain != 0 })
	best, some := -1, false
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.chars > 0 && (best < 0 || score[i] > score[best]) {
			best = i
		}
		menu := b.in&(inNav|inAside|inFooter|inHeader|inForm|inDialog|inHidden) != 0 ||
			(b.near|b.outer|b.far)&(saysNav|saysFooter|saysSidebar|saysPopup|saysShare|saysComment) != 0
		keep[i] = b.chars > 0 && !p.isTitle(i) && !menu && (!main || b.in&inMain != 0)
		some = some || keep[i]
	}
	if !some && best >= 0 {
		keep[best] = true
	}
}

// isTitle reports whether block i is the page's title or another heading of the first level.
func (p *page) isTitle(i int) bool {
	return i == p.head || p.boxes[p.blocks[i].box].el.DataAtom == atom.H1
}

// dated reports whether a block consists only of a TIME element.
func (b *block) dated() bool { return len(b.nodes) == 1 && b.nodes[0].Parent.DataAtom == atom.Time }

// cut removes everything from the tree except the blocks to keep and the images among them. It returns the innermost element that contains
// them; nil if nothing is kept.
func (p *page) cut(tree *html.Node, keep []bool) *html.Node {
	kept := map[*html.Node]bool{}
	boxes := make([]bool, len(p.boxes))
	for i, k := range keep {
		if !k {
			continue
		}
		for _, n := range p.blocks[i].nodes {
			kept[n] = true
		}
		boxes[p.blocks[i].box] = true
	}
	for _, img := range p.images {
		before, after := img.next > 0 && keep[img.next-1], img.next < len(keep) && keep[img.next]
		if before && after || boxes[img.box] {
			kept[img.node] = true
		}
	}
	if !prune(tree, kept) {
		return nil
	}
	for {
		only := onlyChild(tree)
		if only == nil || !frame(only.DataAtom) {
			break
		}
		tree = only
	}
	if tree.Parent != nil {
		tree.Parent.RemoveChild(tree)
	}
	return tree
}

// prune removes content that has no blocks to keep, and reports whether n has any to keep. Cells of a table stay in their row.
func prune(n *html.Node, kept map[*html.Node]bool) (some bool) {
	switch {
	case n.Type == html.TextNode:
		return kept[n]
	case n.DataAtom == atom.Img:
		return kept[n]
	case n.Type == html.ElementNode && (silent(n.DataAtom) || n.Namespace != ""):
		return false
	case n.DataAtom == atom.Pre:
		return pruneCode(n, kept)
	}
	var empty []*html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if prune(c, kept) {
			some = true
		} else if !quiet(c) {
			empty = append(empty, c)
		}
	}
	for _, c := range empty {
		if between := breaks(c.DataAtom) && isInline(c.PrevSibling) && isInline(c.NextSibling); !between && (!some || c.DataAtom != atom.Td && c.DataAtom != atom.Th) {
			n.RemoveChild(c)
			continue
		}
		for c.FirstChild != nil {
			c.RemoveChild(c.FirstChild)
		}
	}
	return some
}

// isInline reports whether a node is displayed in the same line as its siblings.
func isInline(n *html.Node) bool {
	return n != nil && (n.Type == html.TextNode && !blank(n.Data) || n.Type == html.ElementNode && !breaks(n.DataAtom) && hasText(n))
}

// pruneCode keeps preformatted text as a whole or removes it, because blanks between its elements matter. It reports whether it is kept.
func pruneCode(pre *html.Node, kept map[*html.Node]bool) (some bool) {
	var gone []*html.Node
	for n := range pre.Descendants() {
		some = some || kept[n]
		if n.Type == html.ElementNode && (n.Namespace != "" || silent(n.DataAtom)) {
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
	return some
}

// quiet reports whether a node has no content, and only affects the layout around it.
func quiet(n *html.Node) bool {
	return n.Type == html.TextNode && blank(n.Data) || n.DataAtom == atom.Br || n.DataAtom == atom.Hr || isTask(n)
}

// isTask reports whether n is the checkbox of an item in a task list.
func isTask(n *html.Node) bool {
	return n.DataAtom == atom.Input && strings.EqualFold(attr(n, "type"), "checkbox") && n.Parent.DataAtom == atom.Li
}

// onlyChild returns the only child of n; nil if n has several children or none. Quiet nodes do not count.
func onlyChild(n *html.Node) (only *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if quiet(c) || c.Type == html.DoctypeNode || c.Type == html.CommentNode {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// frame reports whether an element only structures the page. Then the tree may begin with a child of it.
func frame(a atom.Atom) bool {
	switch a {
	case atom.Html, atom.Body, atom.Div, atom.Section, atom.Main, atom.Article, atom.Form, atom.Center, atom.Span:
		return true
	}
	return false
}
