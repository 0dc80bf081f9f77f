// Package diff compares two crawls by their visits: it finds pages that are new, gone, changed or moved. Pages that one of the crawls
// did not request are listed separately, with the reason. It takes some 40 bytes of memory for each visit.
//
// Reading order: diff.go (the comparison), table.go (visits in memory), reach.go (URLs that a crawl could have requested).
package diff
