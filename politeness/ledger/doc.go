// Package ledger is the record of every request that a crawl makes: JSON lines in a file that only grows.
//
// A [Writer] writes entries, each whole or not at all. A [File] is the place to write them to: it holds whole lines only,
// whatever a killed process left. A [Reader] reads them one by one in bounded memory, as does [Entry.Parse] a single line.
// Package politeness writes the ledger and restores its clocks from it; package politeness/audit checks one, and shares no
// code with this package, so that a mistake here is not repeated there.
//
// Read entry.go first, for what a line says, then clause.go and chain.go; encode.go and parse.go are the two directions of the format.
package ledger
