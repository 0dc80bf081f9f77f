package hidden

import (
	"strings"
	"unicode/utf8"
)

// lineEnds replaces line ends by line feeds, like package encoding/csv when it reads.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Cell makes text safe for a cell of a spreadsheet and for a terminal: text that begins like a formula gets a leading apostrophe (OWASP,
// "CSV Injection"), and control characters and hidden ones are escaped.
func Cell(s string) string {
	if isPlain(s) {
		return s
	}
	if first, n := utf8.DecodeRuneInString(s); n > 0 && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		s = "'" + s
	}
	s = lineEnds.Replace(s)
	if strings.IndexFunc(s, control) >= 0 {
		var b []byte
		for _, r := range s {
			if control(r) {
				b = AppendEscape(b, r)
				continue
			}
			b = append(b, string(r)...)
		}
		s = string(b)
	}
	return string(Escape([]byte(s)))
}

// isPlain reports whether Cell does not change a text because it is printable ASCII and begins with a letter or digit, as most texts do.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || i == 0 && (c|0x20 < 'a' || c|0x20 > 'z') && c-'0' > 9 {
			return false
		}
	}
	return true
}

// control reports whether r is a C0 control character other than a line feed or tab.
func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }
