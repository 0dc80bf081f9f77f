package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func read(t testing.TB, page string) *Page {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return Read(tree, "https://site.example/dir/page")
}

// offer and product are types into which the tests decode items.
type offer struct {
	Price    float64
	Currency string `json:"priceCurrency"`
}

type product struct {
	ID     string   `json:"@id"`
	Types  []string `json:"@type"`
	Name   string
	Brand  string
	Image  []string
	Offers []offer
	Stock  int
	New    bool `json:"isNew"`
	Maker  *struct{ Name string }
}

func TestSyntaxesGiveSameItem(t *testing.T) {
	want := product{ID: "https://site.example/dir/k", Types: []string{"Product"}, Name: "Kettle", Brand: "Boil", Image: []string{"https://site.example/a.jpg", "https://site.example/b.jpg"},
		Offers: []offer{{12.5, "EUR"}}, Stock: 7, New: true}
	for name, page := range map[string]string{
		"json-ld": `<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","@id":"https://site.example/dir/k","name":"Kettle","brand":{"@type":"Brand","name":"Boil"},
			"image":["https://site.example/a.jpg","https://site.example/b.jpg"],"offers":{"@type":"Offer","price":"12.50","priceCurrency":"EUR"},"stock":7,"isNew":true}</script>`,
		"json-ld graph": `<script type="application/ld+json; charset=utf-8">{"@context":"https://schema.org","@graph":[{"@type":"Brand","@id":"#b","name":"Boil"},
			[{"@type":["http://schema.org/Product"],"@id":"https://site.example/dir/k","schema:name":{"@value":"Kettle"},"brand":{"@id":"#b"},
			"image":{"@list":["https://site.example/a.jpg",["https://site.example/b.jpg"]]},"offers":[{"price":12.5,"priceCurrency":"EUR"}],"stock":"7","isNew":"true"}]]}</script>`,
		"json-ld with mistakes": "<script type=application/ld+json>//<![CDATA[\n{\"@type\":\"Product\",\"@id\":\"https://site.example/dir/k\",\"name\":\"Kettle\",\"brand\":\"Boil\",\"text\":\"a\nb\",\"image\":[\"https://site.example/a.jpg\",\"https://site.example/b.jpg\"]," +
			"\"offers\":{\"price\":12.5,\"priceCurrency\":\"EUR\"},\"stock\":7,\"isNew\":true};\n//]]></script>",
		"microdata": `<div itemscope itemtype="https://schema.org/Product" itemid="k" itemref="more"><h1 itemprop="name"> Ket<b>tle</b></h1><img itemprop=image src="/a.jpg"><link itemprop=image href="../b.jpg">
			<p itemprop=offers itemscope itemtype="https://schema.org/Offer"><data itemprop=price value=12.50>12,50</data><meta itemprop=priceCurrency content=EUR></p><meta itemprop=isNew content=true></div>
			<div id=more><i itemprop=brand itemscope><span itemprop=name>Boil</span></i><b itemprop=stock>7</b></div>`,
		"rdfa": `<div vocab="https://schema.org/" typeof="Product" resource="k"><h1 property="name">Kettle</h1><img property=image src="/a.jpg"><img property=image src="/b.jpg">
			<p property=offers typeof=Offer><span property=price content=12.50>12,50</span><meta property="priceCurrency" content=EUR></p><span property=brand>Boil</span><span property="stock">7</span><span property=isNew>true</span></div>`,
	} {
		got, err := All[product](read(t, page), "https://schema.org/product")
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, want)
		}
	}
}

func TestMetaProperties(t *testing.T) {
	p := read(t, `<meta property="og:title" content="A"><meta name="og:image" content=1><meta property=og:image content=2><meta name=DC.Creator content=" me "><meta name=dcterms.issued content=2026-11-24><meta name=viewport content=x><meta property=article:tag content="">`)
	want := map[string][]string{"og:title": {"A"}, "og:image": {"1", "2"}, "dc.creator": {"me"}, "dcterms.issued": {"2026-11-24"}}
	if !reflect.DeepEqual(p.Properties, want) {
		t.Errorf("%v, want %v", p.Properties, want)
	}
	if got := p.Property("og:none", "og:image"); got != "1" {
		t.Errorf("property %q", got)
	}
}

