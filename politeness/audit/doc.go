// Package audit checks after the fact that a crawl was polite. It reads the ledger of every request,
// what the crawler was configured to, and the robots.txt bodies as they were received, and holds each
// request against the invariants P1 to P12.
//
// It shares no code with the Gate that admitted the requests, nor with the parser and matcher the
// Gate judges by: a mistake there is not repeated here. Its own reading of robots.txt is RFC 9309 in
// the plainest form, slow and short.
//
// What a ledger cannot show is not claimed: that every request on the wire has a line (P10) is held
// by the transport and seen only from the server's side.
package audit
