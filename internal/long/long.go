// Package long says how often tests repeat what is random: a few times where somebody waits for them, and often each night. It also says
// whether the race detector, which makes everything longer, is on.
//
// A test that goes through seeds, kills processes or damages files has a default of [N]: the first number is enough to see
// most mistakes a minute after they were made, and .ci/nightly demands the second, by TEST_FULL=1. Only the
// number differs; what is checked is the same.
package long

import "os"

// variable is the environment variable that asks for the whole number. Processes that tests start inherit it.
const variable = "TEST_FULL"

// Full reports whether tests repeat as often as they do each night.
func Full() bool { return os.Getenv(variable) == "1" }

// N returns how often to repeat: quick, or full each night.
func N(quick, full int) int {
	if Full() {
		return full
	}
	return quick
}

// Seeds returns the number of random seeds to test with: that of N, or a quarter of it with the race detector, which makes a test several
// times slower and seldom finds more with another seed.
func Seeds(quick, full int) int {
	n := N(quick, full)
	if Race {
		return (n + 3) / 4
	}
	return n
}
