//go:build !linux

package browsertest

import "testing"

// Isolate skips the test: only Linux can run a process without a network.
func Isolate(t *testing.T) bool {
	t.Helper()
	unavailable(t, "the browser must have no network, which is possible on Linux only")
	return false
}
