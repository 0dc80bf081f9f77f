// Package frontiertest is the conformance suite of frontier.Frontier and, for stores that implement it, frontier.Durable: one test for
// each numbered clause of the contract, a run of random operations against a small reference model, and a run of many workers at once.
// The test of a store consists of a function that makes stores and a call of [Run].
package frontiertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// WideHost is the host (weburl.URL.Host) for which a store under test may allow [Options].Slots holders at a time.
const WideHost = "wide.test:80"

// Options describes the stores of one Run.
type Options struct {
	// Virtual runs every test in a testing/synctest bubble: times are then checked to the nanosecond, and waiting takes no real time. All
	// goroutines of the store must be started by open and ended by Close. Without Virtual, tests run in real time and in parallel, only
	// lower bounds of times are checked, and open is called by several goroutines.
	Virtual bool
	// ClaimTimeout is the duration of a claim of the stores. 0: claims never expire, and F11 is skipped. It must be at least a minute in
	// virtual time and 15 seconds in real time; otherwise claims expire during other tests.
	ClaimTimeout time.Duration
	// Slots is the number of holders that the stores allow for WideHost at a time. 0: one, and the test of more in F3 is skipped.
	Slots int
	// Crash ends f as a kill of its process would, and returns a store opened from what was durable. nil: the store is not durable, and
	// F12 is skipped. It may be called during calls of f.
	Crash func(t *testing.T, f frontier.Frontier) frontier.Frontier
	// Reopen closes f and returns a store opened from its contents. nil: Crash is used.
	Reopen func(t *testing.T, f frontier.Frontier) frontier.Frontier
	// ReopenDelay is the time after Crash and Reopen during which no host with pending URLs may be ready.
	ReopenDelay time.Duration
	// BestFirst says that the stores serve the best URLs first: F22 is tested instead of F6.
	BestFirst bool
	// Patience is the maximum time for which the stores wait for a better URL. It must be at least 10 seconds; the test then needs
	// virtual time. Tests with random operations are left out, because the model does not wait.
	Patience time.Duration
	// Runs is the number of sequences of random operations, each with its own seed. 0: 30.
	Runs int
	// Seed is the first seed. A failure names the seed with which it can be repeated. 0: 1.
	Seed uint64
}

// Run tests the stores that open makes. Each test opens and closes a new store.
func Run(t *testing.T, open func(t *testing.T) frontier.Frontier, opts Options) {
	t.Helper()
	each(opts, func(name string, check func(*kit)) {
		t.Run(name, func(t *testing.T) {
			if !opts.Virtual {
				t.Parallel()
			}
			bubble(t, opts.Virtual, func(t *testing.T) {
				k := newKit(t, opts, open(t))
				k.crash = hook(t, opts.Crash)
				k.reopen = hook(t, opts.Reopen)
				defer k.close()
				check(k)
			})
		})
	})
}

func bubble(t *testing.T, virtual bool, f func(t *testing.T)) {
	if virtual {
		synctest.Test(t, f)
		return
	}
	f(t)
}

func hook(t *testing.T, f func(*testing.T, frontier.Frontier) frontier.Frontier) func(frontier.Frontier) frontier.Frontier {
	if f == nil {
		return nil
	}
	return func(s frontier.Frontier) frontier.Frontier { return f(t, s) }
}

