package css_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/extract/css"
)

func tree(t testing.TB, page string) *html.Node {
	t.Helper()
	n, err := extract.Tree([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCompileWrongSelector(t *testing.T) {
	_, err := css.Compile("a[")
	if err == nil || !strings.HasPrefix(err.Error(), `css: selector "a[": `) {
		t.Errorf("Compile: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustCompile did not panic")
		}
	}()
	css.MustCompile("a[")
}

func TestFirstAndAll(t *testing.T) {
	page := tree(t, "<p id=a><p id=b>")
	p := css.MustCompile("p, div, #b")
	if n := css.First(page, p); n == nil || n.Attr[0].Val != "a" {
		t.Errorf("First: %v", n)
	}
	if all := css.All(page, p); len(all) != 2 || all[1].Attr[0].Val != "b" {
		t.Errorf("All: %v", all)
	}
	none := css.MustCompile("table")
	if n := css.First(page, none); n != nil {
		t.Errorf("First of none: %v", n)
	}
	if all := css.All(page, none); all != nil {
		t.Errorf("All of none: %v", all)
	}
	if css.First(page, nil) != page || len(css.All(page, nil)) != 1 || css.First(nil, p) != nil || css.All(nil, p) != nil {
		t.Error("nil node or Selector")
	}
	if p.String() != "p, div, #b" || (*css.Selector)(nil).String() != "" {
		t.Errorf("String: %q", p)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{"<p> one\n two </p>", "one two"},
		{"<p>one</p><p>two</p>", "one two"},
		{"<p>o<b>n</b>e</p>", "one"},
		{"<p>one <b> two</b></p>", "one two"},
		{"<p>one<br>two", "one two"},
		{"<ul><li>one<li>two</ul>", "one two"},
		{"<table><tr><td>1<td>2<tr><td>3</table>", "1 2 3"},
		{"<p>one<script>two</script> <style>three</style><template>four</template>", "one"},
		{"<p>12&nbsp;€</p>", "12\u00a0€"},
		{"<x-price>1</x-price><x-unit>m</x-unit>", "1m"},
		{"<noscript><p>one</noscript>", "one"},
		{"", ""},
	} {
		if got := css.Text(tree(t, c.page), css.MustCompile("body")); got != c.want {
			t.Errorf("%s: %q, want %q", c.page, got, c.want)
		}
	}
	page := tree(t, "<p>1<p>2")
	if got := css.Text(page, css.MustCompile("p")); got != "1" {
		t.Errorf("of the first: %q", got)
	}
	if got := css.Text(page, css.MustCompile("a")); got != "" {
		t.Errorf("of none: %q", got)
	}
	if got := css.Text(nil, nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// TestTextStaysInElement checks that the text comes only from the element and its descendants.
func TestTextStaysInElement(t *testing.T) {
	page := tree(t, "<div><p id=x>in</p>behind</div><p>after")
	if got := css.Text(page, css.MustCompile("#x")); got != "in" {
		t.Errorf("%q", got)
	}
	if got := css.Text(css.First(page, css.MustCompile("#x")).FirstChild, nil); got != "in" {
		t.Errorf("of a text node: %q", got)
	}
}

func TestAttr(t *testing.T) {
	page := tree(t, `<a href=" /x ">1</a><a title=t>2</a><svg xlink:href=y />`)
	for _, c := range []struct{ selector, name, want string }{
		{"a", "href", "/x"}, {"a", "title", ""}, {"a[title]", "title", "t"}, {"b", "href", ""}, {"svg", "href", ""},
	} {
		if got := css.Attr(page, css.MustCompile(c.selector), c.name); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.selector, c.name, got, c.want)
		}
	}
}
