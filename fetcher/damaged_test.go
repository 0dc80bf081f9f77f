package fetcher

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// Invalid sequences are replaced as in browsers: the expected texts come from Chromium 156.
func TestDamagedText(t *testing.T) {
	for _, tt := range []struct{ charset, bytes, want string }{
		{"big5", "f430ed28d7", "�0�(�"},
		{"big5", "8143ed", "�C�"},
		{"big5", "1bede0cb2794", "\x1b縺�'�"},
		{"big5", "bbd6cd7f", "閥�\x7f"},
		{"euc-kr", "1bf6486f5a32", "\x1b�HoZ2"},
		{"euc-kr", "32b23165e7", "2�1e�"},
		{"euc-kr", "24db3e28aced", "$�>(ы"},
		{"shift_jis", "8827b01bd6", "�'ｰ\x1bﾖ"},
		{"shift_jis", "b34efaf749fd", "ｳN沆I�"},
		{"shift_jis", "1bec4a479a", "\x1b�JG�"},
		{"shift_jis", "28d4ecc428", "(ﾔ�("},
		{"euc-jp", "65ed9d", "e�"},
		{"euc-jp", "8e94ed", "��"},
		{"euc-jp", "8ab4", "��"},
		{"euc-jp", "6bf41bc9edc9", "k�\x1b附�"},
		{"euc-jp", "8fa1ff41", "�A"},
		{"euc-jp", "8fb0a1", "丂"},
		{"euc-jp", "8fb0", "�"},
		{"gbk", "ec28e3e8e6", "�(汨�"},
		{"gbk", "9326f2", "�&�"},
		{"gbk", "ff80", "�€"},
		{"gb18030", "f334ee38f190", "�駩"},
		{"gb18030", "45f030", "E�"},
		{"gb18030", "8130", "�"},
		{"gb18030", "813081", "�"},
		{"gb18030", "81304141", "�0AA"},
		{"gb18030", "81308141", "�0丄"},
		{"gb18030", "8139ee39", "㐀"},
	} {
		b, err := hex.DecodeString(tt.bytes)
		if err != nil {
			t.Fatal(err)
		}
		text, err := toUTF8(tt.charset, b)
		if err != nil || string(text) != tt.want {
			t.Errorf("%s %s: %q, want %q, %v", tt.charset, tt.bytes, text, tt.want, err)
		}
	}
}

// Valid text is decoded like in x/text, on the fast path and on the slow one.
func TestDamagedDecodesWhatIsWhole(t *testing.T) {
	for charset, text := range map[string]string{
		"shift_jis": textJapanese, "euc-jp": textJapanese, "gb18030": textChinese + "𠮷", "big5": textTaiwan, "euc-kr": textKorean,
	} {
		e, err := htmlindex.Get(charset)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := damagedAs(charset, e)
		if !ok {
			t.Errorf("%s is not known", charset)
			continue
		}
		text += "<a href='x'>\r\n"
		if got := d.decode(encodeText(t, e, text)); string(got) != text {
			t.Errorf("%s: %q", charset, got)
		}
	}
}

// Decoding garbage is linear: each byte gives at most three bytes of text.
func TestDamagedIsLinear(t *testing.T) {
	for _, piece := range []string{"\xff", "\x81", "\x8f", "\x8f\xa1", "\x810", "\x810\x81", "\xe0A", "\xa1"} {
		body := []byte(strings.Repeat(piece, 256<<10/len(piece)))
		for _, charset := range []string{"shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"} {
			text, err := toUTF8(charset, bytes.Clone(body))
			if err != nil || !utf8.Valid(text) || len(text) > 3*len(body) {
				t.Errorf("%s of %q…: %d bytes for %d, %v", charset, piece, len(text), len(body), err)
			}
		}
	}
}
