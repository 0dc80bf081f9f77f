package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// kept stores spans, which the exporter of package tracetest forgets when it is shut down.
type kept struct{ spans []sdk.ReadOnlySpan }

func (k *kept) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

func (k *kept) Shutdown(context.Context) error { return nil }

// TestSpans checks that every request of a crawl has a span, below that of its claim.
func TestSpans(t *testing.T) {
	requests := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++ // requests are made one at a time
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<a href=/missing>missing</a>"))
	}))
	defer site.Close()
	var k kept
	if err := run("", 1, &k, []string{site.URL + "/"}); err != nil {
		t.Fatal(err)
	}
	claims, below := map[string]bool{}, 0
	for _, s := range k.spans {
		if s.Name() == "claim" {
			claims[s.SpanContext().SpanID().String()] = true
		}
	}
	for _, s := range k.spans {
		if s.Name() == "request" && claims[s.Parent().SpanID().String()] && !s.EndTime().Before(s.StartTime()) {
			below++
		}
	}
	if below != requests || requests != 3 {
		t.Errorf("%d requests, %d spans below claims", requests, below)
	}
}
