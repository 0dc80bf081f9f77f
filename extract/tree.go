package extract

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/net/html"
)

// ErrTreeSize says that the tree of a page would have many more than a million nodes, as far as can be estimated.
var ErrTreeSize = errors.New("extract: tree: the page would take too much memory: too many elements, or formatting elements that repeat")

// Tree builds the element tree of a page, for programs that need more than links; it takes about thirty times as
// long as HTML. No script runs, so noscript contains elements. The error is that of x/net/html, which builds no
// tree deeper than 512 elements, or [ErrTreeSize]; HTML finds the links of such a page nevertheless.
func Tree(body []byte) (*html.Node, error) {
	if treeSize(body, false) > maxTree || treeSize(body, true) > maxTree {
		return nil, ErrTreeSize
	}
	n, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("extract: tree: %w", err)
	}
	return n, nil
}
