package css_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/extract/css"
)

type offer struct {
	Price float64 `css:".price"`
	Seller,
	Note string `css:"b"`
}

type product struct {
	Name   string    `css:"h1"`
	Image  string    `css:"img" attr:"src"`
	Seen   time.Time `css:"time" attr:"datetime"`
	Stock  uint8     `css:".stock"`
	New    bool      `css:".new"`
	Tags   []string  `css:".tag"`
	Links  []string  `css:"a" attr:"href"`
	Rating *int      `css:".rating"`
	Offers []offer   `css:".offer"`
	Best   *offer    `css:".best"`
	Kept   int
}

const productPage = `<h1> A  lamp </h1><img src="/lamp.png"><time datetime="2026-03-01T12:00:00Z">March</time>
<p class=stock>7<p class=new>true<p><span class=tag>red</span> <span class=tag>oak</span>
<a href="/1">one</a><a>none</a><a href="/2">two</a>
<div class="offer best"><span class=price>9.50</span><b>A</b></div><div class=offer><span class=price>8</span><b>B</b></div>`

func TestUnmarshal(t *testing.T) {
	got := product{Kept: 5, Tags: []string{"of the page before"}, Rating: new(int)}
	err := css.Unmarshal(tree(t, productPage), &got)
	want := product{
		Name: "A lamp", Image: "/lamp.png", Seen: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Stock: 7, New: true,
		Tags: []string{"red", "oak"}, Links: []string{"/1", "/2"},
		Offers: []offer{{9.5, "A", "A"}, {8, "B", "B"}}, Best: &offer{9.5, "A", "A"}, Kept: 5,
	}
	if err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n%+v\nwant\n%+v", got, want)
	}
}

// TestUnmarshalErrors checks that each error names its field and selector, and that the other fields are set.
func TestUnmarshalErrors(t *testing.T) {
	type page struct {
		Name   string  `css:"h1"`
		Price  float64 `css:".price"`
		Stock  uint8   `css:".stock"`
		Link   string  `css:"a" attr:"href"`
		Rating *int    `css:".rating"`
		Offers []offer `css:".offer"`
	}
	var got page
	err := css.Unmarshal(tree(t, `<h1>x</h1><p class=price>9,50<p class=stock>300<p><a>y</a><p class=rating>good
<div class=offer><p class=price>dear</div>`), &got)
	want := `css: field page.Price, selector ".price": "9,50": invalid syntax
css: field page.Stock, selector ".stock": "300": value out of range
css: field page.Link, selector "a": no match
css: field page.Rating, selector ".rating": "good": invalid syntax
css: field page.Offers[0].Price, selector ".price": "dear": invalid syntax
css: field page.Offers[0].Seller, selector "b": no match
css: field page.Offers[0].Note, selector "b": no match`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	if want := (page{Name: "x", Offers: []offer{{}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	var field *css.FieldError
	if !errors.Is(err, css.ErrNoMatch) || !errors.As(err, &field) || field.Field != "page.Price" {
		t.Errorf("the first: %+v", field)
	}
	if !errors.Is(err, strconv.ErrRange) {
		t.Error("the cause is not wrapped")
	}
	long := tree(t, "<p class=price>"+strings.Repeat("x", 1000))
	if err := css.Unmarshal(long, &offer{}); len(err.Error()) > 400 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// TestUnmarshalSelf checks that a struct can be filled from attributes of its own element.
func TestUnmarshalSelf(t *testing.T) {
	var got struct {
		Items []struct {
			ID   string `css:"" attr:"data-id"`
			Text string `css:""`
		} `css:"li"`
	}
	if err := css.Unmarshal(tree(t, "<li data-id=1>one<li data-id=2>two"), &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Items) != "[{1 one} {2 two}]" {
		t.Error(got.Items)
	}
}

// TestUnmarshalNested checks that nested elements cannot multiply a page's text without limit.
func TestUnmarshalNested(t *testing.T) {
	page := tree(t, strings.Repeat("<div>", 400)+strings.Repeat("x", 1<<20))
	var got struct {
		Divs []string `css:"div"`
		Next string   `css:"body"`
	}
	err := css.Unmarshal(page, &got)
	if !errors.Is(err, css.ErrTooMuch) {
		t.Errorf("error: %v", err)
	}
	if n := len(got.Divs); n > css.MaxText>>20 {
		t.Errorf("%d texts", n)
	}
}

type recursive struct {
	Replies []recursive `css:".reply"`
}

func TestUnmarshalPanics(t *testing.T) {
	page := tree(t, "")
	for name, c := range map[string]struct {
		dst  any
		want string
	}{
		"not a pointer": {product{}, "not a pointer to a struct"},
		"nil":           {(*product)(nil), "not a pointer to a struct"},
		"a number":      {new(int), "not a pointer to a struct"},
		"selector": {&struct {
			A string `css:"a["`
		}{}, `field struct { A string "css:\"a[\"" }.A: css: selector "a["`},
		"unexported": {&struct {
			a string `css:"a"`
		}{}, "is not exported"},
		"channel": {&struct {
			A chan int `css:"a"`
		}{}, "a chan int cannot be read"},
		"map in a slice": {&struct {
			A []map[string]int `css:"a"`
		}{}, "cannot be read"},
		"recursive": {&recursive{}, "css_test.recursive contains itself"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s, want %s", got, c.want)
				}
			}()
			_ = css.Unmarshal(page, c.dst)
		})
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(productPage)
	f.Add("<p class=offer><p class=offer><p class=best><time datetime=x>")
	f.Fuzz(func(t *testing.T, page string) {
		var p product
		if err := css.Unmarshal(tree(t, page), &p); err == nil && p.Name == "" && !strings.Contains(page, "h1") {
			t.Error("no name, and no error")
		}
	})
}
