package rendertest

import (
	"errors"
	"os"
	"testing"

	"github.com/amble-crawler/amble/render/chromium"
)

// Browser returns a renderer with a real browser, which ends with the test. Where there is no browser, or no way to
// isolate it, the test is skipped with a sentence that says what to do; it fails if the environment variable TEST_BROWSER is
// "required", as in package internal/browsertest.
func Browser(t testing.TB) *chromium.Renderer {
	t.Helper()
	return Configured(t, chromium.Config{})
}

// Configured is Browser with settings.
func Configured(t testing.TB, c chromium.Config) *chromium.Renderer {
	t.Helper()
	r, err := chromium.New(t.Context(), c)
	if err != nil {
		Unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Unavailable ends a test that needs a browser and got an error instead: skipped if there is none and none is required.
func Unavailable(t testing.TB, err error) {
	t.Helper()
	var e *chromium.Error
	if errors.As(err, &e) && os.Getenv("TEST_BROWSER") != "required" {
		t.Skip(err)
	}
	t.Fatal(err)
}
