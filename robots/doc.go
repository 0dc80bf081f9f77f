// Package robots reads robots.txt files and judges URLs by them (RFC 9309 and its relatives),
// and reads the robots directives and usage signals of pages. It is pure: no I/O, no clock, no state.
//
// [Parse] reads a file once, [Rules.For] resolves one robot's group once, and [Group.Test] judges
// any number of paths by it:
//
//	group := robots.Parse(body).For("ExampleBot")
//	verdict := group.Test("/search?q=1")
//
// A [Verdict] names the line that decided and the line that would have decided otherwise, and
// [Explain] makes one sentence of it. Nothing in this package fails on any input: a line that cannot
// be read costs that line, and [Rules.Lints] lists it.
//
// What an answer to /robots.txt means before there is a body to read is [ForStatus]; how long it may
// be kept is [Freshness].
//
// # Dialects
//
// Five readings of one file are offered, see [Dialect]. [RFC9309] is the default. All share one line
// parser, so line numbers, lints and explanations are the same.
//
// The default reading goes beyond the RFC in three places, each of which can only refuse more: a
// Disallow line with several paths separated by blanks forbids each of them, a Disallow path without
// its leading slash is read with it, and a Disallow path that is an absolute URL of the same host is
// read as that URL's path. Robot names may hold digits, which the RFC's grammar leaves out.
package robots
