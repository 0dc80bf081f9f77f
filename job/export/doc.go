// Package export writes what a job has got in forms that other programs read: tables, the log of another crawler, an archive
// in one file.
//
//	r, err := job.Read("job")
//	…
//	err = export.Write(ctx, r, export.CSV(), "job-csv", nil)
//
// A [Kind] is one form. Those of this package need no library; job/export/sqlite and job/export/parquet have one each,
// so that a program links what it uses. An export is written whole or not at all. It covers a job as far as its last commit,
// also while a process works on the job, and its memory does not grow with the number of visits.
//
// Reading order: export.go (how an export is made), table.go and visits.go (what is in tables), then a file for each kind.
package export
