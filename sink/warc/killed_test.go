package warc

import (
	"testing"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

// This test kills processes that write archives of small files, so that a kill often happens when a new file begins.
func TestKilledWhileItWritesArchives(t *testing.T) {
	kills := long.Seeds(8, 24)
	if testing.Short() {
		kills = min(kills, 8)
	}
	s := suite(Options{})
	s.Open = func(dir string) (sink.Sink, error) { return Open(dir, Options{MaxSize: 8000, Level: 1}) }
	sinktest.RunKilled(t, s, kills)
}
