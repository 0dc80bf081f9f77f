// Package browsertest opens pages in a real Chromium, for tests. The browser's only network is a loopback interface: a test with a
// browser runs in a separate process, whose network namespace has no other interface (see [Isolate]). It is skipped, with the reason, if
// there is no Chromium or no such namespace can be made; with TEST_BROWSER=required in the environment it fails instead.
//
// Reading order: browsertest.go, isolate_linux.go, protocol.go.
package browsertest
