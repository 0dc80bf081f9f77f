package hidden_test

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/amble-crawler/amble/internal/hidden"
)

func TestIsByTheTables(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := r == 0x7f || 0x80 <= r && r <= 0x9f || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029 ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
		if got := hidden.Is(r); got != want {
			t.Errorf("%U: %v", r, got)
		}
	}
}

func TestWhatMustNotBeShown(t *testing.T) {
	for _, r := range []rune{
		0x7f, 0x80, 0x85, 0x9b, 0x9d, 0x9f, // CSI, OSC and other terminal controls
		0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x200e, 0x200f, 0x061c, // text direction
		0xad, 0x200b, 0x200c, 0x200d, 0x2060, 0x2063, 0xfeff, 0x180e, 0x034f, 0x115f, 0x3164, 0xffa0, 0xfff9, 0xe0001, 0xe0041, 0xe007f,
	} {
		if !hidden.Is(r) {
			t.Errorf("%U is shown", r)
		}
	}
	for _, r := range []rune{'\n', '\t', 0x1b, ' ', 'a', 'é', 'ß', 'Ж', 'א', 'ع', 'क', 'ไ', '日', '한', '、', 0xa0, 0xfe0f, 0xfffd, '😀', 0x20000} {
		if hidden.Is(r) {
			t.Errorf("%U is hidden", r)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "a\u009b31m", "\u202eevil\u202c", "\U000e0041\U000e0042", "日本\u200b語", "\x9b", "a\xc2", "\xff\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		out := hidden.Escape(in)
		var was, is string
		if err := json.Unmarshal(in, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &is); err != nil || is != was {
			t.Errorf("%q became %s, %v", s, out, err)
		}
		for _, b := range [][]byte{out, hidden.Escape([]byte(s))} {
			if !utf8.Valid(b) {
				t.Errorf("%q: not UTF-8", b)
			}
			for _, r := range string(b) {
				if hidden.Is(r) {
					t.Errorf("%q has %U", b, r)
				}
			}
		}
	})
}
