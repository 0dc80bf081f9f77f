package disk

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/internal/long"
)

func TestStoreConforms(t *testing.T) {
	l := newLab(testConfig(), tuned())
	frontiertest.Run(t, l.begin, l.options())
}

// TestStoreServesTheBestFirst runs the conformance suite with BestFirst: the store serves the best URL of the hosts that
// are due, or due within Patience. The second run reads most queue heads from disk.
func TestStoreServesTheBestFirst(t *testing.T) {
	for _, patience := range []time.Duration{0, 10 * time.Second} {
		c, tuning := testConfig(), tuned()
		if patience == 0 {
			c, tuning = little()
		}
		c.BestFirst, c.Patience = true, patience
		l := newLab(c, tuning)
		o := l.options()
		o.BestFirst, o.Patience, o.Seed = true, patience, 4000
		frontiertest.Run(t, l.begin, o)
	}
}

func TestStoreConformsInLittleMemory(t *testing.T) {
	l := newLab(little())
	o := l.options()
	o.Seed, o.Runs = 2000, long.Seeds(15, 60)
	frontiertest.Run(t, l.begin, o)
}
