package consent_test

import (
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// A site allows search, and forbids training in its robots.txt and by a licence.
func Example() {
	u, err := weburl.Parse("https://www.example.com/news/1")
	if err != nil {
		fmt.Println(err)
		return
	}
	file := robots.Parse([]byte("User-agent: *\nContent-Signal: search=yes, ai-train=no\nLicense: https://www.example.com/license.xml\n"))
	page := consent.Page{URL: u, Agent: "ExampleBot", Robots: file.For("ExampleBot"), Header: http.Header{"Tdm-Reservation": {"1"}}}
	for _, named := range page.Named() { // the caller has requested each licence
		page.Licenses = append(page.Licenses, consent.ParseLicense(named, []byte(`<rsl xmlns="https://rslstandard.org/rsl">
			<content url="/news/"><license><permits type="usage">all</permits><payment type="attribution"/></license></content></rsl>`)))
	}
	record := consent.Read(page)
	for _, purpose := range consent.Purposes() {
		verdict := record.For(purpose)
		fmt.Println(purpose, verdict.Effect, verdict.Refused())
	}
	fmt.Println(record.For(consent.TrainAI))
	// Output:
	// archive conditional false
	// research conditional false
	// search conditional false
	// ai-input forbids true
	// train-ai forbids true
	// train-ai is forbidden by Content-Signal: search=yes, ai-train=no (robots.txt, line 2)
}
