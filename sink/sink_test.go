package sink_test

import (
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

func TestJSONLKeepsTheContract(t *testing.T) {
	sinktest.Run(t, sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return sink.OpenJSONL(filepath.Join(dir, "visits.jsonl")) },
		Read: func(dir string, _ bool) ([]string, error) { return sink.ReadLines(filepath.Join(dir, "visits.jsonl")) },
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			return sink.OpenFull(filepath.Join(dir, "visits.jsonl"), room)
		},
		Thorough: true,
	})
}
