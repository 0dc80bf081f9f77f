// Package enginetest is the conformance suite of cluster.Engine, with at least one test for each numbered clause of its contract. An
// engine's own test consists of a factory and a call of [Run].
package enginetest

import (
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/cluster"
)

// Job is the storage of one cluster job under test, with operations on it for tests.
type Job struct {
	// Connect returns a new connection, as from another node.
	Connect func(t *testing.T) cluster.Engine
	// Restart stops the whole engine and starts it again with its disks. nil: the engine cannot be restarted.
	Restart func(t *testing.T)
	// GoBack makes the journal of a shard lose its last record, although it was acknowledged. nil: E10 is skipped.
	GoBack func(t *testing.T, shard int)
	// Beside returns a connection to a different job on the same engine.
	Beside func(t *testing.T) cluster.Engine
	// Flaky returns the connection of another node on which many calls get no answer, whether they took effect or not. nil: the suite ends
	// some calls by their contexts instead.
	Flaky func(t *testing.T) cluster.Engine
}

// Options configures the suite.
type Options struct {
	Virtual bool // run each test in a testing/synctest bubble

	// Parallel runs the tests in parallel, after the one that calls Job.Restart. Then jobs may share servers.
	Parallel bool
}

// Run runs the suite. Each test calls open for a new job.
func Run(t *testing.T, open func(t *testing.T) Job, o Options) {
	t.Helper()
	each(func(name string, check func(*kit)) {
		t.Run(name, func(t *testing.T) {
			if o.Parallel && name != restart {
				t.Parallel()
			}
			test := func(t *testing.T) {
				job := open(t)
				check(newKit(t, t, job))
			}
			if o.Virtual {
				synctest.Test(t, test)
				return
			}
			test(t)
		})
	})
}

// restart is the test that calls Job.Restart.
const restart = "E2 a restart keeps what was acknowledged"

// each calls test for each test of the suite. The name of a test begins with its clause.
func each(test func(name string, check func(*kit))) {
	test("E1 one Append of many wins", oneAppendWins)
	test("E1 an old expectation is fenced", oldExpectationIsFenced)
	test("E1 journals are apart", journalsAreApart)
	test("shards that the job was not created with are like the others", moreShards)
	test(restart, restartKeeps)
	test("E3 a nonce is stored once", nonceIsStoredOnce)
	test("E4 an unknown outcome is found out by repeating", unknownOutcome)
	test("E5 Read is in order, without holes", readIsInOrder)
	test("E5 Read of what was trimmed says so", readOfTrimmed)
	test("E5 a record is what was appended", recordIsWhole)
	test("E6 Trim keeps what an Append has to expect", trimKeepsLast)
	test("E7 an inbox keeps the order of a sender", inboxKeepsOrder)
	test("E7 an offer stays until it is dropped", offerStays)
	test("who watches an inbox is told of offers", arrivalsAreTold)
	test("E12 a message that was put aside stays, once", asideStays)
	test("E8 one Store of many wins", oneStoreWins)
	test("E8 Store needs the revision", storeNeedsRevision)
	test("E13 one StoreClock of many wins", oneClockWins)
	test("E13 jobs share clocks, for their life", clocksAreShared)
	test("E14 jobs share robots.txt files, for their life", robotsAreShared)
	test("E9 what was written is read soon", writtenIsRead)
	test("E10 a journal that went back is not a fence", wentBack)
	test("E11 Now is the time of what is stored", nowIsOfEntries)
	test("a file is there as a whole, or not", files)
	test("a question is answered by who answers for the shard", questions)
	test("calls end with their context", callsEnd)
}
