package crawler

import (
	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
)

// Tree returns the elements of an HTML or XHTML page, for package extract/css and every other library that works on
// trees of golang.org/x/net/html. It is nil, without an error, if the visit has no page or one of another type, so that
// a Handler need not know what it got: nothing is found in a nil tree.
//
// The page is decoded to UTF-8 and parsed at the first call, as by extract.Tree; later calls return the same tree. The
// error is that of fetcher.Page.Text or of extract.Tree, which bounds the tree, or [ErrOver]. Pages wait while trees
// take more memory than Config.Limits.InFlight. The tree shares no memory with the page, so it may be kept.
//
// Tree must not be called concurrently for the same visit.
func (v *Visit) Tree() (*html.Node, error) {
	switch {
	case v.work != nil && v.work.isOver():
		return nil, ErrOver
	case v.Page == nil || !v.Page.IsHTML():
		return nil, nil //nolint:nilnil // there is nothing to select, which is no failure
	case v.tree == nil:
		v.tree = v.parse()
	}
	return v.tree.root, v.tree.err
}

// tree is a page that was parsed.
type tree struct {
	root *html.Node
	err  error
}

// treeSize estimates how many times as much memory as its page a tree takes.
const treeSize = 8

func (v *Visit) parse() *tree {
	text, err := v.content().Text()
	if err != nil {
		return &tree{err: err}
	}
	if v.work != nil && len(text) > largePage {
		v.work.share.charge(treeSize * len(text))
	}
	root, err := extract.Tree(text)
	return &tree{root, err}
}
