package robots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestLineEnds checks that CR, LF and CRLF each end a line, and give the same line numbers (RFC 9309 section 2.2, EOL).
func TestLineEnds(t *testing.T) {
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		body := strings.Join([]string{"# rules", "", "User-agent: *", "Disallow: /a", "Disallow: /b"}, eol)
		for _, tail := range []string{"", eol} {
			v := Parse([]byte(body + tail)).For("x").Test("/b")
			if v.Allowed || v.Line != 5 || v.GroupLine != 3 {
				t.Errorf("%q: %+v", eol, v)
			}
		}
	}
	// An LF followed by CR gives an empty line, and so does CR CR LF.
	if v := Parse([]byte("User-agent: *\n\rDisallow: /\r\r\nDisallow: /b")).For("x").Test("/b"); v.Line != 5 {
		t.Errorf("%+v", v)
	}
}

// TestByteOrderMark checks that a byte order mark at the beginning is skipped and does not count as a column.
func TestByteOrderMark(t *testing.T) {
	v := Parse([]byte("\ufeffUser-agent: *\nDisallow: /")).For("x").Test("/")
	if v.Allowed || v.GroupLine != 1 {
		t.Errorf("%+v", v)
	}
	// At the beginning of a later line, where two files were concatenated, a byte order mark counts as white space.
	if v := Parse([]byte("User-agent: *\n\ufeffDisallow: /")).For("x").Test("/"); v.Allowed {
		t.Errorf("%+v", v)
	}
}

// TestControlBytes checks that control bytes around a field or value are ignored. Inside a field or value, they are
// ordinary bytes.
func TestControlBytes(t *testing.T) {
	g := Parse([]byte("\x00User-agent\x01: \x02*\x00\n\x00Disallow:\x00 /a\x00\nDisallow: /b\x00c\nDis\x00allow: /d\nDisallow:\u00a0/e\u200b\n")).For("x")
	for path, line := range map[string]int{"/a": 2, "/b%00c": 3, "/b\x00c": 3, "/b": 0, "/d": 0, "/e": 5} {
		if v := g.Test(path); v.Line != line {
			t.Errorf("%q: %+v", path, v)
		}
	}
}

// TestComments checks that comments begin anywhere, with or without a space before them (RFC 9309 section 2.2, EOL).
func TestComments(t *testing.T) {
	g := Parse([]byte("User-agent: *#all\nDisallow: /a#b\nDisallow:#/c\n#Disallow: /d\n  # Disallow: /e\nDisallow#: /f\n")).For("x")
	for path, line := range map[string]int{"/a": 2, "/c": 0, "/d": 0, "/e": 0, "/f": 0} {
		if v := g.Test(path); v.Line != line {
			t.Errorf("%q: %+v", path, v)
		}
	}
}

// TestBlanksRoundTheColon covers spaces and tabs around the colon (RFC 9309 section 2.2: *WS ":" *WS).
func TestBlanksRoundTheColon(t *testing.T) {
	g := Parse([]byte(" \tUser-agent \t:\t * \t\n\tDisallow\t:/a \t\nDisallow: \t /b\n")).For("x")
	for path, line := range map[string]int{"/a": 2, "/b": 3} {
		if v := g.Test(path); v.Line != line || v.Column < 1 {
			t.Errorf("%q: %+v", path, v)
		}
	}
	if v := g.Test("/a"); v.Column != 12 || v.Rule != "Disallow\t:/a" {
		t.Errorf("%+v", v)
	}
}

// TestSizeLimit checks that anything beyond MaxSize is ignored, including a line cut by it (RFC 9309 section 2.5).
func TestSizeLimit(t *testing.T) {
	head := "User-agent: *\nDisallow: /first\n"
	pad := strings.Repeat("#", MaxSize-len(head)-len("Disallow: /")-1) + "\n"
	body := []byte(head + pad + "Disallow: /private\nDisallow: /late\n")
	if !bytes.HasPrefix(body[MaxSize-len("Disallow: /"):], []byte("Disallow: /private")) {
		t.Fatal("the cut is not where the test wants it")
	}
	r := Parse(body)
	g := r.For("x")
	if v := g.Test("/x"); !v.Allowed {
		t.Errorf("a cut line was used: %+v", v)
	}
	if v := g.Test("/private"); !v.Allowed || !r.Truncated() {
		t.Errorf("%+v", v)
	}
	if v := g.Test("/first"); v.Allowed {
		t.Errorf("%+v", v)
	}
	if !r.In(Draft1997).Truncated() {
		t.Error("In lost the truncation")
	}
	// A caller that itself stops reading at the limit passes a truncated file, and Parse cannot report that.
	if v := Parse(body[:MaxSize]).For("x").Test("/x"); !v.Allowed {
		t.Errorf("a cut line was used: %+v", v)
	}
	// A complete file of exactly the maximum size is read to its end.
	whole := append(bytes.Clone(body[:MaxSize-1]), '\n')
	whole = append(whole[:MaxSize-len("Disallow: /")], []byte("Disallow:/\n")...)
	if r := Parse(whole); len(whole) != MaxSize || r.Truncated() || r.For("x").Test("/x").Allowed {
		t.Error("the last line of a whole file was dropped")
	}
	// A shorter file may end without a line end.
	if r := Parse(whole[:MaxSize-1]); r.Truncated() || r.For("x").Test("/x").Allowed {
		t.Error("the last line of a shorter file was dropped")
	}
	returns := append(bytes.ReplaceAll(body[:MaxSize], []byte("\n"), []byte("\r")), 'x')
	if r := Parse(returns); !r.Truncated() || !r.For("x").Test("/x").Allowed || r.For("x").Test("/first").Allowed {
		t.Error("lines that end in CR were not kept up to the cut")
	}
	if r := Parse(bytes.Repeat([]byte("a"), MaxSize+1)); !r.Truncated() || !r.For("x").Test("/").Allowed {
		t.Error("one line longer than the limit")
	}
}

