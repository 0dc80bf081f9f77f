package crawltest

import "fmt"

// reporter is the part of testing.TB that a Web needs.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// panics is the reporter outside of a test.
type panics struct{}

func (panics) Helper() {}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// fatal reports a mistake in a fixture.
func (w *Web) fatal(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("crawltest: "+format, args...)
}

// errorf reports a failed assertion.
func (w *Web) errorf(format string, args ...any) {
	w.tb.Helper()
	w.tb.Errorf("crawltest: "+format, args...)
}
