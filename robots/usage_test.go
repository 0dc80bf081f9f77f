package robots

import (
	"fmt"
	"strings"
	"testing"
)

const usageFile = `User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: / train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: / train-ai=y
`

// TestContentUsage covers the example and the rules of draft-ietf-aipref-attach section 3.
func TestContentUsage(t *testing.T) {
	for _, c := range []struct {
		file, agent, path, use string
		want                   Signal
	}{
		{usageFile, "other", "/test", "train-ai", Disallowed},
		{usageFile, "other", "/ai-ok/test", "train-ai", Allowed},
		{usageFile, "other", "/test", "search", Unsaid},
		{usageFile, "ExampleBot", "/test", "train-ai", Allowed},
		{"User-agent: *\nContent-Usage: train-ai=n\n", "x", "/a", "train-ai", Disallowed},
		// the longest path decides for every use
		{"User-agent: *\nContent-Usage: / train-ai=n, search=y\nContent-Usage: /a train-ai=y\n", "x", "/a", "search", Unsaid},
		{"User-agent: *\nContent-Usage: /a train-ai=y\nContent-Usage: / train-ai=n, search=y\n", "x", "/a", "train-ai", Allowed},
		// equal paths: disallow wins
		{"User-agent: *\nContent-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n\nContent-Usage: /%61 search=y\n", "x", "/a", "train-ai", Disallowed},
		{"User-agent: *\nContent-Usage: /a train-ai=n\nContent-Usage: /%61 search=y\n", "x", "/a", "search", Allowed},
		// paths are matched like the paths of rules
		{"User-agent: *\nContent-Usage: /*.jpg$ train-ai=n\n", "x", "/a.jpg", "train-ai", Disallowed},
		{"User-agent: *\nContent-Usage: /*.jpg$ train-ai=n\n", "x", "/a.jpg?b", "train-ai", Unsaid},
		// a dictionary of y and n: other values are ignored, a syntax error voids all, and the last of a repeated key counts
		{"User-agent: *\nContent-Usage: / train-ai=no, search=y\n", "x", "/a", "train-ai", Unsaid},
		{"User-agent: *\nContent-Usage: / train-ai=no, search=y\n", "x", "/a", "search", Allowed},
		{"User-agent: *\nContent-Usage: / Train-AI=n, search=n\n", "x", "/a", "search", Unsaid},
		{"User-agent: *\nContent-Usage: / train-ai=n,\n", "x", "/a", "train-ai", Unsaid},
		{"User-agent: *\nContent-Usage: / train-ai=y, train-ai, search=n, search=\"n\"\n", "x", "/a", "search", Unsaid},
		{"User-agent: *\nContent-Usage: / train-ai;allow=n, train-ai=y\n", "x", "/a", "train-ai", Allowed},
		{"User-agent: *\nContent-Usage: / train-ai=n;exceptions=(\"a\" \"b\") # hm\n", "x", "/a", "train-ai", Unsaid},
		// a line before any group applies to nobody
		{"Content-Usage: / train-ai=n\nUser-agent: *\n", "x", "/a", "train-ai", Unsaid},
		// a Content-Usage line does not end the list of user agents of its group
		{"User-agent: a\nContent-Usage: / train-ai=n\nUser-agent: b\nDisallow: /\n", "b", "/a", "train-ai", Disallowed},
	} {
		u := PageUsage(Parse([]byte(c.file)).For(c.agent), c.path, nil, nil, Directives{})
		if got := u.For(c.use); got != c.want {
			t.Errorf("%s %s of %s: %v, want %v\n%s", c.agent, c.use, c.path, got, c.want, c.file)
		}
	}
	u := PageUsage(Parse([]byte(usageFile)).For("x"), "/ai-ok/", nil, nil, Directives{})
	want := "[{train-ai allow robots.txt Content-Usage 5 /ai-ok/ train-ai=y }]"
	if got := fmt.Sprint(u.Statements); got != want {
		t.Errorf("%s", got)
	}
}

