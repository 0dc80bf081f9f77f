package schema_test

import (
	"fmt"
	"log"
	"strings"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/schema"
)

// A shop describes its product in JSON-LD.
func Example() {
	tree, err := html.Parse(strings.NewReader(`<title>Kettle</title>
<meta property="og:site_name" content="Kettles and more">
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "Product", "name": "Kettle", "brand": {"@id": "#boil"}, "offers": {"@type": "Offer", "price": "12.50", "priceCurrency": "EUR"}},
  {"@type": "Brand", "@id": "#boil", "name": "Boil"}]}</script>`))
	if err != nil {
		log.Fatal(err)
	}
	page := schema.Read(tree, "https://shop.site.example/kettle")

	type product struct {
		Name   string
		Brand  string
		Offers []struct {
			Price    float64
			Currency string `json:"priceCurrency"`
		}
	}
	products, err := schema.All[product](page, "Product")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range products {
		fmt.Println(p.Name, p.Brand, p.Offers[0].Price, p.Offers[0].Currency)
	}
	fmt.Println(page.Property("og:site_name"))
	// Output:
	// Kettle Boil 12.5 EUR
	// Kettles and more
}
