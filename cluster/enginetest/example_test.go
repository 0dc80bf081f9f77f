package enginetest_test

import (
	"testing"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/enginetest"
	"github.com/amble-crawler/amble/cluster/mem"
)

// The test of an engine opens a job for each test of the suite. That of one on real servers connects to another job there, leaves
// Virtual out, and says how they are restarted.
func Example() {
	testEngine := func(t *testing.T) {
		enginetest.Run(t, func(*testing.T) enginetest.Job {
			server := mem.New()
			return enginetest.Job{Connect: func(*testing.T) cluster.Engine { return server.Connect() }}
		}, enginetest.Options{Virtual: true})
	}
	_ = testEngine // for go test, as TestEngine
	// Output:
}
