package fetcher

import (
	"container/list"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// connKey identifies connections that a request may use. Host names at one address do not share connections, nor do the addresses of one
// name.
type connKey struct {
	scheme, host string // host is host:port
	addr         netip.Addr
}

// conn is a connection and the HTTP client that uses it. It belongs to one exchange at a time.
type conn struct {
	key      connKey
	wire     *wire
	client   *http.ClientConn
	insecure bool // the certificate was not verified
	reused   bool
	idleFrom time.Time
	place    *list.Element // element of pool.order while the connection is idle
}

// drop closes the connection immediately.
func (c *conn) drop() {
	c.wire.kill()
	_ = c.client.Close()
}

// pool keeps idle connections for later requests to the same host. One timer closes connections that have been idle for too long.
type pool struct {
	max  int
	keep time.Duration

	mu     sync.Mutex
	idle   map[string][]*conn // keyed by host:port, so that a host's connections are found quickly; most recently used last
	order  *list.List         // elements hold *conn, longest idle first
	timer  *time.Timer        // nil if no connection is idle
	closed bool
}

func newPool(maxIdle int, keep time.Duration) *pool {
	return &pool{max: maxIdle, keep: keep, idle: make(map[string][]*conn), order: list.New()}
}

// get returns a usable idle connection, reserved for one request, or nil if there is none.
func (p *pool) get(k connKey) *conn {
	for {
		p.mu.Lock()
		c := p.latest(k)
		if c == nil {
			p.mu.Unlock()
			return nil
		}
		p.remove(c)
		p.mu.Unlock()
		if c.client.Reserve() == nil {
			c.reused = true
			return c
		}
		c.drop()
	}
}

// latest returns the most recently used connection for k, or nil. The caller holds p.mu.
func (p *pool) latest(k connKey) *conn {
	for _, c := range slices.Backward(p.idle[k.host]) {
		if c.key == k {
			return c
		}
	}
	return nil
}

// put puts a connection whose last response was read to its end into the pool.
func (p *pool) put(c *conn) {
	if c.client.Err() != nil {
		c.drop()
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.drop()
		return
	}
	c.idleFrom = time.Now()
	p.idle[c.key.host] = append(p.idle[c.key.host], c)
	c.place = p.order.PushBack(c)
	var surplus *conn
	if p.order.Len() > p.max {
		surplus = p.order.Front().Value.(*conn)
		p.remove(surplus)
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(p.keep, p.expire)
	}
	p.mu.Unlock()
	if surplus != nil {
		surplus.drop()
	}
}

// remove takes c out of the pool. The caller holds p.mu.
func (p *pool) remove(c *conn) {
	p.order.Remove(c.place)
	c.place = nil
	conns := slices.DeleteFunc(p.idle[c.key.host], func(x *conn) bool { return x == c })
	if len(conns) == 0 {
		delete(p.idle, c.key.host)
		return
	}
	p.idle[c.key.host] = conns
}

// expire closes connections that have been idle for too long, and sets the timer for the others.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	wait, old := p.overdue(time.Now())
	for _, c := range old {
		p.remove(c)
		c.drop()
	}
	if wait == 0 {
		p.timer = nil
		return
	}
	p.timer.Reset(wait)
}

// overdue removes and returns the connections that must be closed at the time now. wait is the time until the next one must be
// closed, or 0 if none is left.
func (p *pool) overdue(now time.Time) (wait time.Duration, old []*conn) {
	for el := p.order.Front(); el != nil; el = el.Next() {
		c := el.Value.(*conn)
		if left := c.idleFrom.Add(p.keep).Sub(now); left > 0 {
			return left, old
		}
		old = append(old, c)
	}
	return 0, old
}

// closeHost closes the idle connections to host:port.
func (p *pool) closeHost(host string) {
	p.mu.Lock()
	out := slices.Clone(p.idle[host])
	for _, c := range out {
		p.remove(c)
	}
	p.mu.Unlock()
	for _, c := range out {
		c.drop()
	}
}

// close closes all idle connections, and every connection that is put back afterwards.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.closeAll()
}

// closeAll closes all idle connections.
func (p *pool) closeAll() {
	p.mu.Lock()
	var out []*conn
	for el := p.order.Front(); el != nil; el = p.order.Front() {
		c := el.Value.(*conn)
		p.remove(c)
		out = append(out, c)
	}
	p.mu.Unlock()
	for _, c := range out {
		c.drop()
	}
}
