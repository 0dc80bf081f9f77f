// Package robots reads robots.txt files and judges URLs by them (RFC 9309 and its relatives), and reads the robots directives
// and usage signals of pages. It is pure: no I/O, no clock, no state.
//
// [Parse] reads a file once, [Rules.For] resolves one robot's group once, and [Group.Test] judges
// any number of paths by it:
//
//	group := robots.Parse(body).For("ExampleBot")
//	verdict := group.Test("/search?q=1")
//
// A [Verdict] names the line that decided and the line that would have decided otherwise, and [Explain] makes one sentence of
// it. No input is an error: a line that cannot be read is left out, and [Rules.Lints] lists it.
//
// [ForStatus] says what the status of an answer to /robots.txt means, and [Freshness] how long the answer may be kept.
//
// Read robots.go first, then line.go and record.go (how a file is read), group.go, rule.go and index.go (how a path is judged)
// and verdict.go; directives.go and usage.go are about pages.
//
// # Dialects
//
// A file can be read in five ways, see [Dialect]. [RFC9309] is the default. All share one line parser, so that line numbers,
// lints and explanations are the same.
//
// The default reading goes beyond the RFC in three places, each of which can only refuse more: a
// Disallow line with several paths separated by spaces forbids each of them, a Disallow path without
// its leading slash is read with it, and a Disallow path that is an absolute URL of the same host is
// read as that URL's path. Robot names may have digits, which the RFC's grammar leaves out.
package robots
