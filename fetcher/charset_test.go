package fetcher

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

const (
	textJapanese = "これは日本語の文章です。文字コードを正しく判定できるかどうかを確かめるために書きました。今日は天気がよいので、散歩に出かけましょう。"
	textChinese  = "这是一段中文文字，用来检查编码是否能够被正确识别。今天天气很好，我们一起去公园散步，然后在图书馆里看书。"
	textTaiwan   = "這是一段中文文字，用來檢查編碼是否能夠被正確識別。今天天氣很好，我們一起去公園散步，然後在圖書館裡看書。"
	textKorean   = "이것은 한국어 문장입니다. 문자 인코딩을 올바르게 판별할 수 있는지 확인하기 위해 작성했습니다. 오늘은 날씨가 좋습니다."
	textRussian  = "Это текст на русском языке, который написан для того, чтобы проверить, правильно ли определяется кодировка. Сегодня хорошая погода, и мы идём гулять."
	textFrench   = "Voilà un texte français écrit pour vérifier que l’encodage est bien reconnu : élève, être, où, ça, naïf, cœur – « déjà vu »."
)

func encodeText(t testing.TB, e encoding.Encoding, s string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func header(contentType string) http.Header { return http.Header{"Content-Type": {contentType}} }

func TestCharset(t *testing.T) {
	le, be := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	bareLE, bareBE := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	meta := func(label, text string) string {
		return "<!doctype html><head><meta charset=\"" + label + "\"><title>" + text + "</title>"
	}
	pad := strings.Repeat("<link rel=stylesheet href=/a.css>\n", 200) // about 7 KB
	for _, tc := range []struct {
		name    string
		ct      string
		body    []byte
		charset string
		from    string
		certain bool
		text    string // "": same as body
	}{
		{"UTF-8 BOM", "text/html", []byte("\xef\xbb\xbf" + textRussian), "utf-8", fromBOM, true, textRussian},
		{"UTF-16LE BOM", "text/html", encodeText(t, le, textRussian), "utf-16le", fromBOM, true, textRussian},
		{"UTF-16BE BOM", "text/html; charset=utf-8", encodeText(t, be, textJapanese), "utf-16be", fromBOM, true, textJapanese},
		{"UTF-16LE by header", "text/plain; charset=UTF-16LE", encodeText(t, bareLE, textFrench), "utf-16le", fromHeader, true, textFrench},
		{"header", "text/html;Charset=\"Shift_JIS\"", encodeText(t, japanese.ShiftJIS, textJapanese), "shift_jis", fromHeader, true, textJapanese},
		{"header's alias", "text/html; charset=x-sjis", encodeText(t, japanese.ShiftJIS, textJapanese), "shift_jis", fromHeader, true, textJapanese},
		{"header before meta", "text/html; charset=windows-1251", encodeText(t, charmap.Windows1251, meta("utf-8", textRussian)), "windows-1251", fromHeader, true, meta("utf-8", textRussian)},
		{"header with broken parameters", "text/html; charset=gbk; ;a b", encodeText(t, simplifiedchinese.GBK, textChinese), "gbk", fromHeader, true, textChinese},
		{"header's charset unknown", "text/html; charset=klingon", encodeText(t, charmap.Windows1251, meta("windows-1251", textRussian)), "windows-1251", fromMeta, false, meta("windows-1251", textRussian)},
		{"ISO-8859-1 is windows-1252", "text/html; charset=iso-8859-1", encodeText(t, charmap.Windows1252, textFrench), "windows-1252", fromHeader, true, textFrench},
		{"gb18030", "text/html; charset=gb18030", encodeText(t, simplifiedchinese.GB18030, textChinese+"𠮷"), "gb18030", fromHeader, true, textChinese + "𠮷"},
		{"meta", "text/html", encodeText(t, korean.EUCKR, meta("euc-kr", textKorean)), "euc-kr", fromMeta, false, meta("euc-kr", textKorean)},
		{"meta http-equiv", "text/html", encodeText(t, traditionalchinese.Big5, "<META content='text/html; charset=big5' http-equiv=Content-Type>"+textTaiwan), "big5", fromMeta, false, "<META content='text/html; charset=big5' http-equiv=Content-Type>" + textTaiwan},
		{"meta beyond 1 KB", "text/html", encodeText(t, japanese.EUCJP, "<head>"+pad+meta("euc-jp", textJapanese)), "euc-jp", fromMeta, false, "<head>" + pad + meta("euc-jp", textJapanese)},
		{"meta in XHTML", "application/xhtml+xml", encodeText(t, charmap.ISO8859_2, meta("iso-8859-2", "žluťoučký kůň")), "iso-8859-2", fromMeta, false, meta("iso-8859-2", "žluťoučký kůň")},
		{"meta in plain text counts nothing", "text/plain", []byte(meta("shift_jis", "ä")), "utf-8", fromUTF8, false, ""},
		{"meta in a comment", "text/html", []byte("<!-- <meta charset=shift_jis> -->ä"), "utf-8", fromUTF8, false, ""},
		{"meta in the body", "text/html", []byte("<body class=a>ä <meta charset=shift_jis>"), "utf-8", fromUTF8, false, ""},
		{"meta says UTF-16 and is not", "text/html", []byte(meta("utf-16", textFrench)), "utf-8", fromMeta, false, ""},
		{"XML declaration", "application/xml", encodeText(t, charmap.Windows1251, `<?xml version="1.0" encoding='windows-1251'?><a>`+textRussian+"</a>"), "windows-1251", fromXML, false, `<?xml version="1.0" encoding='windows-1251'?><a>` + textRussian + "</a>"},
		{"undeclared UTF-8", "text/html", []byte(textKorean), "utf-8", fromUTF8, false, ""},
		{"undeclared UTF-8, cut", "text/html", []byte(textKorean)[:101], "utf-8", fromUTF8, false, string([]byte(textKorean)[:100]) + "\uFFFD"},
		{"ASCII", "text/html", []byte("plain"), "utf-8", fromUTF8, false, ""},
		{"undeclared Shift_JIS", "text/html", encodeText(t, japanese.ShiftJIS, textJapanese), "shift_jis", fromDetector, false, textJapanese},
		{"undeclared EUC-JP", "text/html", encodeText(t, japanese.EUCJP, textJapanese), "euc-jp", fromDetector, false, textJapanese},
		{"undeclared GB18030", "text/html", encodeText(t, simplifiedchinese.GB18030, textChinese), "gbk", fromDetector, false, textChinese},
		{"undeclared EUC-KR", "text/html", encodeText(t, korean.EUCKR, textKorean), "euc-kr", fromDetector, false, textKorean},
		{"undeclared windows-1251", "text/html", encodeText(t, charmap.Windows1251, textRussian), "windows-1251", fromDetector, false, textRussian},
		{"undeclared windows-1252", "text/html", encodeText(t, charmap.Windows1252, textFrench), "windows-1252", fromDetector, false, textFrench},
		{"gbk is decoded as gb18030", "text/html; charset=gb2312", encodeText(t, simplifiedchinese.GB18030, textChinese+"𠮷"), "gbk", fromHeader, true, textChinese + "𠮷"},
		{"no clue", "text/html", []byte("a \x81\xfe"), "windows-1252", fromDefault, false, "a \u0081þ"},
		{"controls of windows-125x", "text/html; charset=windows-1251", []byte("a\x98\xff"), "windows-1251", fromHeader, true, "a\u0098я"},
		{"a byte that means nothing", "text/html; charset=windows-1253", []byte("a\xd2\xe1"), "windows-1253", fromHeader, true, "a\uFFFDα"},
		{"invalid for its label", "text/html; charset=utf-8", []byte("a\xffb"), "utf-8", fromHeader, true, "a\uFFFDb"},
		{"several invalid, consecutive", "text/html; charset=utf-8", []byte("x\xff\xfe\xe2\x82b\xc0\x80\xed\xa0\x80\xf0\x9f\x92"), "utf-8", fromHeader, true,
			"x\uFFFD\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"UTF-16 that ends in half a pair", "text/html; charset=utf-16le", []byte("a\x00\x3d\xd8\xa9"), "utf-16le", fromHeader, true, "a\uFFFD"},
		{"UTF-16 that ends in an odd byte", "text/html; charset=utf-16be", []byte("\x00a\x00"), "utf-16be", fromHeader, true, "a\uFFFD"},
		{"UTF-16 that ends in a lead", "text/html; charset=utf-16be", []byte("\x00a\xd8\x3d"), "utf-16be", fromHeader, true, "a\uFFFD"},
		{"XML declaration in HTML", "text/html", encodeText(t, charmap.Windows1251, `<?xml version="1.0" encoding='windows-1251'?><html>`+textRussian), "windows-1251", fromXML, false, `<?xml version="1.0" encoding='windows-1251'?><html>` + textRussian},
		{"META before an XML declaration", "text/html", encodeText(t, charmap.KOI8R, `<?xml version="1.0" encoding="windows-1251"?><meta charset=koi8-r>`+textRussian), "koi8-r", fromMeta, false, `<?xml version="1.0" encoding="windows-1251"?><meta charset=koi8-r>` + textRussian},
		{"an XML declaration before META in XHTML", "application/xhtml+xml", encodeText(t, charmap.KOI8R, `<?xml version="1.0" encoding="koi8-r"?><meta charset="windows-1251"/>`+textRussian), "koi8-r", fromXML, false, `<?xml version="1.0" encoding="koi8-r"?><meta charset="windows-1251"/>` + textRussian},
		{"UTF-16 by an XML declaration in HTML", "text/html", encodeText(t, bareLE, `<?xml version="1.0"?>`+textRussian), "utf-16le", fromXML, false, `<?xml version="1.0"?>` + textRussian},
		{"UTF-16 by an XML declaration", "application/xml", encodeText(t, bareBE, `<?xml version="1.0"?><a/>`), "utf-16be", fromXML, false, `<?xml version="1.0"?><a/>`},
		{"an encoding that hides markup", "text/html; charset=hz-gb-2312", []byte("~{<script>~}"), "replacement", fromHeader, true, "\uFFFD"},
		{"no text", "image/png", []byte("\x89PNG"), "", "", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &Page{Header: header(tc.ct), Body: tc.body}
			p.ContentType, p.Sniffed = mediaTypeOf(p.Header), false
			(&exchange{}).decide(p)
			if p.Charset != tc.charset || p.CharsetFrom != tc.from || p.CharsetCertain != tc.certain {
				t.Fatalf("%q from %q, certain %v", p.Charset, p.CharsetFrom, p.CharsetCertain)
			}
			text, err := p.Text()
			if err != nil {
				t.Fatal(err)
			}
			if tc.text == "" {
				if len(text) > 0 && &text[0] != &tc.body[0] {
					t.Error("copied")
				}
			} else if string(text) != tc.text {
				t.Fatalf("%q", text)
			}
			again, _ := p.Text()
			if len(text) > 0 && &again[0] != &text[0] {
				t.Error("not remembered")
			}
		})
	}
}

func TestPrescan(t *testing.T) {
	for in, want := range map[string]string{
		`<meta charset=utf-8>`:                                                  "utf-8",
		`<meta charset="utf-8`:                                                  "",
		`<meta charset=utf-8`:                                                   "utf-8",
		`<META	CHARSET = ' Shift_JIS ' >`:                                       "shift_jis",
		`<meta/charset=koi8-r/>`:                                                "",
		`<meta/charset=koi8-r />`:                                               "koi8-r",
		`<meta charset=nonsense><meta charset=koi8-r>`:                          "koi8-r",
		`<meta charset=koi8-r charset=utf-8>`:                                   "koi8-r",
		`<meta content="text/html; charset=koi8-r">`:                            "",
		`<meta http-equiv=refresh content="charset=koi8-r">`:                    "",
		`<meta http-equiv=content-type content="charset=koi8-r">`:               "koi8-r",
		`<meta http-equiv=content-type content='charset="koi8-r"'>`:             "koi8-r",
		`<meta http-equiv=content-type content='charset="koi8-r'>`:              "",
		`<meta http-equiv=content-type content="charset x charset = koi8-r;x">`: "koi8-r",
		`<metacharset=utf-8>`:                                                   "",
		`<meta charset=x-user-defined>`:                                         "windows-1252",
		`<!--><meta charset=koi8-r>-->`:                                         "koi8-r",
		`<!-- ><meta charset=koi8-r>`:                                           "",
		`<a title="<meta charset=koi8-r>">`:                                     "",
		`<a title=<meta charset=koi8-r>>`:                                       "",
		`</a title="<meta charset=koi8-r>">`:                                    "",
		`<? <meta charset=koi8-r>`:                                              "",
		`<!doctype html><meta charset=koi8-r>`:                                  "koi8-r",
		`<script>"<meta charset=koi8-r>"</script>`:                              "koi8-r", // the HTML Standard's prescan ignores script elements
		`<`:                                      "",
		`<m`:                                     "",
		`<meta`:                                  "",
		`<meta `:                                 "",
		`<meta =`:                                "",
		`<meta charset`:                          "",
		`<meta charset=`:                         "",
		`<meta charset="`:                        "",
		`<meta charset=""><meta charset=koi8-r>`: "koi8-r",
		`<meta ` + strings.Repeat("a", 70_000) + `=b>`: "",
	} {
		if got := prescan([]byte(in)); got != want {
			t.Errorf("%.80s: %q, want %q", in, got, want)
		}
	}
}

// TestCharsetByXML follows the HTML Standard, section 13.2.3.2: get an XML encoding.
func TestCharsetByXML(t *testing.T) {
	for in, want := range map[string]string{
		`<?xml encoding="koi8-r"?>`:                                 "koi8-r",
		`<?xml version='1.0' encoding = 'koi8-r' standalone="no"?>`: "koi8-r",
		"<?xml encoding\x01=\x00'koi8-r'>":                          "koi8-r",
		`<?xml encoding="utf-16"?>`:                                 "utf-8",
		`<?xml encoding="koi8-r>?>`:                                 "",
		`<?xml encoding=" koi8-r"?>`:                                "",
		`<?xml encoding=koi8-r?>`:                                   "",
		`<?xml version="1.0"?><a encoding="koi8-r">`:                "",
		`<?xml encoding="klingon"?>`:                                "",
		`<?xml encoding="koi8-r"`:                                   "",
		`<?XML encoding="koi8-r"?>`:                                 "",
		` <?xml encoding="koi8-r"?>`:                                "",
		`<?xml`:                                                     "",
		``:                                                          "",
		wide(`<?x`):                                                 "utf-16le",
		swapped(wide(`<?x`)):                                        "utf-16be",
		wide(`<?X`):                                                 "",
	} {
		if got := charsetByXML([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Text that is already UTF-8 is returned without an allocation.
func TestTextOfUTF8DoesNotAllocate(t *testing.T) {
	p := &Page{Body: []byte(textJapanese), Charset: "utf-8"}
	if n := testing.AllocsPerRun(100, func() { p.text = nil; p.Text() }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzCharset(f *testing.F) {
	f.Add("text/html", []byte("<meta charset=koi8-r>\xc1\xc2"))
	f.Add("text/html; charset=utf-16be", []byte("a\x00b"))
	f.Add("application/xml", []byte("<?xml encoding='big5'?>\xa4\xa4"))
	f.Add("text/plain", []byte("\x1b$B$3$l\x1b(B"))
	f.Add("text/html", []byte("~{VPND~}"))
	f.Add("", []byte("\xff\xfea"))
	f.Fuzz(func(t *testing.T, ct string, body []byte) {
		p := &Page{Header: header(ct), Body: body}
		keep := bytes.Clone(body)
		p.ContentType, p.Sniffed = contentType(p.Header, p.Body)
		(&exchange{}).decide(p)
		text, err := p.Text()
		if err != nil {
			t.Fatal(err)
		}
		if p.Charset != "" && !utf8.Valid(text) {
			t.Fatalf("%s gives invalid UTF-8", p.Charset)
		}
		if !bytes.Equal(body, keep) {
			t.Fatal("the body was changed")
		}
		if p.Charset != "" && canonical(p.Charset) != p.Charset {
			t.Fatalf("%q is no canonical name", p.Charset)
		}
	})
}
