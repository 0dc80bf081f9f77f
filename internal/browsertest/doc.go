// Package browsertest opens pages in a real Chromium, for tests. The browser has no network but a separate loopback: a
// test that wants one runs in a process of its own, in a network namespace where nothing else is (see [Isolate]). It is
// skipped, with the reason, where there is no Chromium or no such namespace can be made; with TEST_BROWSER=required in the
// environment it fails instead.
//
// Reading order: browsertest.go, isolate_linux.go, protocol.go.
package browsertest
