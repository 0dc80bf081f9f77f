package extract

import (
	"bytes"
	"fmt"

	"golang.org/x/net/html"
)

// Tree builds the element tree of a page, for programs that need more than links; it takes about thirty times as
// long as HTML. No script runs, so noscript contains elements. The error is that of x/net/html, which builds no
// tree deeper than 512 elements; HTML finds the links of such a page nevertheless.
func Tree(body []byte) (*html.Node, error) {
	n, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("extract: tree: %w", err)
	}
	return n, nil
}
