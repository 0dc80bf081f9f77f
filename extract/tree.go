package extract

import (
	"bytes"
	"fmt"

	"golang.org/x/net/html"
)

// Tree builds the element tree of a page, for those who want more of it than links; it costs some thirty
// times what HTML does. No script runs, so noscript has elements inside. The error is x/net/html's, which
// builds no tree that is more than 512 elements deep; the links of such a page are found by HTML all the same.
func Tree(body []byte) (*html.Node, error) {
	n, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("extract: tree: %w", err)
	}
	return n, nil
}
