package frontier_test

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/frontiertest"
)

func open(timeout time.Duration) func(t *testing.T) frontier.Frontier {
	return func(*testing.T) frontier.Frontier {
		return frontier.NewMemory(frontier.MemoryConfig{
			ClaimTimeout: timeout,
			HostSlots: func(host string) int {
				if host == frontiertest.WideHost {
					return 3
				}
				return 1
			},
		})
	}
}

func TestMemoryConforms(t *testing.T) {
	frontiertest.Run(t, open(2*time.Minute), frontiertest.Options{Virtual: true, ClaimTimeout: 2 * time.Minute, Slots: 3})
}

// TestMemoryServesTheBestFirst runs the conformance suite with BestFirst: the store serves the best URL of the hosts that
// are due, or due within Patience.
func TestMemoryServesTheBestFirst(t *testing.T) {
	for _, patience := range []time.Duration{0, 10 * time.Second} {
		open := func(*testing.T) frontier.Frontier {
			return frontier.NewMemory(frontier.MemoryConfig{BestFirst: true, Patience: patience})
		}
		frontiertest.Run(t, open, frontiertest.Options{Virtual: true, Seed: 3000, BestFirst: true, Patience: patience})
	}
}

func TestMemoryConformsWithoutTimeout(t *testing.T) {
	frontiertest.Run(t, open(0), frontiertest.Options{Virtual: true, Seed: 1000})
}

func TestMemoryConformsInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits in real time")
	}
	t.Parallel()
	frontiertest.Run(t, open(15*time.Second), frontiertest.Options{ClaimTimeout: 15 * time.Second, Slots: 3, Runs: 3})
}
