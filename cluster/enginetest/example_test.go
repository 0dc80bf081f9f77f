package enginetest_test

import (
	"testing"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/enginetest"
	"github.com/amble-crawler/amble/cluster/mem"
)

// To test an engine, Run is called with a function that opens a new job for each test of the suite. With real servers, the function
// connects to a new job there, leaves Virtual out, and tells the suite how to restart the servers.
func Example() {
	testEngine := func(t *testing.T) {
		enginetest.Run(t, func(*testing.T) enginetest.Job {
			server := mem.New()
			return enginetest.Job{Connect: func(*testing.T) cluster.Engine { return server.Connect() }}
		}, enginetest.Options{Virtual: true})
	}
	_ = testEngine // go test runs it as TestEngine
	// Output:
}