// TestContentSignal reads yes and no, in a group or before all groups, with the names of either vocabulary.
func TestContentSignal(t *testing.T) {
	for _, file := range []string{
		"User-agent: *\nContent-Signal: search=yes, ai-train=no, use=immediate\nAllow: /\n",
		"Content-Signal: search=yes,ai-train=no\nUser-agent: *\nAllow: /\n",
		"content-signal: SEARCH=YES , AI-TRAIN = NO\nUser-agent: other\nDisallow: /\n",
		"User-agent: *\nContent-Signal: / search=yes, junk, ai-train=no\n",
	} {
		u := PageUsage(Parse([]byte(file)).For("x"), "/a", nil, nil, Directives{})
		for use, want := range map[string]Signal{"search": Allowed, "ai-train": Disallowed, "train-ai": Disallowed, "ai-input": Unsaid, "ai-use": Unsaid} {
			if got := u.For(use); got != want {
				t.Errorf("%s: %v, want %v\n%s", use, got, want, file)
			}
		}
	}
	// a line in a group does not replace the line for the whole file, and a refusal wins
	u := PageUsage(Parse([]byte("Content-Signal: ai-input=no\nUser-agent: *\nContent-Signal: ai-input=yes, search=yes\n")).For("x"), "/a", nil, nil, Directives{})
	if u.For("ai-use") != Disallowed || u.For("search") != Allowed {
		t.Errorf("%+v", u)
	}
}

// Values other than yes and no are kept as written. A line that has only such values is not an error.
func TestContentSignalKeepsOtherValues(t *testing.T) {
	for _, line := range []string{"Content-Signal: use=reference", "Content-Signal: search=yes, Use = reference , junk, ???=1"} {
		file := Parse([]byte("User-agent: *\n" + line + "\n"))
		u := PageUsage(file.For("x"), "/a", nil, nil, Directives{})
		last := u.Statements[len(u.Statements)-1]
		if last.Use != "use" || last.Signal != Unsaid || last.Value != "reference" {
			t.Errorf("%s: %+v", line, u.Statements)
		}
		for _, m := range Parse([]byte("User-agent: *\n" + line + "\nAllow: /\n")).Lints() {
			if m.Code == lintBadUsage {
				t.Errorf("%s: %+v", line, m)
			}
		}
	}
	u := PageUsage(nil, "/", map[string][]string{"Content-Usage": {"train-ai=n, search=maybe"}}, nil, Directives{})
	if got := u.Statements[len(u.Statements)-1]; got.Value != "maybe" || got.Signal != Unsaid {
		t.Errorf("%+v", u.Statements)
	}
}

