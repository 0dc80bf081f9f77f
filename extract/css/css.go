// Package css finds elements of a tree by CSS selectors.
package css

import (
	"fmt"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// Select finds the elements below node that a group of selectors (Selectors Level 4, as far as
// [cascadia] knows it) matches, in the order of the document. The error says what is wrong with the
// selector.
func Select(node *html.Node, selector string) ([]*html.Node, error) {
	s, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, fmt.Errorf("css: selector %q: %w", selector, err)
	}
	return cascadia.QueryAll(node, s), nil
}

// First finds the first element that Select finds, nil when there is none.
func First(node *html.Node, selector string) (*html.Node, error) {
	s, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, fmt.Errorf("css: selector %q: %w", selector, err)
	}
	return cascadia.Query(node, s), nil
}
