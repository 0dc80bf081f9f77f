package main

import (
	"strconv"
	"strings"
	"unicode"
)

// printable is text from the network as it may stand on a terminal: on one line, without anything
// that moves the cursor, changes colours or turns the reading direction.
func printable(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool { return !unicode.IsPrint(r) && r != ' ' || r == unicode.ReplacementChar }
