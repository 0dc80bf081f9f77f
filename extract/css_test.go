package extract

import (
	"strings"
	"testing"
)

func TestCSS(t *testing.T) {
	for _, tt := range []struct{ name, sheet, want string }{
		{"url bare", `a{b:url( x.png )}`, "style  <x.png>"},
		{"url quoted", `a{b:URL("x y")c:url( 'z' format("w"))}`, "style  <x y>\nstyle  <z>"},
		{"import", `@import "a";@IMPORT url(b) screen;@import url("c");`, "import  <a>\nimport  <b>\nimport  <c>"},
		{"import after a rule is none", `a{}@import "b";`, ""},
		{"import without address", `@import ;"a"`, ""},
		{"string is none", `a{content:"url(x)";b:'url(y)'}`, ""},
		{"comment", `/* url(x) "*/a{b:url(y)}/* url(z)`, "style  <y>"},
		{"slashes are no comment", `a{b:url(//x/y.png)}`, "style  <//x/y.png>"},
		{"escapes", `a{b:u\72l(x\29 \)y);c:url("a\
b\"\26")}`, "style  <x))y>\nstyle  <ab\"&>"},
		{"other functions", `a{b:curl(x) url-prefix(y) 3url(z) #url(v)}`, ""},
		{"namespace", `@namespace s url(http://www.w3.org/2000/svg);@font-face{src:url(f)}`, "style  <f>"},
		{"document", `@document url(x){a{b:url(y)}}`, "style  <y>"},
		{"bad url", `a{b:url(x y);c:url(x"y);d:url(x(y);e:url(ok)}`, "style  <ok>"},
		{"bad string", "a{b:\"x\n}c{d:url(y)}", "style  <y>"},
		{"in the sheet itself", `a{b:url(#x);c:url();d:url(data:,x)}`, ""},
		{"unfinished", `a{b:url(x`, "style  <x>"},
		{"unfinished string", `@import "x`, "import  <x>"},
		{"NUL", "a{b:url(x\x00y)}", "style  <x\ufffdy>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(CSS([]byte(tt.sheet))); got != tt.want {
				t.Errorf("%s\n got %q\nwant %q", tt.sheet, got, tt.want)
			}
		})
	}
}

func TestCSSOffset(t *testing.T) {
	const sheet = `@import "a"; b { c: url(d) }`
	d := CSS([]byte(sheet))
	for i, want := range []string{`"a"`, "url("} {
		if got := d.Links[i].Offset; got != strings.Index(sheet, want) {
			t.Errorf("%s at %d", want, got)
		}
	}
}

func FuzzCSS(f *testing.F) {
	f.Add([]byte(`@import "a" screen; @namespace url(b); c { d: url(e\66 ) } /* f */ g { h: url('i' `))
	f.Add([]byte("a{b:\"c\\\nd\\"))
	f.Add([]byte("u\\72 l(\\"))
	f.Fuzz(func(t *testing.T, sheet []byte) {
		for _, l := range CSS(sheet).Links {
			if l.Ref == "" || l.Offset < 0 || l.Offset >= len(sheet) || l.Kind != Style && l.Kind != Import {
				t.Errorf("%+v", l)
			}
		}
	})
}
