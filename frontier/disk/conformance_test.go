package disk

import (
	"testing"

	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/internal/long"
)

func TestStoreConforms(t *testing.T) {
	l := newLab(testConfig(), tuned())
	frontiertest.Run(t, l.begin, l.options())
}

func TestStoreConformsInLittleMemory(t *testing.T) {
	l := newLab(little())
	o := l.options()
	o.Seed, o.Runs = 2000, long.N(15, 60)
	frontiertest.Run(t, l.begin, o)
}
