package crawler_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if any test leaves a goroutine behind: a crawl waits for everything that it starts.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs servers that send more than was requested
	goleak.VerifyTestMain(m)
}
