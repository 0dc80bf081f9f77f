// Package mutants tests the tests of politeness. These are of three kinds: the unit tests of each package, the simulation of careless
// callers of a Gate (TestGateSim of politeness), and the simulation of whole crawls on random webs (TestSim of crawler). Each mutant in the
// first table switches one protection off: the unit tests of the package must fail, and one or both simulations, as the table says. For the
// second table, with protections that virtual time cannot show, and the third, which does not concern forbidden requests, only the unit
// tests must fail. The simulation of rendered crawls (TestRenderSim of crawler) detects mutants of rendering. The package has only tests:
// table_test.go has the tables, mutants_test.go runs them, build_test.go makes the binaries.
//
//	go test ./tools/mutants                 # a few mutants
//	go test ./tools/mutants -mutants.all    # all of them: some minutes on two cores, 35 seconds with -mutants.nounits
//	go test ./tools/mutants -mutants.all -run Elsewhere   # those of other packages: two minutes
//	go test ./tools/mutants -mutants.sims   # also which simulation sees which, and by which seed: half an hour
//
// The test binaries contain all mutants, as copies of the functions that they change. It takes 15 seconds to build them. A simulation first
// tries the seed in the table, which takes a tenth of a second. When a simulation or the order of its events changes, seeds become stale:
// then other seeds are tried, and the log names one for the table.
package mutants
