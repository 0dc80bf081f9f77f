// Package status says how a crawl in a job directory stands, from outside: what is done, which hosts have URLs left, what
// each of them waits for and until when, and what decides the end. It only reads, and may be used while a process works on
// the job.
//
// Reading order: status.go (what is known), lines.go (what the ledger adds), text.go.
package status
