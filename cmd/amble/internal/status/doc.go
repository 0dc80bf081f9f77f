// Package status describes the state of a crawl in a job directory: what is done, which hosts have URLs left, what each of them waits for
// and until when, and what determines the end. It only reads, and may be used while a process works on the job.
//
// Reading order: status.go (the state), lines.go (data from the ledger), text.go.
package status
