// Command otel crawls the given sites and exports spans with OpenTelemetry: one for each claim of a URL, with a child span for the request.
// Here spans are written to stdout; another exporter sends them elsewhere.
//
// A crawl makes many spans. Those of a tenth of the hosts are kept, always the same hosts, so that all spans of a host are kept or none.
package main

import (
	"context"
	"flag"
	"hash/fnv"
	"log"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

func main() {
	contact := flag.String("contact", "", "`URL or mail address` at which site owners reach you")
	share := flag.Float64("share", 0.1, "`share` of the hosts whose spans are kept")
	flag.Parse()
	out, err := stdouttrace.New(stdouttrace.WithPrettyPrint())
	if err == nil {
		err = run(*contact, *share, out, flag.Args())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(contact string, share float64, out sdk.SpanExporter, seeds []string) error {
	provider := sdk.NewTracerProvider(sdk.WithBatcher(out))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	s := &spans{tracer: provider.Tracer("amble"), share: share, open: map[string]claimed{}}
	c, err := crawler.New(crawler.Config{Contact: contact, Trace: s.trace()})
	if err != nil {
		return err
	}
	rep, err := c.Run(context.Background(), seeds...)
	if err == nil {
		log.Printf("%d pages, %d requests", rep.Pages, rep.Requests)
	}
	return err
}

// spans makes spans from the events of a crawl.
type spans struct {
	tracer trace.Tracer
	share  float64

	mu   sync.Mutex
	open map[string]claimed // open spans by URL: a URL is claimed only once at a time
}

type claimed struct {
	ctx  context.Context
	span trace.Span
}

func (s *spans) trace() *crawler.Trace {
	return &crawler.Trace{
		Claimed:  s.claimed,
		Waiting:  s.waiting,
		Admitted: s.admitted,
		Answered: s.answered,
		Robots:   func(u weburl.URL, _ politeness.OriginInfo) { s.end(u) },
		Retrying: s.retrying,
		Visited:  s.visited,
		Committed: func(c crawler.Commit) {
			end := time.Now()
			_, span := s.tracer.Start(context.Background(), "commit", trace.WithTimestamp(end.Add(-c.Took)), trace.WithAttributes(
				attribute.Int("visits", c.Visits), attribute.Int("links", c.Links), attribute.Int64("bytes", c.Bytes)))
			span.End(trace.WithTimestamp(end))
		},
	}
}

// kept reports whether the spans of a host are kept.
func (s *spans) kept(host string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(host)) // writing to a hash cannot fail
	return float64(h.Sum32())/(1<<32) < s.share
}

func (s *spans) claimed(c frontier.Claim) {
	if !s.kept(c.URL.Host()) {
		return
	}
	ctx, span := s.tracer.Start(context.Background(), "claim", trace.WithAttributes(
		attribute.String("url.full", c.URL.String()), attribute.Int("depth", c.Depth), attribute.Int("attempt", c.Attempt)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c.URL.String()] = claimed{ctx, span}
}

func (s *spans) of(u weburl.URL) (claimed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.open[u.String()]
	return c, ok
}

// end ends the span of a claim.
func (s *spans) end(u weburl.URL) {
	s.mu.Lock()
	c, ok := s.open[u.String()]
	delete(s.open, u.String())
	s.mu.Unlock()
	if ok {
		c.span.End()
	}
}

// waiting ends a claim without a request.
func (s *spans) waiting(u weburl.URL, w *politeness.NotYet) {
	if c, ok := s.of(u); ok {
		c.span.SetAttributes(attribute.String("waits", w.Clauses[0].Name), attribute.String("until", w.Until.Format(time.RFC3339Nano)))
	}
	s.end(u)
}

func (s *spans) admitted(u weburl.URL, p politeness.Permit) {
	if c, ok := s.of(u); ok {
		c.span.AddEvent("permit", trace.WithAttributes(attribute.String("purpose", p.Purpose().String())))
	}
}

// answered makes the span of a request, from the start of the connection to the last byte.
func (s *spans) answered(u weburl.URL, a *fetcher.Answer) {
	c, ok := s.of(u)
	if !ok {
		return
	}
	attrs := []attribute.KeyValue{
		attribute.String("url.full", a.Permit.URL().String()), attribute.String("purpose", a.Permit.Purpose().String()),
		attribute.String("network.peer.address", a.Addr.String()),
	}
	p := a.Page
	if p == nil {
		_, span := s.tracer.Start(c.ctx, "request", trace.WithAttributes(attrs...))
		span.SetStatus(codes.Error, fetcher.ReasonOf(a.Err))
		span.End()
		return
	}
	_, span := s.tracer.Start(c.ctx, "request", trace.WithTimestamp(p.Started), trace.WithAttributes(attrs...))
	span.AddEvent("written", trace.WithTimestamp(p.Written))
	span.AddEvent("first byte", trace.WithTimestamp(p.FirstByte))
	span.SetAttributes(attribute.Int("http.response.status_code", p.Status), attribute.Int64("bytes", p.WireBytes), attribute.Bool("reused", p.Reused))
	span.End(trace.WithTimestamp(p.Ended))
}

func (s *spans) retrying(u weburl.URL, reason string, at time.Time) {
	if c, ok := s.of(u); ok {
		c.span.SetStatus(codes.Error, reason)
		c.span.SetAttributes(attribute.String("again", at.Format(time.RFC3339Nano)))
	}
	s.end(u)
}

func (s *spans) visited(v *crawler.Visit) {
	if c, ok := s.of(v.URL); ok {
		c.span.SetAttributes(attribute.String("outcome", string(v.Outcome)), attribute.String("reason", v.Reason))
	}
	s.end(v.URL)
}
