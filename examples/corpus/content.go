package main

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// content returns the part of a page that is its main text, cut out of its tree: what its author marked as main or as
// the only article, otherwise its body. It removes everything that cannot be text, that the author marked as
// secondary, and blocks that consist mostly of links; of links and pictures only the words remain.
func content(tree *html.Node) *html.Node {
	root := mainPart(tree)
	if root.Parent != nil {
		root.Parent.RemoveChild(root)
	}
	strip(root)
	for child := range children(root) {
		prune(child)
	}
	return root
}

// mainPart finds the element that contains the main text.
func mainPart(tree *html.Node) *html.Node {
	var body, article *html.Node
	articles := 0
	for n := range tree.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.DataAtom == atom.Main || attr(n, "role") == "main":
			return n
		case n.DataAtom == atom.Article:
			article = n
			articles++
		case n.DataAtom == atom.Body:
			body = n
		}
	}
	switch {
	case articles == 1:
		return article
	case body != nil:
		return body
	}
	return tree
}

// children returns the children of a node; the caller may remove any of them.
func children(n *html.Node) func(yield func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			if !yield(c) {
				return
			}
			c = next
		}
	}
}

// strip removes what is not text or not part of the main text.
func strip(n *html.Node) {
	for c := range children(n) {
		if c.Type == html.CommentNode || c.Type == html.ElementNode && beside(c) {
			n.RemoveChild(c)
			continue
		}
		strip(c)
	}
}

// beside reports whether an element contains no text, or none that belongs to the main text.
func beside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Svg, atom.Math,
		atom.Audio, atom.Video, atom.Img, atom.Picture, atom.Head,
		atom.Nav, atom.Aside, atom.Footer, atom.Form, atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Dialog, atom.Menu:
		return true
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar", "dialog", "alert", "doc-toc":
		return true
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "hidden", a.Key == "aria-hidden" && a.Val == "true":
			return true
		case (a.Key == "class" || a.Key == "id") && namedBeside.MatchString(a.Val):
			return !titled(n)
		}
	}
	return false
}

// titled reports whether the page's heading is in n: then n contains the page, whatever it is called, for example
// "with-sidebar".
func titled(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.DataAtom == atom.H1 {
			return true
		}
	}
	return false
}

// namedBeside lists classes and ids that mean the same on pages whose author does not use such elements.
var namedBeside = regexp.MustCompile(`(?i)(^|[ _-])(nav|navbar|navheader|navfooter|navigation|breadcrumbs?|sidebar|toc|menu|pagination|footer)([ _-]|$)`)

// prune removes blocks that consist mostly of links, the innermost first, and replaces other links by their text. It
// returns the number of bytes of text that are left in n, and the number of them that were in links.
func prune(n *html.Node) (text, linked int) {
	if n.Type == html.TextNode {
		return len(strings.TrimSpace(n.Data)), 0
	}
	for c := range children(n) {
		t, l := prune(c)
		text, linked = text+t, linked+l
	}
	switch {
	case n.DataAtom == atom.A:
		unwrap(n)
		return text, text
	case listed(n.DataAtom) && 2*linked > text && n.Parent != nil:
		n.Parent.RemoveChild(n)
		return 0, 0
	}
	return text, linked
}

// listed reports whether an element is of a kind in which lists of links are written.
func listed(element atom.Atom) bool {
	switch element {
	case atom.Ul, atom.Ol, atom.Dl, atom.Div, atom.P, atom.Table, atom.Section, atom.Header:
		return true
	}
	return false
}

// unwrap replaces n by its children.
func unwrap(n *html.Node) {
	if n.Parent == nil {
		return
	}
	for c := range children(n) {
		n.RemoveChild(c)
		n.Parent.InsertBefore(c, n)
	}
	n.Parent.RemoveChild(n)
}
