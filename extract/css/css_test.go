package css_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/extract/css"
)

func ExampleSelect() {
	root, err := extract.Tree([]byte(`<ul class=list><li>One<li>Two</ul><li>Three`))
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := css.Select(root, ".list > li")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, li := range items {
		fmt.Println(li.FirstChild.Data)
	}
	// Output:
	// One
	// Two
}

func TestSelectWrongSelector(t *testing.T) {
	_, err := css.Select(new(html.Node), "a[")
	if err == nil || !strings.HasPrefix(err.Error(), `css: selector "a[": `) {
		t.Errorf("Select: %v", err)
	}
	if _, err := css.First(new(html.Node), "a["); err == nil {
		t.Error("First: no error")
	}
}

func TestFirst(t *testing.T) {
	root, err := html.Parse(strings.NewReader("<p id=a><p id=b>"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := css.First(root, "p, div"); err != nil || n == nil || n.Attr[0].Val != "a" {
		t.Errorf("%v, %v; want the first p", n, err)
	}
	if n, err := css.First(root, "div"); err != nil || n != nil {
		t.Errorf("%v, %v; want none", n, err)
	}
}
