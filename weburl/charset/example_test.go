package charset_test

import (
	"fmt"

	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/charset"
)

// A browser encodes the query of a link in its page's encoding, and the path in UTF-8.
func ExampleEncoder() {
	page, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	link, err := page.ResolveIn(charset.Encoder("windows-1252"), "/ü?q=ü")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(link)
	// Output:
	// https://site.example/%C3%BC?q=%FC
}
