package cluster

import (
	"context"

	"github.com/amble-crawler/amble/sink"
)

// Sink returns a sink of what this ownership writes: a new one, in Shard.Dir. How far it counts is committed under its name
// and the epoch, so that nobody cuts back what an earlier owner has written.
func (s *Shard) Sink(to sink.Sink) sink.Sink {
	name := "sink"
	if n, ok := to.(sink.Named); ok {
		name = n.Name()
	}
	named := &namedSink{to, atEpoch(name, s.Epoch)}
	if x, ok := to.(sink.ExchangeSink); ok {
		return &namedExchanges{named, x}
	}
	return named
}

// namedSink is a sink with another name.
type namedSink struct {
	sink.Sink
	name string
}

// Name implements sink.Named.
func (s *namedSink) Name() string { return s.name }

// namedExchanges is a namedSink that also stores exchanges.
type namedExchanges struct {
	*namedSink
	exchanges sink.ExchangeSink
}

// AppendExchange implements sink.ExchangeSink.
func (s *namedExchanges) AppendExchange(ctx context.Context, x *sink.Exchange) error {
	return s.exchanges.AppendExchange(ctx, x)
}
