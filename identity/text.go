package identity

import (
	"strconv"
	"strings"
	"unicode"
)

// maxQuote bounds what a message quotes of hostile text, in bytes.
const maxQuote = 160

// printable is text from the network as it may stand in a message: on one line, bounded, without anything
// that moves a cursor, changes colours or turns the reading direction.
func printable(s string) string {
	cut := len(s) > maxQuote
	if cut {
		s = strings.ToValidUTF8(s[:maxQuote], "")
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}
