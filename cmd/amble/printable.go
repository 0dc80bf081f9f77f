package main

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/amble-crawler/amble/weburl"
)

// publicly are references as they may be shown: those that are no URL may have a password in them.
func publicly(refs []string) []string {
	res := make([]string, len(refs))
	for i, ref := range refs {
		if res[i] = ref; !isURL(ref) {
			res[i] = weburl.Redact(ref)
		}
	}
	return res
}

func isURL(s string) bool {
	_, err := weburl.Parse(s)
	return err == nil
}

// printable is text from the network as it may stand on a terminal: on one line, without anything
// that moves the cursor, changes colours or turns the reading direction.
func printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != ' ' || r == unicode.ReplacementChar }
