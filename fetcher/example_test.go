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

// A page takes two requests on a host not seen before: its robots.txt, and the page. The Gate says
// which is next; the Fetcher makes the one it has a Permit for.
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
		AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the example's server
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	gate, err := politeness.NewGate(politeness.Config{
		Identity:    politeness.Identity{Product: "mycrawler", Version: "1.0"},
		Contactless: true, // loopback only; elsewhere a contact is required
		Delay:       politeness.None,
		DelayFactor: politeness.None,
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	url, err := weburl.Parse(site.URL + "/menu")
	if err != nil {
		log.Fatal(err)
	}
	for done := false; !done; {
		next := gate.Next(url)
		addr, err := f.Resolve(ctx, next)
		if err != nil {
			log.Fatal(err)
		}
		permit, err := gate.Admit(politeness.Request{URL: url, Next: next, Addr: addr})
		if err != nil {
			log.Fatal(err)
		}
		page, err := f.Fetch(ctx, permit)
		if err != nil {
			gate.Report(permit, fetcher.ReplyForError(err))
			log.Fatal(err)
		}
		gate.Report(permit, page.Reply())
		text, err := page.Text()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(permit.Purpose(), page.Status, page.ContentType, page.Charset)
		if done = permit.Purpose() == politeness.Page; done {
			fmt.Printf("%s\n", text)
		}
		page.Release()
	}
	// Output:
	// robots 404 text/plain utf-8
	// page 200 text/html windows-1252
	// <title>Café</title>
}
