package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server serves the tools to agents. It is safe for concurrent use.
type Server struct{ tools *sdk.Server }

// Stdio serves one agent, which writes to in and reads from out. It ends when ctx ends, or after the end of in when all calls have
// returned.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	err := s.tools.Run(ctx, patient{&sdk.IOTransport{Reader: io.NopCloser(in), Writer: open{out}}})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// open is a writer with a Close method that does nothing.
type open struct{ io.Writer }

// Close implements [io.Closer].
func (open) Close() error { return nil }

// patient is a transport that closes a connection only after the last response. Without it, the SDK abandons running calls at the end of
// the input.
type patient struct{ sdk.Transport }

// Connect implements [sdk.Transport].
func (p patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	return &patientConn{Connection: c, answered: make(chan struct{}, 1)}, err
}

// patientConn counts the calls that have no response yet.
type patientConn struct {
	sdk.Connection
	calls    atomic.Int64
	answered chan struct{} // has an entry after calls has changed
}

// lastAnswers limits the time for the last responses after the end of the input. A single call takes less.
const lastAnswers = 2 * patience

// Read implements [sdk.Connection].
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if q, ok := m.(*jsonrpc.Request); ok && err == nil && q.IsCall() {
		c.calls.Add(1)
	}
	if !errors.Is(err, io.EOF) {
		return m, err
	}
	over := time.After(lastAnswers)
	for c.calls.Load() > 0 {
		select {
		case <-c.answered:
		case <-ctx.Done():
			return m, err
		case <-over:
			return m, err
		}
	}
	return m, err
}

// Write implements [sdk.Connection].
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.calls.Add(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// Handler serves agents over HTTP ("Streamable HTTP"): each request gets a complete response, and there are no sessions. It does not
// authenticate agents: its caller must.
func (s *Server) Handler() http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.tools }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}
