package cluster

import (
	"cmp"

	"github.com/amble-crawler/amble/sink"
)

// Sink returns a sink of what this ownership writes: a new one, in Shard.Dir. How far it counts is committed under its name
// and the epoch, so that nobody cuts back what an earlier owner has written.
func (s *Shard) Sink(to sink.Sink) sink.Sink {
	return &namedSink{to, atEpoch(cmp.Or(to.Name(), "sink"), s.Epoch)}
}

// namedSink is a sink with another name.
type namedSink struct {
	sink.Sink
	name string
}

// Name implements sink.Sink.
func (s *namedSink) Name() string { return s.name }
