// Package audit checks afterwards that a crawl was polite. From the ledger of all requests, the crawler's configuration and
// the robots.txt bodies as they were received, it checks every request against the invariants P1 to P12.
//
// It shares no code with the Gate that admitted the requests, nor with the parser and matcher that the Gate uses, so that a
// mistake there is not repeated here. It reads robots.txt by RFC 9309 in the plainest form, slow and short.
//
// It does not claim what a ledger cannot show: that every request on the wire has a line (P10) is ensured by the transport,
// and visible only from the server's side.
//
//	report, err := audit.Check(lines, audit.Config{Product: "examplebot", Contact: contact, Delay: 1}, body) // body finds a robots.txt by its hash
//	for _, v := range report.Violations {
//		fmt.Println(v)
//	}
package audit
