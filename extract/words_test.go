package extract

import (
	"slices"
	"testing"
)

func TestParseRel(t *testing.T) {
	for value, want := range map[string]string{
		"":                                 "",
		" \t\n":                            "",
		"NOFOLLOW ugc\tsponsored":          "nofollow ugc sponsored",
		"canonical canonical":              "canonical",
		"previous":                         "prev",
		"prev next":                        "next prev",
		"shortcut icon":                    "icon other",
		"dns-prefetch":                     "preconnect",
		"alternate stylesheet":             "alternate stylesheet",
		"preload modulepreload prefetch":   "preload modulepreload prefetch",
		"manifest search self":             "manifest search self",
		"nofollownofollownofollownofollow": "other",
		"no\x00follow":                     "other",
	} {
		if got := parseRel(value).String(); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// TestSrcset follows the HTML Standard: parse a srcset attribute.
func TestSrcset(t *testing.T) {
	for value, want := range map[string][]string{
		"":                      nil,
		" , ,":                  nil,
		"a":                     {"a"},
		"a 1x, b 2x":            {"a", "b"},
		"a,b":                   {"a,b"},
		"a, b":                  {"a", "b"},
		"a,, b":                 {"a", "b"},
		" a\t100w ,\nb":         {"a", "b"},
		"a (1,2) ,b":            {"a", "b"},
		"a (1,b":                {"a"},
		"data:image/png,x 1x,b": {"data:image/png,x", "b"},
	} {
		var got []string
		for rest := value; rest != ""; {
			var ref string
			if ref, rest = cutSrcset(rest); ref != "" {
				got = append(got, ref)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// TestCharacterReferences follows the HTML Standard, section 13.2.5.72 and following.
func TestCharacterReferences(t *testing.T) {
	for _, tt := range []struct{ in, text, attr string }{
		{"&amp;&lt;&quot;", `&<"`, `&<"`},
		{"&ampx &amp= &amp", "&x &= &", "&ampx &amp= &"},
		{"&notit;&notin;", "¬it;∉", "&notit;∉"},
		{"&copy;=", "©=", "©="},
		{"&unknown;&;&", "&unknown;&;&", "&unknown;&;&"},
		{"&#65;&#x42;&#X43&#68 ", "ABCD ", "ABCD "},
		{"&#0;&#xD800;&#x110000;&#99999999999999999999;", "\ufffd\ufffd\ufffd\ufffd", "\ufffd\ufffd\ufffd\ufffd"},
		{"&#x80;&#150;&#x81;", "€–\u0081", "€–\u0081"},
		{"&#;&#x;&#xg;", "&#;&#x;&#xg;", "&#;&#x;&#xg;"},
		{"&nGt;&semi;", "≫⃒;", "≫⃒;"},
		{"a\r\nb\rc\x00", "a\nb\nc\ufffd", "a\nb\nc\ufffd"},
		{"&#13;&#10;", "\r\n", "\r\n"},
	} {
		if got := string(appendDecoded(nil, tt.in, false)); got != tt.text {
			t.Errorf("text %q: %q, want %q", tt.in, got, tt.text)
		}
		if got := string(appendDecoded(nil, tt.in, true)); got != tt.attr {
			t.Errorf("attribute %q: %q, want %q", tt.in, got, tt.attr)
		}
	}
}

func TestKinds(t *testing.T) {
	navigation := []Kind{Anchor, Area, Frame, Refresh, Form, Data, Entry}
	for k := range Kind(len(kindNames)) {
		if k.String() == "" || k.Navigation() != slices.Contains(navigation, k) {
			t.Errorf("kind %d: %q, navigation %t", k, k, k.Navigation())
		}
	}
	if got := Kind(200).String(); got != "kind?" {
		t.Error(got)
	}
}

func TestLinkResource(t *testing.T) {
	for _, tt := range []struct {
		l    Link
		want bool
	}{
		{Link{Kind: Anchor}, false},
		{Link{Kind: Image}, true},
		{Link{Kind: LinkRel, Rel: Alternate | Stylesheet}, true},
		{Link{Kind: LinkRel, Rel: Canonical}, false},
		{Link{Kind: LinkRel, Rel: Preconnect}, false},
	} {
		if got := tt.l.Resource(); got != tt.want {
			t.Errorf("%v %v: %t", tt.l.Kind, tt.l.Rel, got)
		}
	}
}

// "<!--" and "<script>" in a script can hide its end tag (section 13.2.5.20 and following).
func TestScriptEnd(t *testing.T) {
	for _, tt := range []struct{ script, rest string }{
		{`</script>`, `</script>`},
		{`x</SCRIPT >`, `</SCRIPT >`},
		{`</scriptx></script/`, `</script/`},
		{`<!--</script>`, `</script>`},
		{`<!--<script></script>--></script>`, `</script>`},
		{`<!--<script></script></script>`, `</script>`},
		{`<!--<script>--></script>`, `</script>`},
		{`<!--><script></script>`, `</script>`},
		{`<!--- <scripty></script>`, `</script>`},
		{`<!-- if (a < b) "<script></script>" --></script>`, `</script>`},
		{`<!--<script></script`, ``},
		{`x`, ``},
	} {
		s := NewScanner(Options{})
		s.page = tt.script
		if got := tt.script[s.scriptEnd(0):]; len(got) != len(tt.rest) {
			t.Errorf("%s\n got %s\nwant %s", tt.script, got, tt.rest)
		}
	}
}
