// Package diff compares two crawls by their visits: which pages are new, gone, changed or moved. What one of the crawls did
// not look at is told apart from that, with the reason. It takes some 40 bytes of memory for each visit.
//
// Reading order: diff.go (the comparison), table.go (visits in memory), reach.go (what a crawl could have looked at).
package diff
