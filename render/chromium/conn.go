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

// Limits on messages of a browser. A longer event is skipped; a longer reply becomes an error.
const (
	maxEvent = 8 << 20
	maxReply = 128 << 20
)

// writeLimit is the timeout for writing a command to a browser that does not read.
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

// protocolError is a browser's error response to a command.
type protocolError struct {
	Code int64  `json:"code"`
	Text string `json:"message"`
}

func (e *protocolError) Error() string { return fmt.Sprintf("%s (%d)", e.Text, e.Code) }

// methodNotFound is the error code for an unknown command (JSON-RPC 2.0 section 5.1).
const methodNotFound = -32601

// lenient accepts the invalid strings that hostile pages may contain: lone surrogates become U+FFFD.
var lenient = jsonv2.AllowInvalidUTF8(true)

// conn is a connection with the browser by the DevTools protocol: JSON messages, each ended by a zero byte, on two pipes.
type conn struct {
	in    *os.File
	out   *bufio.Reader
	event func(*message) // called for each event, in order, by the reading goroutine

	writing sync.Mutex // held while a message is written

	mu      sync.Mutex
	last    int64              // number of the last command sent
	waiting map[int64]*mailbox // mailboxes for the replies to commands, by command number
	lost    bool
}

func newConn(p *process, event func(*message)) *conn {
	return &conn{in: p.in, out: bufio.NewReaderSize(p.out, 64<<10), event: event, waiting: map[int64]*mailbox{}}
}

// send sends a command and returns its number. The reply goes to the mailbox to; nil: the reply is dropped.
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

// write writes a whole message. If the browser does not read it in time, the connection counts as ended.
func (c *conn) write(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.in.SetWriteDeadline(time.Now().Add(writeLimit)) // pipes support deadlines on all systems where rendering works
	if _, err := c.in.Write(b); err != nil {
		_ = c.in.Close()
		return errCrashed
	}
	return nil
}

// read dispatches the browser's messages until it ends.
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

// frame reads one message, without its zero byte. whole is false if the message was too long: then its end was skipped.
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

// cutShort returns an error reply in place of a reply that is too long; for an event that is too long it returns nil.
func cutShort(b []byte) *message {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(b[:min(len(b), 40)], []byte(`{"id":`)), []byte(","))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return &message{}
	}
	return &message{ID: id, Error: &protocolError{Text: "the reply is too long"}}
}

// Limits of a mailbox. If they are exceeded, the page is given up.
const (
	maxQueued      = 20_000   // maximum number of messages
	maxQueuedBytes = 64 << 20 // maximum bytes of events
)

// mailbox queues messages of the browser for one page, until the page reads them.
type mailbox struct {
	mu     sync.Mutex
	queue  []*message
	bytes  int
	over   bool // whether a limit was exceeded
	spent  bool // whether the page has used up its processor time
	closed bool
	wake   chan struct{} // has an element if there may be messages
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

// spend records whether the page has used up its processor time. If so, the page gets no more messages.
func (b *mailbox) spend(spent bool) {
	b.mu.Lock()
	b.spent = spent
	b.mu.Unlock()
	b.signal()
}

// close records that there will be no more messages.
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

// pop removes and returns the oldest message. It returns nil if there is none now, and nil with an error if there will be no more.
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

// trap is a listener that accepts, counts and closes connections of a browser. Only Flags uses it: in a network namespace it is
// unreachable.
type trap struct {
	l     net.Listener
	count atomic.Int64
	ended chan struct{}
}

// discard is a port on which nothing listens (RFC 863), for browsers that could not reach a trap anyway.
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
