package crawler_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// TestMain fails if any test leaves a goroutine behind: a crawl waits for everything that it starts.
func TestMain(m *testing.M) {
	quicktmp.Use()
	log.SetOutput(io.Discard) // net/http logs servers that send more than was requested
	goleak.VerifyTestMain(m)
}
