package job

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/crawler"
)

// readPriorities parses rules such as "/news/=10". The number follows the last =.
func readPriorities(texts []string) (rules []crawler.PriorityRule, err error) {
	for _, text := range texts {
		at := strings.LastIndexByte(text, '=')
		if at <= 0 {
			return nil, fmt.Errorf("%q: want RE=N, such as /news/=10", text)
		}
		n, err := strconv.ParseInt(text[at+1:], 10, 8)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is not a number from -128 to 127", text, text[at+1:])
		}
		if _, err := expression(text[:at]); err != nil {
			return nil, err
		}
		rules = append(rules, crawler.PriorityRule{Pattern: text[:at], Priority: int8(n)})
	}
	return rules, nil
}

// prioritiesText is the inverse of readPriorities.
func prioritiesText(rules []crawler.PriorityRule) (texts []string) {
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	return texts
}
