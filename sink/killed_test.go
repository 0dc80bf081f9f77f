package sink_test

import (
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

// kills returns the number of times that a test kills a process.
func kills() int {
	n := long.Seeds(12, 40)
	if testing.Short() {
		n = min(n, 8)
	}
	return n
}

func TestKilledWhileItWritesJSONL(t *testing.T) {
	sinktest.RunKilled(t, sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return sink.OpenJSONL(filepath.Join(dir, "visits.jsonl")) },
		Read: func(dir string, _ bool) ([]string, error) { return sink.ReadLines(filepath.Join(dir, "visits.jsonl")) },
	}, kills())
}