// each calls test with each test of the suite. The number in its name is that of the clause.
func each(o Options, test func(name string, check func(*kit))) {
	test("F1 Add counts a URL once", addCountsOnce)
	test("F1 of concurrent Adds of one URL one counts", concurrentAddsCountOnce)
	test("F1 Add is all or nothing", addIsAllOrNothing)
	test("F2 a URL has one holder", urlHasOneHolder)
	test("F3 a host has one holder", hostHasOneHolder)
	test("F3 a host has as many holders as configured", hostHasConfiguredHolders)
	test("F4 not before the host's ReadyAt", notBeforeReadyAt)
	test("F4 ReadyAt outlives an empty queue", readyAtOutlivesEmptyQueue)
	test("F4 not before the URL's NotBefore", notBeforeNotBefore)
	test("F5 priority, then arrival", priorityThenArrival)
	test("F5 Again keeps the arrival", againKeepsArrival)
	test("F5 Again with NotBefore keeps the arrival", notBeforeKeepsArrival)
	test("F5 a retry arrives anew", retryArrivesAnew)
	test("F5 of one priority, the score, then arrival", scoreThenArrival)
	test("F23 new scores give queued URLs their places", newScoresReorder)
	test("F23 scores change time and again", rescoredTimeAndAgain)
	test("F23 Rescore asks with the Request and keeps it", rescoreKeepsRequests)
	test("F23 a lower score can be raised", lowScoresRaise)
	test("F23 Rescore keeps ReadyAt", rescoreKeepsReadyAt)
	test("F23 many are rescored", manyAreRescored)
	test("F23 a failed Rescore loses nothing", failedRescoreHasNoEffect)
	test("F23 hosts are served by the new scores", rescoreWakes)
	test("F23 a crash keeps new scores", crashKeepsRescored)
	if o.BestFirst {
		test("F22 the best of the hosts that are due goes first", bestGoesFirst)
		test("F22 no host is served before its time", bestKeepsTimes)
		test("F22 what was raised counts once", raisedCountsOnceAmongHosts)
		test("F22 a crash keeps scores", crashKeepsScores)
		if o.Patience > 0 {
			test("F22 a better host is waited for", betterIsWaitedFor)
			test("F22 a host is waited for of which a better URL is claimed", claimedIsWaitedFor)
			return
		}
	} else {
		test("F6 the host due earliest goes first", earliestDueFirst)
		test("F6 of hosts due together the one with most queued goes first", maxQueuedFirst)
		test("F6 new hosts and others take turns", newHostsTakeTurns)
		test("F6 a host that was idle is new", newAgainWhenIdle)
		test("F6 a host does not pass those that waited longer", noHostStarves)
	}
	test("F7 Settle takes effect as a whole", settleIsWhole)
	test("F7 a failed Settle has no effect", failedSettleHasNoEffect)
	test("F7 no one sees a Settle half done", settleIsNotSeenHalfDone)
	test("F8 Again does not make a URL new", againIsNotNew)
	test("F8 a retry counts, a postponement does not", retryCounts)
	test("F8 Again keeps the Request", againKeepsRequest)
	test("F9 an empty store is drained", emptyIsDrained)
	test("F9 not drained while queued, claimed or waiting", notDrainedWhilePending)
	test("F9 becoming drained wakes every Claim", drainedWakesAll)
	test("F10 Claim wakes on Add", wakesOnAdd)
	test("F10 Claim wakes on Settle", wakesOnSettle)
	test("F10 Claim wakes when a time comes", wakesOnTime)
	test("F10 Claim wakes when its context ends", wakesOnContext)
	test("F11 an expired claim can be claimed again", expiredIsClaimable)
	test("F11 Settle of an expired claim is lost", expiredSettleIsLost)
	test("F11 a claim is settled once", settledOnce)
	test("F12 a crash loses no acknowledged URL", crashKeepsAdded)
	test("F12 a crash revives no settled URL", crashKeepsSettled)
	test("F12 a crash returns what was claimed", crashReturnsClaims)
	test("F12 a crash makes no host or URL ready earlier", crashKeepsTimes)
	test("F12 a closed store opens as it was", reopenKeepsAll)
	test("F13 Close wakes every Claim", closeWakesAll)
	test("F13 every call after Close is ErrClosed", closedIsErrClosed)
	test("F14 the smaller depth wins while queued", smallerDepthWins)
	test("F20 a higher priority raises a queued URL", higherPriorityRaises)
	test("F20 a score raises a queued URL", higherScoreRaises)
	test("F20 a raised URL is claimed once", raisedIsClaimedOnce)
	test("F20 a Request that says more than a link stays", moreThanALinkStays)
	test("F20 many are raised, time and again", manyAreRaised)
	test("F20 a crash keeps what was raised", crashKeepsRaised)
	test("F23 Rescore leaves claims alone", rescoreLeavesClaims)
	test("F15 a release frees the host, from ReadyAt on", releaseFreesHost)
	test("F15 Claim wakes on Release", releaseWakes)
	test("F15 a released claim is Claimed until Commit", releasedIsClaimed)
	test("F15 a released claim never expires", releasedNeverExpires)
	test("F15 a claim is released once", releasedOnce)
	test("F15 a failed Release has no effect", failedReleaseHasNoEffect)
	test("F15 a crash returns what was released, at its time", crashReturnsReleased)
	test("F15 a closed store opens with released claims queued", reopenReturnsReleased)
	test("F16 Commit takes effect as a whole, in order", commitIsWhole)
	test("F16 Commit ends claims as Settle does", commitSettles)
	test("F16 a Commit loses no retry", committedRetries)
	test("F16 a failed Commit has no effect", failedCommitHasNoEffect)
	test("F16 a nil value removes its name", nilRemoves)
	test("F16 Values calls in order and stops on an error", valuesInOrder)
	test("F16 a Commit of a thousand ends and large values", largeCommit)
	test("F16 a crash keeps what was committed", crashKeepsCommits)
	test("F16 a crash during Commit leaves all or nothing", crashDuringCommit)
	test("F17 owners cannot overwrite each other", ownersAreApart)
	test("F17 a crash keeps what each owner committed", crashKeepsOwners)
	test("F18 Revive queues the done as new", reviveQueuesDone)
	test("F18 Revive leaves alone what is not done", reviveLeavesPending)
	test("F18 a failed Revive has no effect", failedReviveHasNoEffect)
	test("F18 a crash keeps what was revived", crashKeepsRevived)
	test("F19 Take adds and stores", takeAddsAndStores)
	test("F19 Claim wakes on Take", takeWakes)
	test("F19 a failed Take has no effect", failedTakeHasNoEffect)
	test("F19 a crash keeps what was taken", crashKeepsTaken)
	test("F19 a crash during Take leaves all or nothing", crashDuringTake)
	test("F21 no URL of the host is claimed before Commit", holdKeepsHost)
	test("F21 Claim wakes on the Commit, to its links", holdWakes)
	test("F21 a claim on hold never expires", heldNeverExpires)
	test("F21 a claim is put on hold once", heldOnce)
	test("F21 a failed Hold has no effect", failedHoldHasNoEffect)
	test("F21 a crash returns what was on hold", crashReturnsHeld)
	test("a Claim returns the Request as added", claimReturnsRequest)
	test("Stats count by state", statsCount)
	test("Known URLs are known, HostPending counts", knownIsKnown)
	test("many workers", manyWorkers)
	test("workers release, one commits", manyWorkersOneCommits)
	test("random operations agree with the model", func(k *kit) { k.random(o.seeds()) })
}
