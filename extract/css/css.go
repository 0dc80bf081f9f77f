// Package css finds elements of a tree by CSS selectors.
package css

import (
	"fmt"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// Select returns the elements below node that match a group of selectors (Selectors Level 4, as far as [cascadia]
// supports it), in document order. The error says what is wrong with the selector.
func Select(node *html.Node, selector string) ([]*html.Node, error) {
	s, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, fmt.Errorf("css: selector %q: %w", selector, err)
	}
	return cascadia.QueryAll(node, s), nil
}

// First returns the first element that Select returns, or nil if there is none.
func First(node *html.Node, selector string) (*html.Node, error) {
	s, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, fmt.Errorf("css: selector %q: %w", selector, err)
	}
	return cascadia.Query(node, s), nil
}
