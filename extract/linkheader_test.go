package extract

import "testing"

// TestLinkHeader follows RFC 8288, section 3 and appendix B.
func TestLinkHeader(t *testing.T) {
	for _, tt := range []struct {
		name, value, want string
	}{
		{"one", `</x>; rel=next`, "link  </x> (next)"},
		{"two", `</x>;rel="next prev" , <y>; rel="canonical"; title="A, \"b\""`, "link  </x> (next prev)\nlink  <y> (canonical) \"A, \\\"b\\\"\""},
		{"upper case", `</x>; REL = NEXT;Type="text/css"`, "link  </x> (next) text/css"},
		{"first rel counts", `</x>; rel=next; rel=prev`, "link  </x> (next)"},
		{"comma and semicolon in the address", `<http://x/a,b;c>; rel=next`, "link  <http://x/a,b;c> (next)"},
		{"comma in quotes", `</x>; title="a,<b>; rel=prev"; rel=next`, "link  </x> (next) \"a,<b>; rel=prev\""},
		{"empty elements", `, ,</x>; rel=next,,`, "link  </x> (next)"},
		{"parameter without value", `</x>; crossorigin; rel=preload`, "link  </x> (preload)"},
		{"other context", `</x>; anchor="/y"; rel=next`, ""},
		{"no rel", `</x>`, ""},
		{"no address", `x; rel=next`, ""},
		{"unfinished", `</x`, ""},
		{"unfinished quotes", `</x>; rel="next`, "link  </x> (next)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(&Document{Links: LinkHeader([]string{tt.value})}); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.value, got, tt.want)
			}
		})
	}
}

func TestLinkHeaderFields(t *testing.T) {
	if got := LinkHeader([]string{"<a>; rel=next", "bad", "<b>; rel=prev"}); len(got) != 2 {
		t.Errorf("%v, want two links", got)
	}
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`</x>; rel="next prev" , <y>; rel="can\onical"; title=`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, l := range LinkHeader([]string{value}) {
			if l.Ref == "" || l.Rel == 0 || len(l.Text) > maxText {
				t.Errorf("%+v", l)
			}
		}
	})
}
