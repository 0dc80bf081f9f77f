// Package mutants tests the tests of politeness, of which there are three kinds: the package's own tests, the
// simulation of careless callers of a Gate (TestGateSim of politeness) and that of whole crawls on random webs
// (TestSim of crawler). Each mutant of the first table switches one protection off: the package's own tests must
// fail, and one simulation at least, or both, as the table says. The second table is protections that virtual time cannot
// show, and the third lets nothing out that should stay; there the package's own tests must fail. The package has no code
// of its own.
//
//	go test ./internal/mutants                 # a few mutants
//	go test ./internal/mutants -mutants.all    # all of them: some minutes on two cores, 35 seconds with -mutants.nounits
//	go test ./internal/mutants -mutants.sims   # also which simulation sees which, and by which seed: half an hour
//
// Two test binaries hold all mutants, as copies of the functions they change: building them takes 15 seconds. A
// simulation tries the seed first that is known to find a mutant, which takes a tenth of a second, and goes through the
// others when that one does not any more.
package mutants
