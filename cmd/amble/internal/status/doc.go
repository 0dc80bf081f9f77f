// Package status describes the state of a crawl in a job directory: what is done, which hosts have URLs left, what each of these waits for
// and until when, and what determines the end. It only reads files, so a process may work on the job at the same time.
//
// Reading order: status.go (the state), lines.go (data from the ledger), text.go.
package status
