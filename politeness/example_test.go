package politeness_test

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Every request needs a Permit, and the first request to a host is for its robots.txt.
func Example() {
	gate, err := politeness.NewGate(politeness.Config{
		Identity: politeness.Identity{Product: "examplebot", Version: "1.0", Contact: "https://lab.university.edu/crawl"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, _ := weburl.Parse("https://site.test/private/page")
	next := gate.Next(page)
	permit, err := gate.Admit(politeness.Request{URL: page, Next: next, Addr: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("allowed:", permit.URL(), "for", permit.Purpose())

	grant, _ := permit.Redeem() // what a fetcher does first
	if grant.Begin() == nil {   // and before the first byte leaves
		fmt.Println(grant.UserAgent()) // the request is sent, and a response arrives
	}
	gate.Report(permit, politeness.Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /private/\n")})

	_, err = gate.Admit(politeness.Request{URL: page, Next: gate.Next(page), Addr: netip.MustParseAddr("192.0.2.1")})
	var denied *politeness.Denied
	if errors.As(err, &denied) {
		fmt.Printf("%s: line %d, %q\n", denied.Reason, denied.Verdict.Line, denied.Verdict.Rule)
	}
	// Output:
	// allowed: https://site.test/robots.txt for robots
	// examplebot/1.0 (+https://lab.university.edu/crawl)
	// robots_disallow: line 2, "Disallow: /private/"
}

// The pause that a host has requested also applies to the next process.
func ExampleGate_Snapshot() {
	config := politeness.Config{
		Identity: politeness.Identity{Product: "examplebot", Contact: "https://lab.university.edu/crawl"},
	}
	first, _ := politeness.NewGate(config)
	page, _ := weburl.Parse("https://site.test/")
	ask := politeness.Request{URL: page, Next: first.Next(page), Addr: netip.MustParseAddr("192.0.2.1")}
	permit, _ := first.Admit(ask)
	grant, _ := permit.Redeem()
	if err := grant.Begin(); err != nil {
		fmt.Println(err)
	}
	first.Report(permit, politeness.Reply{Status: 429, Header: map[string][]string{"Retry-After": {"120"}}})

	config.Snapshot = first.Snapshot() // a program stores this in a file for the next process
	second, err := politeness.NewGate(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = second.Admit(ask)
	var wait *politeness.NotYet
	fmt.Println(errors.As(err, &wait), wait.Clauses[0].Name)
	// Output: true robots_retry
}
