package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// everything is a scope that includes every URL.
type everything struct{ crawler.EveryType }

func (everything) JudgeKind(weburl.URL, frontier.Kind) crawler.Decision {
	return crawler.Decision{In: true, Rule: "all"}
}

// nothing is a scope that includes no URL, not even that of the explained page.
type nothing struct{ crawler.EveryType }

func (nothing) JudgeKind(weburl.URL, frontier.Kind) crawler.Decision {
	return crawler.Decision{Rule: "none"}
}

func judged(t *testing.T, p *Page) string {
	t.Helper()
	var got strings.Builder
	err := p.Judge(func(v *crawler.Visit) {
		fmt.Fprintf(&got, "%s\n", v.Page.ContentType)
		for _, l := range v.Links() {
			fmt.Fprintf(&got, "%s %s\n", l.Fate, l.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.String()
}

// TestPage checks that links of a page are resolved against its own address, even if a crawl would leave that page out, and that a link
// from the page to itself is judged like any other link.
func TestPage(t *testing.T) {
	base, err := weburl.Parse("https://site.example:8443/a/page?x=1")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("<p><a href='other'>1</a><a href='?x=1'>2</a><br/><a href='//else.example/'>3</a>")
	for _, c := range []struct {
		name string
		page Page
		want string
	}{
		{"in scope", Page{Base: base, Body: body, Scope: everything{}}, `text/html
follow https://site.example:8443/a/other
follow https://site.example:8443/a/page?x=1
follow https://else.example/
`},
		{"out of scope", Page{Base: base, Body: body, Scope: nothing{}}, `text/html
out_of_scope https://site.example:8443/a/other
out_of_scope https://site.example:8443/a/page?x=1
out_of_scope https://else.example/
`},
		{"XHTML", Page{Base: base, Body: []byte("<html xmlns='http://www.w3.org/1999/xhtml'><base href='/b/'/><a href='c'/></html>"), XHTML: true, Scope: everything{}}, `application/xhtml+xml
follow https://site.example:8443/b/c
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judged(t, &c.page); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
