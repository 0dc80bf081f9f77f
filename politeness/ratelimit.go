package politeness

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rateLimitField is the name of the RateLimit header field in the form of net/http.
const rateLimitField = "Ratelimit"

// maxRateLimit is the maximum size in bytes of an item of RateLimit that is copied to the ledger.
const maxRateLimit = 256

// usedUp returns how long the quota in the RateLimit field (draft-ietf-httpapi-ratelimit-headers-11) remains exhausted: the
// longest t of all items with r=0, and that item. Items without t, and malformed items, are ignored. The item is "" if no quota
// is exhausted.
func usedUp(header http.Header) (d time.Duration, item string) {
	for _, field := range header[rateLimitField] {
		for _, text := range listItems(field) {
			params, ok := itemParameters(text)
			if !ok || params["r"] != "0" {
				continue
			}
			t, ok := structuredInteger(params["t"])
			if wait := seconds(t); !ok || wait <= d {
				continue
			}
			d, item = seconds(t), text
			if len(item) > maxRateLimit {
				item = `"";r=0;t=` + strconv.FormatUint(t, 10)
			}
		}
	}
	return d, item
}

// structuredInteger reads an integer that is not negative (RFC 9651 section 3.3.1).
func structuredInteger(text string) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 15 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// listItems splits a list at the commas that are not in a string (RFC 9651 section 3.1).
func listItems(field string) (items []string) {
	for field != "" {
		n := outsideStrings(field, ',')
		items = append(items, strings.Trim(field[:n], " \t"))
		field = field[min(n+1, len(field)):]
	}
	return items
}

// outsideStrings returns the index of the first b in text that is not inside a string, or the length of text.
func outsideStrings(text string, b byte) int {
	in := false
	for i := 0; i < len(text); i++ {
		switch {
		case in && text[i] == '\\':
			i++
		case text[i] == '"':
			in = !in
		case !in && text[i] == b:
			return i
		}
	}
	return len(text)
}

// itemParameters parses the parameters of an item that is a string or a token (RFC 9651 section 3.1.2). If a key is repeated,
// the last value counts.
func itemParameters(item string) (params map[string]string, ok bool) {
	n := outsideStrings(item, ';')
	name := strings.Trim(item[:n], " \t")
	if name == "" || strings.HasPrefix(name, `"`) != strings.HasSuffix(name, `"`) || name == `"` {
		return nil, false
	}
	params = map[string]string{}
	for n < len(item) {
		item = item[n+1:]
		n = outsideStrings(item, ';')
		key, value, _ := strings.Cut(strings.Trim(item[:n], " \t"), "=")
		params[key] = value
	}
	return params, true
}