// TestBodyIsCopied checks that the caller may reuse its buffer.
func TestBodyIsCopied(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\n")
	g := Parse(body).For("x")
	clear(body)
	if v := g.Test("/a"); v.Rule != "Disallow: /a" {
		t.Errorf("%+v", v)
	}
}

// TestLongLines checks that a line may be as long as the file.
func TestLongLines(t *testing.T) {
	long := "/" + strings.Repeat("a", 300_000)
	g := Parse([]byte("User-agent: *\nDisallow: " + long + "\n")).For("x")
	if v := g.Test(long + "b"); v.Line != 2 {
		t.Error("not refused")
	}
	if v := g.Test(long[:1000]); v.Line != 0 {
		t.Error("refused")
	}
}

// TestMisspellings checks that every accepted misspelling means its field, and that none is accepted for Allow.
func TestMisspellings(t *testing.T) {
	for name, f := range fields {
		k, _ := fieldOf(strings.ToUpper(name))
		if k != f.kind {
			t.Errorf("%s: %v", name, k)
		}
		if k, flags := fieldOf(f.proper); f.proper != "" && (k != f.kind || flags != 0) {
			t.Errorf("%s: %v, %v", f.proper, k, flags)
		}
		if k == allow || k == unknown {
			t.Errorf("%s means %v", name, k)
		}
	}
	for _, name := range []string{"useragent", "User Agent", "user_agent", "dissallow", "disalow", "Site-Map", "crawldelay"} {
		if k, flags := fieldOf(name); k == unknown || flags != misspelt {
			t.Errorf("%s: %v %v", name, k, flags)
		}
	}
	for _, name := range []string{"", "a", "alow", "allows", "al-low", "allo\x17", "disallo\x17", "user\ragent", "user-agentx", "x-disallow", strings.Repeat("-", 20) + "disallow"} {
		if k, _ := fieldOf(name); k != unknown {
			t.Errorf("%q: %v", name, k)
		}
	}
}

// TestOrigin checks that a Disallow with a URL of another host does not apply to this host.
func TestOrigin(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: http://Shop.example/a\nDisallow: https://other.example/b\nDisallow: http://shop.example:8080/c\nDisallow: http://shop.example:80/d\nDisallow: http://shop.example*e$\n")
	g := Parse(body, WithOrigin("https://SHOP.example")).For("x")
	for path, line := range map[string]int{"/a": 2, "/b": 0, "/c": 0, "/d": 5, "/xe": 6, "/xef": 0} {
		if v := g.Test(path); v.Line != line {
			t.Errorf("%s: %+v", path, v)
		}
	}
	g = Parse(body).For("x")
	if v := g.Test("/b"); v.Line != 3 {
		t.Errorf("without an origin every host is this one: %+v", v)
	}
}

// TestProductToken extracts the product name from a User-Agent header or a bare token.
func TestProductToken(t *testing.T) {
	for ua, want := range map[string]string{
		"ExampleBot":                                                        "ExampleBot",
		"ExampleBot/2.1 (+https://h.example)":                               "ExampleBot",
		"  example_bot-2 other/1":                                           "example_bot-2",
		"Mozilla/5.0 (compatible; FooBot/1.0)":                              "FooBot",
		"Mozilla/5.0 (Compatible;FooBot; a)":                                "FooBot",
		"Mozilla/5.0 AppleWebKit (KHTML; compatible; Foo-Bot/1; +http://h)": "Foo-Bot",
		"Mozilla/5.0 (compatible; )":                                        "Mozilla",
		"archive.org_bot":                                                   "archive",
		"Lycos_Spider_(Rex)/1.0 libwww/3.1":                                 "Lycos_Spider_",
		"":                                                                  "",
		"(odd)":                                                             "",
		"4bot":                                                              "4bot",
	} {
		if got := ProductToken(ua); got != want {
			t.Errorf("%q: %q, want %q", ua, got, want)
		}
	}
	// For accepts a whole User-Agent header.
	if v := Parse([]byte("User-agent: FooBot\nDisallow: /")).For("Mozilla/5.0 (compatible; FooBot/1.0)").Test("/"); v.Allowed {
		t.Errorf("%+v", v)
	}
}

