package crawler_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine is left behind by any test: a crawl awaits all that it starts.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs servers that send more than was requested
	goleak.VerifyTestMain(m)
}
