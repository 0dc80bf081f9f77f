// Package ledger is the record of every request that a crawl makes: JSON lines in a file that only grows.
//
// A [Writer] writes entries, each completely or not at all, usually to a [File], which removes an incomplete last line that
// a killed process left. A [Reader] reads entries one after another in bounded memory; [Entry.Parse] reads a single line.
// Package politeness writes the ledger and restores its clocks from it. Package politeness/audit checks a ledger and shares
// no code with this package, so that a mistake here is not repeated there.
//
//	r := ledger.NewReader(file, 0)
//	for e, err := r.Next(); err == nil; e, err = r.Next() { // until io.EOF
//		fmt.Println(e.Event, e.URL, e.Status)
//	}
package ledger
