package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/amble-crawler/amble/internal/hidden"
)

// Printable returns text from the network in a form that is safe on a terminal: on one line, without characters that move the cursor,
// change colours or reverse the direction of text.
func Printable(s string) string {
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

func unprintable(r rune) bool {
	return !unicode.IsPrint(r) && r != ' ' || r == unicode.ReplacementChar || hidden.Is(r)
}

// PrintJSON writes v as one line of JSON, with hidden characters escaped.
func PrintJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(hidden.Escape(b.Bytes()))
	return err
}

// ByCount returns the keys of counts, those with the largest counts first; keys with equal counts are sorted.
func ByCount[K cmp.Ordered](counts map[K]int) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}

// Plural returns "1 what" or "n whats".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Num returns a number with thousands separators.
func Num(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Nums is like Plural with thousands separators.
func Nums(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Num(n) + " " + what + "s"
}

// AndMore returns " and n more", or "" if n is 0.
func AndMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// After returns separator and text, or "" if text is empty.
func After(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// Bytes formats a number of bytes in a suitable unit.
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Round rounds a duration for display.
func Round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// ShellWord returns s as one word of a command line, quoted if necessary.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-+,:@%=") == "" && s[0] != '-' {
		return s
	}
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return ShellQuote(s)
}

// ShellQuote returns s in single quotes, for bash and zsh.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
