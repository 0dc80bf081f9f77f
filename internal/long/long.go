// Package long determines how often tests repeat their random parts: a few times in interactive runs, many times in nightly runs. It also
// reports whether the race detector, which slows everything down, is on.
//
// A test that tries seeds, kills processes or damages files uses [N]. Its first number is enough to find most errors quickly; .ci/nightly
// sets TEST_FULL=1 to select the second. Only the number differs; the checks are the same.
package long

import "os"

// variable is the environment variable that selects the number of nightly runs. Processes that tests start inherit it.
const variable = "TEST_FULL"

// Full reports whether tests repeat as often as in nightly runs.
func Full() bool { return os.Getenv(variable) == "1" }

// N returns the number of repetitions: quick, or full in nightly runs.
func N(quick, full int) int {
	if Full() {
		return full
	}
	return quick
}

// Seeds returns the number of random seeds to test: the result of N, or a quarter of it with the race detector, which makes a test several
// times slower and seldom finds more with further seeds.
func Seeds(quick, full int) int {
	n := N(quick, full)
	if Race {
		return (n + 3) / 4
	}
	return n
}
