package chromium

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Bounds of what a browser sends. A longer event is skipped, a longer reply is an error.
const (
	maxEvent = 8 << 20
	maxReply = 128 << 20
)

// writeLimit is how long a command waits for a browser that does not read.
const writeLimit = 30 * time.Second

// message is a reply to a command, or an event.
type message struct {
	ID      int64            `json:"id"`
	Session target.SessionID `json:"sessionId"`
	Method  string           `json:"method"`
	Params  jsonv2.Value     `json:"params"`
	Result  jsonv2.Value     `json:"result"`
	Error   *protocolError   `json:"error"`
}

// protocolError is how a browser refuses a command.
type protocolError struct {
	Code int64  `json:"code"`
	Text string `json:"message"`
}

func (e *protocolError) Error() string { return fmt.Sprintf("%s (%d)", e.Text, e.Code) }

// methodNotFound is the code for a command that the browser does not have (JSON-RPC 2.0 section 5.1).
const methodNotFound = -32601

// lenient accepts what hostile pages make of strings: lone surrogates become U+FFFD.
var lenient = jsonv2.AllowInvalidUTF8(true)

// conn is the protocol's connection: JSON messages, each ended by a zero byte, on the browser's two pipes.
type conn struct {
	in    *os.File
	out   *bufio.Reader
	event func(*message) // called for each event, in order, by the goroutine that reads

	writing sync.Mutex // held while a message is written: messages must not mix

	mu      sync.Mutex
	last    int64              // number of the last command
	waiting map[int64]*mailbox // for replies
	lost    bool
}

func newConn(p *process, event func(*message)) *conn {
	return &conn{in: p.in, out: bufio.NewReaderSize(p.out, 64<<10), event: event, waiting: map[int64]*mailbox{}}
}

// send sends a command, whose reply goes to a mailbox, or nowhere if that is nil. It returns the command's number.
func send[P, R any](c *conn, to *mailbox, s target.SessionID, cmd cdp.Command[P, R], params P) (int64, error) {
	p, err := jsonv2.Marshal(params, lenient)
	if err != nil {
		return 0, fmt.Errorf("render: encoding %s: %w", cmd.Method, err)
	}
	id, err := c.register(to)
	if err != nil {
		return 0, err
	}
	b := make([]byte, 0, len(p)+len(cmd.Method)+len(s)+64)
	b = strconv.AppendInt(append(b, `{"id":`...), id, 10)
	if s != "" {
		b = append(append(append(b, `,"sessionId":"`...), s...), '"')
	}
	b = append(append(append(b, `,"method":"`...), cmd.Method...), `","params":`...)
	b = append(append(b, p...), '}', 0)
	return id, c.write(b)
}

func (c *conn) register(to *mailbox) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return 0, errCrashed
	}
	c.last++
	if to != nil {
		c.waiting[c.last] = to
	}
	return c.last, nil
}

// write writes a whole message. A browser that does not read for long has ended, as far as we are concerned.
func (c *conn) write(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.in.SetWriteDeadline(time.Now().Add(writeLimit)) // pipes have deadlines where rendering works
	if _, err := c.in.Write(b); err != nil {
		_ = c.in.Close()
		return errCrashed
	}
	return nil
}

// read hands out what the browser sends until it ends.
func (c *conn) read() {
	for {
		b, whole, err := c.frame()
		if err != nil {
			break
		}
		c.dispatch(b, whole)
	}
	c.mu.Lock()
	c.lost = true
	boxes := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, box := range boxes {
		box.close()
	}
}

// frame reads one message without its zero byte; whole is false if it was too long and its end was skipped.
func (c *conn) frame() (b []byte, whole bool, err error) {
	limit := maxEvent
	for {
		part, err := c.out.ReadSlice(0)
		if len(b) == 0 && bytes.HasPrefix(part, []byte(`{"id":`)) {
			limit = maxReply
		}
		if len(b)+len(part) <= limit {
			b = append(b, part...)
		} else {
			limit = 0
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(b, []byte{0}), limit > 0, err
		}
	}
}

func (c *conn) dispatch(b []byte, whole bool) {
	m := new(message)
	if !whole {
		m = cutShort(b)
	} else if err := jsonv2.Unmarshal(b, m, lenient); err != nil {
		return
	}
	if m.ID == 0 {
		if m.Method != "" {
			c.event(m)
		}
		return
	}
	c.mu.Lock()
	box := c.waiting[m.ID]
	delete(c.waiting, m.ID)
	c.mu.Unlock()
	if box != nil {
		box.push(m)
	}
}

// cutShort is the reply that a too long one becomes; a too long event is nothing.
func cutShort(b []byte) *message {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(b[:min(len(b), 40)], []byte(`{"id":`)), []byte(","))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return &message{}
	}
	return &message{ID: id, Error: &protocolError{Text: "the reply is too long"}}
}

// Bounds of what waits in a mailbox: a page that sends more is not worth looking at.
const (
	maxQueued      = 20_000   // messages
	maxQueuedBytes = 64 << 20 // bytes of events
)

// mailbox queues the browser's unread messages for one page.
type mailbox struct {
	mu     sync.Mutex
	queue  []*message
	bytes  int
	over   bool // more came than there is room for
	spent  bool // the page has had its processor time
	closed bool
	wake   chan struct{} // holds an element if there may be something new
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (b *mailbox) push(m *message) {
	b.mu.Lock()
	if len(b.queue) >= maxQueued || b.bytes > maxQueuedBytes {
		b.over = true
	} else {
		b.queue = append(b.queue, m)
		b.bytes += len(m.Params)
	}
	b.mu.Unlock()
	b.signal()
}

// spend notes whether the page has had its processor time: then nothing more is read.
func (b *mailbox) spend(spent bool) {
	b.mu.Lock()
	b.spent = spent
	b.mu.Unlock()
	b.signal()
}

// close says that nothing will come any more.
func (b *mailbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.signal()
}

func (b *mailbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// pop returns the oldest message; nil if there is none, with an error if none will come.
func (b *mailbox) pop() (*message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.over:
		return nil, errFlood
	case b.spent:
		return nil, errStuck
	case len(b.queue) > 0:
		m := b.queue[0]
		b.queue = b.queue[1:]
		b.bytes -= len(m.Params)
		return m, nil
	case b.closed:
		return nil, errCrashed
	}
	return nil, nil
}

// trap is where connections go that a browser makes by itself: a listener that accepts, counts and closes. With
// namespaces nothing can reach it, and there is none.
type trap struct {
	l     net.Listener
	count atomic.Int64
	ended chan struct{}
}

// discard is a port at which nobody listens (RFC 863), for browsers that could not reach a listener.
const discard = 9

func newTrap(ctx context.Context, iso Isolation) (*trap, error) {
	if iso == Namespace {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, &Error{reasonIsolation, "no port on 127.0.0.1 for the listener that stops the browser's connections", err}
	}
	t := &trap{l: l, ended: make(chan struct{})}
	go t.serve()
	return t, nil
}

func (t *trap) serve() {
	defer close(t.ended)
	for {
		c, err := t.l.Accept()
		if err != nil {
			return
		}
		t.count.Add(1)
		_ = c.Close()
	}
}

func (t *trap) port() int {
	if t == nil {
		return discard
	}
	return t.l.Addr().(*net.TCPAddr).Port
}

func (t *trap) stopped() int64 {
	if t == nil {
		return 0
	}
	return t.count.Load()
}

func (t *trap) close() {
	if t != nil {
		_ = t.l.Close()
		<-t.ended
	}
}
