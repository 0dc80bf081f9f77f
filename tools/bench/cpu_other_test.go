//go:build !unix

package bench

import (
	"testing"
	"time"
)

// cpu returns 0: it cannot be measured here.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	tb.Skip("needs getrusage")
	return 0
}
