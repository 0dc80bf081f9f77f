package sink_test

import (
	"context"
	"encoding/json"

	"github.com/amble-crawler/amble/sink"
)

// emitting is a sink of results that adds one or two results to each record, which contain its URL.
type emitting struct{ sink.Sink }

func (e emitting) Append(ctx context.Context, r *sink.Record) error {
	with := *r
	with.Data = []json.RawMessage{json.RawMessage(`{"url":` + quote(r.URL) + `, "note":"=1+1\n\"x\",\u202e"}`)}
	return e.Sink.Append(ctx, &with)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