// TestUsageOfHeadersAndPage evaluates each source on its own; a refusal in any of them wins (draft-ietf-aipref-vocab
// section 5.1).
func TestUsageOfHeadersAndPage(t *testing.T) {
	type h = map[string][]string
	for _, c := range []struct {
		name   string
		header h
		metas  []Meta
		want   string
	}{
		{"nothing", nil, nil, "[]"},
		{"Content-Usage", h{"Content-Usage": {"train-ai=n", "search=y"}}, nil,
			"[{train-ai disallow header Content-Usage 0 train-ai=n, search=y } {search allow header Content-Usage 0 train-ai=n, search=y }]"},
		{"Content-Usage in error", h{"Content-Usage": {"train-ai=n", "Search=y"}}, nil, "[]"},
		{"Content-Signal", h{"Content-Signal": {"ai-train=yes, ai-input=no"}}, nil,
			"[{train-ai allow header Content-Signal 0 ai-train=yes, ai-input=no } {ai-use disallow header Content-Signal 0 ai-train=yes, ai-input=no }]"},
		{"TDMRep header", h{"Tdm-Reservation": {"1"}, "Tdm-Policy": {"https://h.example/p.json"}}, nil, "[{tdm disallow header tdm-reservation 0 1 }] https://h.example/p.json"},
		{"TDMRep META first", h{"Tdm-Reservation": {"1"}}, []Meta{{"TDM-Reservation", " 0 "}}, "[{tdm allow meta tdm-reservation 0  0  }]"},
		{"TDMRep in error", h{"Tdm-Reservation": {"1"}}, []Meta{{"tdm-reservation", "maybe"}}, "[{tdm disallow header tdm-reservation 0 1 }]"},
		{"TDMRep policy without reservation", h{"Tdm-Policy": {"https://h.example/p.json"}}, nil, "[]"},
		{"noai", nil, metas("noai, noimageai"), "[{train-ai disallow meta noai 0 noai } {train-ai-image disallow meta noimageai 0 noimageai }]"},
		{"noml", h{"X-Robots-Tag": {"noml"}}, nil, "[{train-ai disallow header noml 0 noml }]"},
	} {
		d := PageDirectives("x", c.header["X-Robots-Tag"], c.metas)
		u := PageUsage(nil, "/", c.header, c.metas, d)
		if got := strings.TrimSpace(fmt.Sprintln(u.Statements, u.TDMPolicy)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	u := PageUsage(nil, "/", h{"Content-Usage": {"train-ai=y"}, "Tdm-Reservation": {"1"}}, nil, Directives{})
	if u.For("train-ai") != Disallowed || u.For("tdm") != Disallowed || u.For("search") != Unsaid {
		t.Errorf("%+v", u)
	}
	if u := PageUsage(nil, "/", nil, nil, PageDirectives("x", nil, metas("noai"))); u.For("train-ai-image") != Disallowed || u.For("tdm") != Unsaid {
		t.Errorf("%+v", u)
	}
}

// TestUsageIsNoPermission checks that usage signals and rules do not affect each other.
func TestUsageIsNoPermission(t *testing.T) {
	with := Parse([]byte(usageFile)).For("x")
	without := Parse([]byte(strings.ReplaceAll(usageFile, "Content-Usage", "Nothing"))).For("x")
	for _, path := range []string{"/test", "/never/test", "/ai-ok/test"} {
		if with.Test(path) != without.Test(path) {
			t.Errorf("%s: %+v", path, with.Test(path))
		}
	}
	// a Content-Usage line does not end a list of user agents either
	g := Parse([]byte("User-agent: a\nContent-Usage: / train-ai=n\nUser-agent: b\nDisallow: /\n")).For("a")
	if g.Test("/").Allowed {
		t.Error("the group ended")
	}
}

// TestStructuredFields distinguishes valid from invalid dictionaries (RFC 9651 section 4.2.2).
func TestStructuredFields(t *testing.T) {
	for _, good := range []string{
		"a", "a=b", " a=b ", "a=b,c=d", "a=b \t,\t c", "a;b", "a;b=1;c=?0", "a=1, b=-2.5, c=\"x\\\"y\\\\z\"", "a=:YWJj:",
		"a=?1", "a=@1659578233", "a=%\"caf%c3%a9\"", "a=(1 2 \"x\";q=1);p", "a=()", "*a.b-c_d=*t/x:y", "a=b;  c=d", "a=999999999999999", "a=999999999999.999",
	} {
		if _, ok := parseDictionary(good); !ok {
			t.Errorf("%q: not read", good)
		}
	}
	for _, bad := range []string{
		"A", "a,", ",a", "a=", "a b", "1=a", "a=\"x", "a=\"\\x\"", "a=\"\u00e9\"", "a=?2", "a=:a", "a=:*:", "a=@x", "a=@1.5", "a=%x", "a=%\"%C3\"", "a=%\"%c",
		"a=(1", "a=(1,2)", "a=(\"x\"1)", "a;", "a;B", "a=1.", "a=-", "a=1.2345", "a=1234567890123456", "a=1234567890123.1", "a=b;;c", "é=1", "a=b\x00",
		strings.Repeat("a", 3) + "=" + "\x7f",
	} {
		if m, ok := parseDictionary(bad); ok {
			t.Errorf("%q: %v", bad, m)
		}
	}
	var many strings.Builder
	for i := range maxMembers + 1 {
		fmt.Fprintf(&many, "k%d=y,", i)
	}
	if _, ok := parseDictionary(strings.TrimSuffix(many.String(), ",")); ok {
		t.Error("more members than the limit")
	}
}
