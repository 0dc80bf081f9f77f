package render_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/render"
)

func TestDecide(t *testing.T) {
	text := "<p>" + strings.Repeat("word ", 50) + "</p>"
	for _, c := range []struct{ name, html, want string }{
		{"an article", `<title>t</title><h1>h</h1>` + text + `<a href=/>x</a><script src=a.js></script>`, ""},
		{"nothing at all", "", ""},
		{"little text and no script", `<p>short</p>`, ""},
		{"noscript", text + `<noscript>Please enable JavaScript</noscript>`, "noscript"},
		{"noscript with markup", text + `<noscript><b>You need</b> <a href=/x>JAVASCRIPT</a></noscript>`, "noscript"},
		{"noscript with a picture that counts", text + `<noscript><img src=count.gif></noscript><a href=/>x</a>`, ""},
		{"JavaScript in a text", text + `<p>JavaScript</p>`, ""},
		{"an empty root", text + `<div id="root"></div>`, "app_root"},
		{"an empty root with white space and a comment", text + "<div id=__next>\n <!-- here -->\n</div>", "app_root"},
		{"a root with a script alone", text + `<div id=app><script>1</script></div>`, "app_root"},
		{"a root with a word for those without scripts", text + `<div id=app><noscript>Sorry</noscript></div>`, "app_root"},
		{"a root with content", text + `<div id=root><p>made by the server</p></div>`, ""},
		{"a root with text", text + `<div id=root>text</div>`, ""},
		{"a root of Angular", text + `<my-app ng-version="17"></my-app>`, "app_root"},
		{"rendered by the server", text + `<div data-server-rendered=true></div>`, ""},
		{"not rendered by the server", text + `<div data-server-rendered=false></div>`, "app_root"},
		{"a root without end", text + `<div id=root>`, ""},
		{"little text and a script", `<h1>Loading</h1><script src=/a.js></script><a href=/>x</a>`, "no_text"},
		{"little text and a script of its own", `<h1>Loading</h1><script>go()</script><a href=/>x</a>`, ""},
		{"a script with an empty src", `<h1>Loading</h1><script src=""></script>`, ""},
		{"text that nobody sees", `<script>` + text + `</script><style>` + text + `</style><template>` + text + `</template><title>` + text + `</title><script src=a></script>`, "no_text"},
		{"a module and no link", text + `<script type="module">1</script>`, "no_anchor"},
		{"a module and a link", text + `<script type=MODULE src=a.js></script><a href=/>x</a>`, ""},
		{"a module and an anchor that is no link", text + `<a name=x>x</a><script type=module>1</script>`, "no_anchor"},
		{"script in noscript", text + `<noscript><script type=module src=a></script></noscript>`, ""},
	} {
		auto := render.Policy{Mode: render.Auto}
		if got := auto.Decide(200, []byte(c.html)); got != c.want {
			t.Errorf("%s: %q, want %q; %+v", c.name, got, c.want, render.Scan([]byte(c.html)))
		}
		never, always := render.Policy{}, render.Policy{Mode: render.Always}
		if got := never.Decide(200, []byte(c.html)); got != "" {
			t.Errorf("%s: rendered by %q without a Mode", c.name, got)
		}
		if got := always.Decide(200, []byte(c.html)); got != render.RuleAlways {
			t.Errorf("%s: %q, always", c.name, got)
		}
		if got := always.Decide(404, []byte(c.html)); got != "" {
			t.Errorf("%s: %q with status 404", c.name, got)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`<noscript><div id=root></noscript><script type=module src=x></script><a href=x>`))
	f.Add([]byte("<template><noscript>\xff</template>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := render.Scan(b); s.Text > 2*len(b) || s.Anchors > len(b) {
			t.Errorf("%+v of %d bytes", s, len(b))
		}
	})
}

func TestGains(t *testing.T) {
	var g render.Gains
	useless := func(n int) {
		for range n {
			g.Note("a:80", 0, 1000, 1049)
		}
	}
	useless(4)
	g.Note("a:80", 0, 1000, 1050) // useful: 5 % more text
	useless(4)
	g.Note("a:80", 1, 1000, 0) // useful: a new link
	useless(4)
	if g.Skip("a:80") {
		t.Error("skipped after four")
	}
	useless(1)
	for i := range 50 {
		if !g.Skip("a:80") {
			t.Fatalf("page %d is rendered", i)
		}
	}
	if g.Skip("a:80") || g.Skip("b:80") {
		t.Error("skipped after fifty, or another host")
	}
}
