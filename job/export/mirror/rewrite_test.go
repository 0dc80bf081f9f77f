package mirror

import (
	"bytes"
	"html"
	"strings"
	"testing"

	tokens "golang.org/x/net/html"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/charset"
)

// rewritten rewrites the references of a page at http://a.example/dir/page, in a mirror that has /here and /dir/pic.png.
func rewritten(in, name string) string {
	u, _ := weburl.Parse("http://a.example/dir/page")
	p := &fetcher.Page{Body: []byte(in), Charset: name}
	r := &references{base: u, encode: charset.Encoder(name)}
	if base := baseOf(p); base != "" {
		r.base, _ = u.ResolveIn(r.encode, base)
		r.moved = true
	}
	replace := func(ref string) (string, bool, bool) {
		r.m = &mirror{key: weburl.URL.Key}
		to, _, ok := r.replace(ref)
		for url, file := range map[string]string{"http://a.example/here": "../here.html", "http://a.example/dir/pic.png": "pic.png"} {
			if rest, found := strings.CutPrefix(to, url); found && (rest == "" || rest[0] == '#') {
				return file + rest, true, ok
			}
		}
		return to, false, ok
	}
	return string((&page{replace: replace, text: textOf(name)}).html([]byte(in)))
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`<A HREF='/here?#x'  class=y >t</A >`, `<A HREF='http://a.example/here?#x'  class=y >t</A >`},
		{`<a href=/here#top>`, `<a href="../here.html#top">`},
		{`<a href="#top"><a href=""><a href>`, `<a href="#top"><a href=""><a href>`},
		{`<a href="javascript:x('/here')"><a href="mailto:a@b.example"><a href="data:,x">`, `<a href="javascript:x('/here')"><a href="mailto:a@b.example"><a href="data:,x">`},
		{`<a href="/other?a=1&amp;b=2">`, `<a href="http://a.example/other?a=1&amp;b=2">`},
		{`<a href href="/other"><img srcset srcset=/other>`, `<a href href="/other"><img srcset srcset=/other>`},
		{`<a href="/here" href="/other">`, `<a href="../here.html" href="/other">`},
		{`<img src=pic.png srcset="pic.png 1x,/big.png 2x, pic.png">`, `<img src="pic.png" srcset="pic.png 1x,http://a.example/big.png 2x, pic.png">`},
		{`<p style="background:url( '/here' ) é">`, `<p style="background:url( &#39;../here.html&#39; ) &#233;">`},
		{`<style>@import "x.css"; a{b:url(pic.png)} /* url(pic.png) */</style>`, `<style>@import "http://a.example/dir/x.css"; a{b:url(pic.png)} /* url(pic.png) */</style>`},
		{`<meta http-equiv=Refresh content="0; url='/here'">`, `<meta http-equiv=Refresh content="0; url=&#39;../here.html&#39;">`},
		{`<meta name=x content="0; url=/here">`, `<meta name=x content="0; url=/here">`},
		{`<link rel=stylesheet href=pic.png integrity="sha256-x"><script src=/other integrity=y>`, `<link rel=stylesheet href="pic.png" integrity=""><script src="http://a.example/other" integrity=y>`},
		{`<script>"<a href=/here>"</script><!-- <a href=/here> --><title><a href=/here></title>`, `<script>"<a href=/here>"</script><!-- <a href=/here> --><title><a href=/here></title>`},
		{`<base href="/"><a href="here"><a href="">`, `<base href=""><a href="../here.html"><a href="">`},
		{`<object data=/here><p data=/here>`, `<object data="../here.html"><p data=/here>`},
		{"<a href='/\xe9'>", "<a href='http://a.example/%EF%BF%BD'>"},
		{`<a href="/here`, `<a href="/here`},
		{`<a/href="/here"/>`, `<a/href="../here.html"/>`},
		{`<a href="/other#&quot;><script>">`, `<a href="http://a.example/other#%22%3E%3Cscript%3E">`},
		{`<style>a{b:url("/o'(x)")}</style>`, `<style>a{b:url("http://a.example/o%27%28x%29")}</style>`},
		{"<a href=' \n/here '>", "<a href='../here.html'>"},
	} {
		if got := rewritten(c.in, "utf-8"); got != c.want {
			t.Errorf("%s\n is %s\nwant %s", c.in, got, c.want)
		}
	}
}

// Text in a legacy charset keeps its bytes. Characters in the query of a reference are encoded as browsers encode them.
func TestCharset(t *testing.T) {
	in := "<title>caf\xe9</title><a href='?q=\xe9' title='\xe9'>"
	if got, want := rewritten(in, "windows-1252"), "<title>caf\xe9</title><a href='http://a.example/dir/page?q=%E9' title='\xe9'>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzRewrite checks that pages without references to pages of the mirror keep all their bytes, that the attributes that are found equal
// those of the tokenizer, and that no replacement can end an attribute.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{`<a href=/x>`, `<a href="x"b='y'/ c>`, `<style>a{b:url(x)}`, `<img srcset="a 1x,b">`, `<a ==x>`, `<a "=x'>`, "<a\x00b=c\x00>", `<p style='x:url(a)'>`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		same := &page{replace: func(string) (string, bool, bool) { return "", false, false }, text: func(b []byte) string { return string(b) }}
		if out := same.html(in); !bytes.Contains(bytes.ToLower(in), []byte("<base")) && !bytes.Equal(out, in) {
			t.Fatalf("%q became %q", in, out)
		}
		const evil = `x"'<>&`
		other := &page{replace: func(string) (string, bool, bool) { return evil, false, true }, text: same.text}
		out := other.html(in)
		a, b := tokens.NewTokenizer(bytes.NewReader(in)), tokens.NewTokenizer(bytes.NewReader(out))
		for {
			x, y := a.Next(), b.Next()
			if x != y {
				t.Fatalf("%q became %q: %v is %v", in, out, x, y)
			}
			if x == tokens.ErrorToken {
				return
			}
			if x != tokens.StartTagToken && x != tokens.SelfClosingTagToken {
				continue
			}
			raw := bytes.Clone(a.Raw())
			_, i := tagName(raw)
			mine := attributes(raw, i)
			one, two := a.Token(), b.Token()
			if len(one.Attr) != len(two.Attr) {
				t.Fatalf("%q became %q: %v, %v", in, out, one, two)
			}
			for _, m := range mine {
				for _, at := range one.Attr {
					if at.Key == m.name {
						if v := strings.ReplaceAll(strings.ReplaceAll(html.UnescapeString(string(raw[m.from:m.to])), "\r\n", "\n"), "\r", "\n"); v != strings.ReplaceAll(strings.ReplaceAll(at.Val, "\r\n", "\n"), "\r", "\n") && !strings.ContainsAny(string(raw), "&\x00") {
							t.Fatalf("%q: %s is %q, and %q for the tokenizer", raw, m.name, v, at.Val)
						}
						break
					}
				}
			}
		}
	})
}
