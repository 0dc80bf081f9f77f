package disk

import (
	"testing"

	"github.com/amble-crawler/amble/frontier/frontiertest"
)

func TestStoreConforms(t *testing.T) {
	l := newLab(testConfig(), tuned())
	frontiertest.Run(t, l.begin, l.options())
}

func TestStoreConformsInLittleMemory(t *testing.T) {
	l := newLab(little())
	o := l.options()
	o.Seed, o.Runs = 2000, 60
	frontiertest.Run(t, l.begin, o)
}
