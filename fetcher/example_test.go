package fetcher_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Fetching a page of a new host takes two requests: robots.txt, and the page. Each Try makes one of them. Client.Get
// makes both, and waits as long as necessary.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=windows-1252")
		fmt.Fprint(w, "<title>Caf\xe9</title>")
	}))
	defer site.Close()

	f, err := fetcher.New(fetcher.Config{
		AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the server of this example
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	gate, err := politeness.NewGate(politeness.Config{
		Identity:    politeness.Identity{Product: "mycrawler", Version: "1.0"},
		Contactless: true, // loopback only; elsewhere a contact is required
		Delay:       politeness.NoDelay,
		DelayFactor: politeness.NoFactor,
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	url, err := weburl.Parse(site.URL + "/menu")
	if err != nil {
		log.Fatal(err)
	}
	client := fetcher.Client{Gate: gate, Fetcher: f}
	for done := false; !done; {
		answer, err := client.Try(ctx, politeness.Request{URL: url})
		if err != nil {
			log.Fatal(err) // a *politeness.NotYet contains the time of the next attempt
		}
		if answer.Err != nil {
			log.Fatal(answer.Err)
		}
		page, purpose := answer.Page, answer.Permit.Purpose()
		text, err := page.Text()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(purpose, page.Status, page.ContentType, page.Charset)
		if done = purpose == politeness.Page; done {
			fmt.Printf("%s\n", text)
		}
		page.Release()
	}
	// Output:
	// robots 404 text/plain utf-8
	// page 200 text/html windows-1252
	// <title>Café</title>
}
