package weburl

import (
	"testing"
	"unicode/utf8"
)

// latin is an Encoder of ISO-8859-1, except that it writes "ö" as bytes with a meaning in ASCII.
func latin(dst []byte, text string) ([]byte, int) {
	for i, r := range text {
		switch {
		case r == 'ö':
			dst = append(dst, 0x81, '|', '#')
		case r > 0xff || r == utf8.RuneError:
			return dst, i
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst, len(text)
}

// WHATWG URL Standard, section 4.4, query state, and section 1.3, percent-encode after encoding.
func TestResolveInAnEncoding(t *testing.T) {
	base := mustParse(t, "http://a.example/dir/page?b=%C3%A9")
	for _, tt := range []struct{ ref, want string }{
		{"?q=é", "http://a.example/dir/page?q=%E9"},
		{"é?é&日=%E9#é", "http://a.example/dir/%C3%A9?%E9&%26%2326085%3B=%E9"},
		{"//é.example/é?é", "http://xn--9ca.example/%C3%A9?%E9"},
		{"https://b.example?é", "https://b.example/?%E9"},
		{"?ö", "http://a.example/dir/page?%81|%23"},
		{"?a'b\" <>|\\^`{}", "http://a.example/dir/page?a%27b%22%20%3C%3E|\\^`{}"},
		{"?\xff", "http://a.example/dir/page?%26%2365533%3B"},
		{"?日本", "http://a.example/dir/page?%26%2326085%3B%26%2326412%3B"},
		{"?", "http://a.example/dir/page?"},
		{"", "http://a.example/dir/page?b=%C3%A9"},
		{"#é", "http://a.example/dir/page?b=%C3%A9"},
	} {
		u, err := base.ResolveIn(latin, tt.ref)
		if err != nil || u.String() != tt.want {
			t.Errorf("%q: %s, %v, want %s", tt.ref, u, err, tt.want)
		}
		again, err := Parse(u.String())
		if err != nil || again != u || again.Key() != u.Key() {
			t.Errorf("%q: %s parses to %s, %v", tt.ref, u, again, err)
		}
	}
}

func TestResolveInTooLong(t *testing.T) {
	ref := "?"
	for range 1000 {
		ref += "日"
	}
	if _, err := mustParse(t, "http://a.example/").ResolveIn(latin, ref); ReasonOf(err) != ReasonTooLong {
		t.Errorf("%v, want %s", err, ReasonTooLong)
	}
}
