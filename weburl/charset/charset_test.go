package charset

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/amble-crawler/amble/weburl"
)

// query returns what a browser sends for a link "?text" on a page in the encoding.
func query(t testing.TB, label, text string) string {
	t.Helper()
	base, err := weburl.Parse("http://h.example/")
	if err != nil {
		t.Fatal(err)
	}
	u, err := base.ResolveIn(Encoder(label), "?"+text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// The queries are those that Chromium 156 sends for the same links.
func TestQuery(t *testing.T) {
	for _, tt := range []struct{ label, text, want string }{
		{"utf-8", "日本x", "%E6%97%A5%E6%9C%ACx"},
		{"utf-16le", "日", "%E6%97%A5"},
		{"utf-16be", "日", "%E6%97%A5"},
		{"replacement", "日", "%E6%97%A5"},
		{"no such encoding", "日", "%E6%97%A5"},
		{"", "日", "%E6%97%A5"},

		{"windows-1251", "я=&б", "%FF=&%E1"},
		{"windows-1251", "日я", "%26%2326085%3B%FF"},
		{"windows-1251", "€", "%88"},
		{"windows-1251", "\u0098", "%98"},
		{"cp1251", "я", "%FF"},
		{"iso-8859-1", "é…\u0081", "%E9%85%81"},
		{"iso-8859-2", "č\u0085", "%E8%85"},
		{"koi8-r", "я", "%D1"},
		{"windows-1252", "a \"'<>|\\`{}^~é", "a%20%22%27%3C%3E|\\`{}^~%E9"},

		{"shift_jis", "日本x", "%93%FA%96{x"},
		{"shift_jis", "表示", "%95\\%8E%A6"},
		{"shift_jis", "ⅰ≒纊", "%FA@%81%E0%FA\\"},
		{"shift_jis", "ｱ¥‾−\u0080", "%B1\\~%81|%80"},
		{"sjis", "十", "%8F\\"},

		{"euc-jp", "日ｱ本", "%C6%FC%8E%B1%CB%DC"},
		{"euc-jp", "¥‾−", "\\~%A1%DD"},
		{"euc-jp", "丂a", "%26%2319970%3Ba"}, // JIS X 0212 is decoded but never encoded

		{"iso-2022-jp", "日本x", "%1B$BF|K\\%1B(Bx"},
		{"iso-2022-jp", "xアｱ日y", "x%1B$B%%22%%22F|%1B(By"},
		{"iso-2022-jp", "日💩本¥x", "%1B$BF|%1B(B%26%23128169%3B%1B$BK\\%1B(J\\x%1B(B"},
		{"iso-2022-jp", "¥~", "%1B(J\\%1B(B~"},

		{"big5", "日本", "%A4%E9%A5%BB"},
		{"big5", "═十仝", "%F9%F9%A4Q%C6%DF"},
		{"big5", "À", "%26%23192%3B"}, // the Hong Kong supplement is decoded but never encoded

		{"gbk", "日€", "%C8%D5%80"},
		{"gb2312", "日ｱ", "%C8%D5%26%2365393%3B"},
		{"gb18030", "日€ｱ💩¥", "%C8%D5%A2%E3%841%973%949%DA3%810%846"},

		{"euc-kr", "가각힣日", "%B0%A1%B0%A2%C6R%EC%ED"},
		{"windows-949", "갂", "%81A"},
	} {
		if got := query(t, tt.label, tt.text); got != tt.want {
			t.Errorf("%s: %q: %s, want %s", tt.label, tt.text, got, tt.want)
		}
	}
}

// characters is the number of non-ASCII characters that Chromium 156 can encode in each encoding. Only planes 0 and 2
// and U+10000 to U+10100 are counted, without the characters for private use.
var characters = map[string]int{
	"ibm866": 128, "iso-8859-2": 128, "iso-8859-3": 121, "iso-8859-4": 128, "iso-8859-5": 128, "iso-8859-6": 83,
	"iso-8859-7": 125, "iso-8859-8": 92, "iso-8859-8-i": 92, "iso-8859-10": 128, "iso-8859-13": 128, "iso-8859-14": 128,
	"iso-8859-15": 128, "iso-8859-16": 128, "koi8-r": 128, "koi8-u": 128, "macintosh": 127, "windows-874": 120,
	"windows-1250": 128, "windows-1251": 128, "windows-1252": 128, "windows-1253": 125, "windows-1254": 128,
	"windows-1255": 118, "windows-1256": 128, "windows-1257": 126, "windows-1258": 128, "x-mac-cyrillic": 128,
	"gbk": 21891 - 19, "big5": 14653, "euc-jp": 7392, "iso-2022-jp": 7392, "shift_jis": 7393, "euc-kr": 17048,
}

// TestEveryCharacter checks that x/text decodes each encoded character to the original, except for those that Japanese
// encodings replace on purpose.
func TestEveryCharacter(t *testing.T) {
	for name, want := range characters {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		encode, n := Encoder(name), 0
		for r := rune(utf8.RuneSelf); r < 0x30000; r++ {
			if unicode.In(r, unicode.Co, unicode.Cs) || r > 0x10100 && r < 0x20000 {
				continue
			}
			code, read := encode(nil, string(r))
			if read == 0 {
				if len(code) > 0 {
					t.Errorf("%s: %U is not written and leaves % x", name, r, code)
				}
				continue
			}
			n++
			back, err := e.NewDecoder().Bytes(code)
			if err != nil || string(back) != string(r) && !folded(name, r) {
				t.Errorf("%s: %U is % x, which reads %q, %v", name, r, code, back, err)
			}
		}
		if n != want {
			t.Errorf("%s: %d characters, want %d", name, n, want)
		}
	}
}

// folded reports whether an encoding replaces r by another character, or by a control character that x/text cannot
// decode.
func folded(name string, r rune) bool {
	switch name {
	case "euc-jp", "shift_jis", "iso-2022-jp":
		return r == yen || r == overline || r == minus || r == 0x80 || name == "iso-2022-jp" && 0xff61 <= r && r <= 0xff9f
	}
	return r < 0xa0
}

func FuzzEncoder(f *testing.F) {
	for i, text := range []string{"日本x", "é€", "\xff日\x1b", "💩¥~\\", "ｱ‾"} {
		f.Add(uint8(i), text)
	}
	names := []string{"gb18030", "iso-2022-jp"}
	for name := range characters {
		names = append(names, name)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		name := names[int(which)%len(names)]
		encode := Encoder(name)
		for rest := text; rest != ""; {
			_, n := encode(nil, rest)
			if n < 0 || n > len(rest) {
				t.Fatalf("%s: read %d of %q", name, n, rest)
			}
			_, size := utf8.DecodeRuneInString(rest[n:])
			rest = rest[n+size:]
		}
		for _, c := range []byte(query(t, name, strings.NewReplacer("#", "", "\n", "", "\r", "", "\t", "").Replace(cut(text)))) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%s: %q has %#x in its query", name, text, c)
			}
		}
	})
}

// cut shortens a text so that it fits into a URL.
func cut(s string) string { return s[:min(len(s), 400)] }
