// Package digest sums up a crawl from its ledger and its visits, line by line and in bounded memory: what was requested of
// each host, which pauses were owed and kept, what came of each URL, and where the time went. The report of a finished job
// and the live view of a running one are made from it.
//
// Up to [Config.MostHosts] hosts are kept in full; all others are summed in one [Host]. The totals count every line.
//
// Reading order: digest.go, host.go, requests.go, visits.go, problems.go; then the stores: histogram.go, lanes.go, marks.go,
// series.go.
package digest
