package cli

import (
	"fmt"
	"strings"
)

// DidYouMean returns a hint that contains the known word most similar to the given one. It returns "" if none is similar.
func DidYouMean(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(normalWord(word), normalWord(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

func normalWord(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// distance returns the number of bytes that must be inserted, deleted or replaced to change a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