// TestCanonicalForms covers RFC 3986 section 6.2.2 and RFC 9309 section 2.2.2.
func TestCanonicalForms(t *testing.T) {
	for in, want := range map[string]string{
		"/plain/path?q=1&r=[x]": "/plain/path?q=1&r=[x]",
		"/%7e%7E~":              "/~~~",
		"/%41%5a%2d%2e%5f":      "/AZ-._",
		"/%c3%a9é":              "/%C3%A9%C3%A9",
		"/%2f%2F/":              "/%2F%2F/",
		"/*$":                   "/%2A%24",
		"/%2a%24":               "/%2A%24",
		"/a b\t\"<>\\^`{|}\x7f": "/a%20b%09%22%3C%3E%5C%5E%60%7B%7C%7D%7F",
		"/%":                    "/%",
		"/%zz%4":                "/%zz%4",
		"/\xff":                 "/%FF",
		"/%25":                  "/%25",
		"/:@!'(),;+":            "/:@!'(),;+",
	} {
		if got := canonPath(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := canonPattern("/*a$%2a"); got != "/*a$%2A" {
		t.Error(got)
	}
}

// TestCollapse reduces consecutive stars to one.
func TestCollapse(t *testing.T) {
	for in, want := range map[string]string{"": "", "/a*b": "/a*b", "**": "*", "/**a***b**": "/*a*b*", "***/": "*/"} {
		if got := collapse(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// TestPathForms checks that Test accepts paths without the leading slash, and with a fragment.
func TestPathForms(t *testing.T) {
	g := Parse([]byte("User-agent: *\nDisallow: /$\nDisallow: /?a\nDisallow: /b")).For("x")
	for path, line := range map[string]int{"": 2, "/": 2, "#x": 2, "?a": 3, "b": 4, "/b#c": 4} {
		if v := g.Test(path); v.Line != line {
			t.Errorf("%q: %+v", path, v)
		}
	}
}

// TestZeroValues checks that zero values are usable and allow everything.
func TestZeroValues(t *testing.T) {
	var r Rules
	if v := r.For("x").Test("/"); !v.Allowed || v.Reason != NoGroup {
		t.Errorf("%+v", v)
	}
	var g Group
	if v := g.Test("/"); !v.Allowed || v.Reason != NoGroup {
		t.Errorf("%+v", v)
	}
	if g.Lines() == nil || len(g.Lines())+len(g.Rules())+len(g.Usage("/")) != 0 {
		t.Error("the zero Group has something")
	}
	if len(r.Lints()) != 0 || r.Sitemaps() != nil || r.Host() != "" {
		t.Error("the zero Rules has something")
	}
}

// TestNoAllocation checks that a verdict allocates nothing, and parsing hardly anything.
func TestNoAllocation(t *testing.T) {
	literal := Parse(benchRules(1000, 0, 200)).For("ExampleBot")
	wild := Parse(benchRules(1000, 10, 0)).For("ExampleBot")
	for _, path := range []string{benchHit, benchMiss, benchWild, "/%C3%A9?a=b%20c", "/robots.txt"} {
		for _, g := range []*Group{literal, wild} {
			if n := testing.AllocsPerRun(100, func() { g.Test(path) }); n != 0 {
				t.Errorf("%s: %v allocations", path, n)
			}
		}
	}
	body := benchFile(50<<10, 10)
	if n := testing.AllocsPerRun(10, func() { Parse(body).For("ExampleBot") }); n >= 60 {
		t.Errorf("parsing %d bytes: %v allocations", len(body), n)
	}
}

// TestHostileFilesEnd would run for years if the time grew faster than the number of rules times the length of the path.
func TestHostileFilesEnd(t *testing.T) {
	long := "/" + strings.Repeat("a", 8000)
	for name, body := range map[string]string{
		"stars":        "User-agent: *\nDisallow: " + strings.Repeat("/*a", 100_000) + "b$\n",
		"double stars": "User-agent: *\nDisallow: /" + strings.Repeat("*", 400_000) + "b$\n",
		"many stars":   "User-agent: *\n" + strings.Repeat("Disallow: /*a*a*a*a*a*a*a*b\n", 5_000),
		"ladder":       "User-agent: *\n" + ladder(900),
		"agents":       strings.Repeat("User-agent: a\n", 30_000) + "Disallow: /\n",
		"one line":     "Disallow: " + strings.Repeat("/ ", 250_000),
		"returns":      strings.Repeat("\r", 500_000),
		"many records": strings.Repeat("User-agent: *\nDisallow: /a\n\n", 15_000),
	} {
		r := Parse([]byte(body))
		for _, d := range Dialects() {
			g := r.In(d).For("x")
			g.Test(long)
			g.Test("/" + strings.Repeat("/*", 4000))
		}
		if n := len(r.Lints()); n > maxLints {
			t.Errorf("%s: %d lints", name, n)
		}
	}
}

// ladder returns n rules, each a prefix of the next.
func ladder(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Disallow: /%s\n", strings.Repeat("a", i))
	}
	return b.String()
}