func TestFieldTypesThatDoNotFit(t *testing.T) {
	p := read(t, `<script type="application/ld+json">{"@type":"Product","name":["",{"@id":"x"}],"stock":["many","3.5",4],"maker":"nobody","offers":["no",{"price":"free"}]}</script>`)
	got, err := All[product](p, "Product")
	if err != nil || len(got) != 1 || got[0].Name != "x" || got[0].Stock != 4 || got[0].Maker != nil || !reflect.DeepEqual(got[0].Offers, []offer{{}}) {
		t.Errorf("%+v (%v)", got, err)
	}
	if _, err := All[string](p, "Product"); err == nil {
		t.Error("a string was decoded")
	}
	if _, err := All[struct{ A []struct{ B chan int } }](p, "Product"); err == nil || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("error %v", err)
	}
}

// TestReferenceCycles checks items that refer to each other in a cycle, and a chain of items with 2^60 paths.
func TestReferenceCycles(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<script type="application/ld+json">{"@graph":[{"@id":"a","@type":"T","x":{"@id":"b"}},{"@id":"b","@type":"T","x":{"@id":"a"}}`)
	for i := range 60 { // each item refers twice to the next one
		fmt.Fprintf(&b, `,{"@id":"n%d","@type":"N","x":[{"@id":"n%d"},{"@id":"n%d"}]}`, i, i+1, i+1)
	}
	b.WriteString("]}</script>")
	p := read(t, b.String())
	type n struct{ X []*n }
	if all, err := All[n](p, "N"); err != nil || len(all) != 60 {
		t.Errorf("%d items (%v)", len(all), err)
	}
	if all := p.Find("T"); len(all) != 2 {
		t.Errorf("%d items in a cycle", len(all))
	}
	if out, err := json.Marshal(p.Items[2]); err != nil || len(out) > 20<<20 {
		t.Errorf("%d bytes (%v)", len(out), err)
	}
}

// TestHostilePages checks that reading takes linear time for any page. With quadratic time, the test would hardly end.
func TestHostilePages(t *testing.T) {
	for name, page := range map[string]string{
		"nested properties": strings.Repeat("<div itemscope><div itemprop=a>", 240) + strings.Repeat("x<br>", 200_000),
		"nested items":      strings.Repeat("<div itemscope itemprop=a>", 500),
		"many items":        strings.Repeat("<p itemscope itemtype=T><b itemprop=a>x</b></p>", 100_000),
		"many references":   `<div itemscope itemref="` + strings.Repeat("a b c ", 100_000) + `">` + strings.Repeat("<p id=a itemprop=x>y</p>", 50_000),
		"deep JSON":         `<script type="application/ld+json">` + strings.Repeat(`{"a":[`, 9_000) + strings.Repeat(`]}`, 9_000) + `</script>`,
		"wide JSON":         `<script type="application/ld+json">[` + strings.Repeat(`{"@type":"T","a":[1,2,{"b":{}}]},`, 50_000) + `{}]</script>`,
		"names":             `<div itemscope><b itemprop="` + strings.Repeat("a b ", 200_000) + `">x</b></div>`,
	} {
		p := read(t, page)
		if p.items > 2*maxItems+200_000 || len(p.Find("T")) > maxItems {
			t.Errorf("%s: %d items", name, p.items)
		}
		if _, err := All[product](p, "T"); err != nil {
			t.Error(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`<script type="application/ld+json">{"@graph":[{"@id":"a","@type":["T"],"b":{"@id":"a"}}]}</script><div itemscope itemref=x itemprop=y id=x><a typeof=T property=z>`)
	f.Fuzz(func(t *testing.T, page string) {
		tree, err := html.Parse(strings.NewReader(page))
		if err != nil {
			return
		}
		p := Read(tree, "https://site.example/")
		if _, err := All[product](p, "T"); err != nil {
			t.Fatal(err)
		}
		for _, it := range p.Items {
			if out, err := json.Marshal(it); err != nil || !json.Valid(out) {
				t.Fatalf("%s (%v)", out, err)
			}
		}
	})
}
