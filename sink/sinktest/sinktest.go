// Package sinktest is the conformance suite of sink.Sink: tests for each numbered clause of the contract, and random operations compared
// with a small reference model. The test of a sink describes how to open the sink and how to read its output, and calls [Run]. It calls
// [RunKilled] for processes that are killed while they write.
package sinktest

import (
	"testing"

	"github.com/amble-crawler/amble/sink"
)

// Suite describes a kind of sink whose output is in a directory.
type Suite struct {
	// Open opens the output in dir, which exists and contains nothing else.
	Open func(dir string) (sink.Sink, error)
	// Read returns the URLs of the records in the output in dir, in order. It returns an error if anything in the output is torn or foreign.
	// closed means that the sink was closed, so the output has its final form; otherwise everything was synced.
	Read func(dir string, closed bool) ([]string, error)
	// OpenFull opens the output in dir on a disk with free space for room bytes. The first write beyond that stores a part of its data and
	// fails with syscall.ENOSPC. If OpenFull is nil, S9 is skipped.
	OpenFull func(dir string, room int) (sink.Sink, error)
	// InPlace means that another library, such as a database, writes files of the output in place, in an order that it chooses. Then the
	// states after a kill cannot be simulated with the files, and only RunKilled tests that part of S5.
	InPlace bool
	// Thorough simulates a kill at every byte written. Otherwise, and with -short, some bytes are left out.
	Thorough bool
	// Runs is the number of sequences of random operations, each with a different seed. 0: 50.
	Runs int
	// Seed is the first seed. The message of a failure has the seed with which it can be repeated. 0: 1.
	Seed uint64
}

// Run runs the suite for sinks of one kind.
func Run(t *testing.T, s Suite) {
	t.Helper()
	each(func(name string, check func(*kit)) {
		t.Run(name, func(t *testing.T) { check(&kit{T: t, suite: s, dir: t.TempDir()}) })
	})
}

// each calls test for each test of the suite. The number in a name is that of the clause.
func each(test func(name string, check func(*kit))) {
	test("S1 records in order, each once", recordsInOrder)
	test("S1 records of every shape", recordsOfEveryShape)
	test("S2 offsets grow with the output", offsetsGrow)
	test("S2 an empty output is at 0", emptyIsZero)
	test("S2 opening does not move the offset", openingKeepsOffset)
	test("S3 what was synced outlives a kill", syncedOutlivesKill)
	test("S4 Restore to every offset that was returned", restoreToEveryOffset)
	test("S4 Restore to an offset of an earlier run", restoreToEarlierRun)
	test("S4 Restore to 0 empties", restoreToZero)
	test("S5 Restore after a kill at any byte", restoreAfterKill)
	test("S5 Restore over a tail of noise", restoreOverNoise)
	test("S5 Restore may be repeated", restoreTwice)
	test("S6 an offset beyond the output is refused", refusesBeyond)
	test("S7 Append after Restore", appendAfterRestore)
	test("S8 Close keeps everything", closeKeeps)
	test("S8 a closed output continues", reopenAppends)
	test("S8 an output that nothing was appended to", closeEmpty)
	test("S9 a full disk", fullDisk)
	test("S9 Restore after a full disk", restoreAfterFullDisk)
	test("S10 a directory that cannot be written", readOnly)
	test("S11 every call after Close is ErrClosed", closedIsErrClosed)
	test("S12 the Record is the caller's after Append", recordIsTheCallers)
	test("S13 a context that has ended", canceled)
	test("random operations agree with the model", random)
}
