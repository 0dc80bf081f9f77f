// Package article extracts the main text of a page and its metadata: title, author, dates, licence.
//
//	a, err := article.Read(page, "https://news.site.example/herons")
//	fmt.Println(a.Title, a.Published)
//	fmt.Println(a.Markdown())
//
// The main text is a part of the page's tree, without navigation, advertisements, comments and links to other texts. [Article.Text] and
// [Article.Markdown] return it as text. Formulas, comments of readers, captions outside of the text, videos, and forms are lost.
//
// A page is cut into blocks, and each block is judged by a model of two stages of decision trees. The model uses the block's length, links
// and punctuation, the elements and classes around it, its neighbours, and its distance from the title and from the densest part of the
// page. The comment in model.go describes the training data and how to train the model again.
//
// The result depends only on the bytes of the page. Time and memory are linear in its size, whatever it contains. Functions may be called
// concurrently; an Article must not be used by several goroutines at the same time.
package article

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/schema"
	"github.com/amble-crawler/amble/weburl"
)

// Article is the main text of a page, with the page's metadata. Missing strings are "".
type Article struct {
	Title     string // title without the name of the site
	Byline    string // names of the authors, separated by ", "
	Published string // RFC 3339 date, or date and time if the time and its zone are known
	Modified  string // time of the last change, in the same form
	Site      string // name of the site
	Licence   string // SPDX identifier, or else the URL or text that the page states
	Language  string // declared language tag; the text may be in another language
	Words     int    // number of words in the main text; in scripts without spaces, each letter counts

	// Tree is the main text: the innermost element of the page that contains all of it, with other content removed. It is nil for a page
	// without text.
	Tree *html.Node

	// Data is the structured data of the page.
	Data *schema.Page

	base weburl.URL
}

// Read extracts the main text of a page in HTML, which should be UTF-8: invalid bytes are replaced. address is the page's URL; "" leaves
// relative URLs unchanged. The error is that of [extract.Tree] for a tree that is too large or too deep, or means that address is invalid.
func Read(page []byte, address string) (*Article, error) {
	if !utf8.Valid(page) {
		page = bytes.ToValidUTF8(page, []byte("\uFFFD"))
	}
	tree, err := extract.Tree(page)
	if err != nil {
		return nil, err
	}
	return fromTree(tree, address)
}

// fromTree extracts the main text from the tree of a page, and changes the tree.
func fromTree(tree *html.Node, address string) (*Article, error) {
	a := &Article{}
	if address != "" {
		var err error
		if a.base, err = weburl.Parse(address); err != nil {
			return nil, err
		}
	}
	a.Data = schema.Read(tree, address)
	p := newPage(tree, a.Data)
	a.describe(tree, p)
	a.Tree = p.cut(tree, p.choose())
	a.Words = countWords(a.Text())
	return a, nil
}

// Whole returns all text of a tree as an Article, except scripts and the like. It changes the tree, which becomes part of the Article. It
// is meant for documents that consist only of text, such as the chapters of a book. The error means that address is invalid.
func Whole(tree *html.Node, address string) (*Article, error) {
	a := &Article{Data: &schema.Page{}}
	if address != "" {
		var err error
		if a.base, err = weburl.Parse(address); err != nil {
			return nil, err
		}
	}
	all := map[*html.Node]bool{tree: true}
	for n := range tree.Descendants() {
		all[n] = n.Type != html.TextNode || !blank(n.Data)
	}
	if prune(tree, all) {
		a.Tree = tree
	}
	a.Words = countWords(a.Text())
	return a, nil
}

// resolve makes a URL of the page absolute. It returns "" for a place on the same page, and for the schemes javascript and data.
func (a *Article) resolve(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || strings.HasPrefix(ref, "#") {
		return ""
	}
	if scheme, _, ok := strings.Cut(ref, ":"); ok && (strings.EqualFold(scheme, "javascript") || strings.EqualFold(scheme, "data")) {
		return ""
	}
	if a.base.IsZero() {
		return ref
	}
	u, err := a.base.Resolve(ref)
	if err != nil {
		return ref
	}
	if _, fragment, ok := strings.Cut(ref, "#"); ok && fragment != "" {
		return u.String() + "#" + fragment
	}
	return u.String()
}
