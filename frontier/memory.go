package frontier

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier/internal/pq"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// DefaultMaxPendingPerHost is the default limit of the pending URLs of one host. It keeps a trap on one host from filling the store.
const DefaultMaxPendingPerHost = 1_000_000

// DefaultMaxBytes is the default limit of the memory of queued URLs.
const DefaultMaxBytes = 256 << 20

// maxRejected limits the number of rejected URLs that are remembered; further ones are only counted. It limits the memory that a host at
// its quota takes.
const maxRejected = 1 << 20

// MemoryConfig configures a [Memory]. The zero value is ready for use.
type MemoryConfig struct {
	// ClaimTimeout is the duration of a claim. 0: claims never expire.
	ClaimTimeout time.Duration
	// HostSlots returns the maximum number of claims of a host (weburl.URL.Host) at a time. nil, or a number below 1: one. It is called
	// when the store begins to keep a host and must not call the Memory.
	HostSlots func(host string) int
	// MaxPending limits the URLs that are queued, waiting or claimed at once. 0: only memory limits them.
	MaxPending int
	// MaxPendingPerHost is the limit for the URLs of one host. 0: DefaultMaxPendingPerHost.
	MaxPendingPerHost int
	// MaxBytes limits the memory of URLs that are queued, waiting or claimed, with the other fields of their Requests. It does not
	// include the memory of the set of known URLs and hosts. 0: DefaultMaxBytes.
	MaxBytes int64
	// BestFirst makes the store serve, among the hosts that are due, the host whose first URL is best (F22).
	BestFirst bool
	// Patience is the maximum time for which BestFirst waits for a better URL. 0: it takes the best URL of the hosts that are due.
	Patience time.Duration
	// Key returns the identity of a URL. It is called again when a URL is claimed. nil: weburl.URL.Key.
	Key func(weburl.URL) weburl.Key
}

// Memory is a Frontier in memory, for bounded crawls of up to a few million URLs. A known URL takes 12 to 15 bytes. A queued URL takes 30
// to 50 more if the paths of its host are similar, and otherwise up to 30 plus the length of its path. A host without queued URLs takes
// about 250 bytes until its ready time has come, and none afterwards. Nothing survives the process.
//
// A URL that exceeds a limit of URLs or bytes is rejected: it is counted, and it is queued if it is added again when there is room.
type Memory struct {
	c    MemoryConfig
	seed maphash.Seed // secret, so that nobody can construct URLs whose hashes collide

	mu       sync.Mutex
	clock    sched.Clock
	hosts    *sched.Schedule[string, queue]
	line     sched.Line
	leases   *sched.Leases[held]
	waiting  pq.Heap[waiter]
	seen     seen
	origins  origins
	ranks    ranks
	deltas   deltas
	size     int // bytes of queued, claimed and waiting items
	done     int
	rejected int
	closed   bool
}

type host = sched.Host[string, queue]

// held is a claimed item and its host.
type held struct {
	item
	host *host
}

// waiter is an item that waits until a given time.
type waiter struct {
	held
	until int64
}

func (a waiter) Before(b waiter) bool {
	return a.until < b.until || a.until == b.until && a.turn < b.turn
}

var (
	_ Frontier = (*Memory)(nil)
)

// NewMemory makes an empty Memory.
func NewMemory(c MemoryConfig) *Memory {
	if c.HostSlots == nil {
		c.HostSlots = func(string) int { return 1 }
	}
	if c.MaxPending <= 0 {
		c.MaxPending = math.MaxInt
	}
	if c.MaxPendingPerHost <= 0 {
		c.MaxPendingPerHost = DefaultMaxPendingPerHost
	}
	c.MaxPendingPerHost = min(c.MaxPendingPerHost, math.MaxInt32)
	if c.MaxBytes <= 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.Key == nil {
		c.Key = weburl.URL.Key
	}
	m := &Memory{
		c:      c,
		seed:   maphash.MakeSeed(),
		clock:  sched.NewClock(),
		hosts:  sched.New[string, queue](),
		leases: sched.NewLeases[held](c.ClaimTimeout, 0),
	}
	if c.BestFirst {
		m.hosts = sched.NewBest(m.level, int64(c.Patience))
	}
	return m
}

// level returns the level (priority and score) of the first URL of h.
func (m *Memory) level(h *host) int64 {
	q := &h.Queue
	for q.back.Len() > 0 && m.raised(held{q.back.Top(), h}) {
		m.discard(held{q.back.Pop(), h})
	}
	switch {
	case q.back.Len() > 0 && q.backFirst():
		it := q.back.Top()
		return it.level()
	case len(q.lanes) > 0:
		return levelOf(q.lanes[0].priority, 0)
	}
	return math.MinInt64
}

// Close implements [Frontier].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.closed = true
	m.notify()
	return nil
}

func (m *Memory) begin(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usable(ctx)
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// hash returns the keyed hash of a Key. It is never 0, which marks an empty place in the table seen.
func (m *Memory) hash(k weburl.Key) uint64 {
	return max(1, maphash.Bytes(m.seed, k[:]))
}

// advance processes all events that are due: claims expire, URLs become claimable at their NotBefore, hosts that are ready and have no
// URLs are forgotten. Each event takes effect at the time at which it was due.
func (m *Memory) advance(now int64) {
	for {
		wait, lost := m.nextWaiting(), m.leases.Next()
		switch {
		case min(wait, lost) > now:
			m.forget(now)
			return
		case wait <= lost:
			w := m.waiting.Pop()
			m.requeue(w.held)
			m.hosts.Unpark(w.host, 1, w.until)
		default:
			it, _ := m.leases.Expire(now)
			m.requeue(it)
			m.hosts.Release(it.host, sched.Back, sched.Always, lost)
		}
	}
}

// forget removes up to four hosts per call. Each operation adds at most one host to forget, so such hosts cannot accumulate.
func (m *Memory) forget(now int64) {
	for range 4 {
		if m.hosts.Forget(now) == nil {
			return
		}
	}
}

func (m *Memory) requeue(it held) {
	it.host.Queue.back.Push(it.item)
	if it.back {
		m.note(it, stateBack)
	} else {
		m.note(it, stateQueued)
	}
}

func (m *Memory) nextWaiting() int64 {
	if m.waiting.Len() == 0 {
		return sched.Never
	}
	return m.waiting.Top().until
}

// next returns the time at which a blocked Claim should try again.
func (m *Memory) next() int64 {
	if m.closed || m.hosts.Pending() == 0 {
		return m.clock.Now()
	}
	return min(m.hosts.Next(), m.nextWaiting(), m.leases.Next())
}

func (m *Memory) notify() { m.line.Notify(m.next()) }

// Stats implements [Frontier].
func (m *Memory) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(m.clock.Now())
	return Stats{
		Queued:   m.hosts.Queued(),
		Waiting:  m.hosts.Waiting(),
		Claimed:  m.hosts.Held(),
		Done:     m.done,
		Rejected: m.rejected,
		Hosts:    m.hosts.Busy(),
	}
}

// Room implements [Frontier]. More bytes than the result may fit, because similar URLs take less memory than their texts.
func (m *Memory) Room(host string) (urls int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.room(m.hosts.Find(host))
}

// HostPending implements [Frontier].
func (m *Memory) HostPending(host string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.hosts.Find(host); h != nil {
		return h.Pending()
	}
	return 0
}

// Known implements [Frontier], for keys made by MemoryConfig.Key.
func (m *Memory) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range keys {
		hash := m.hash(keys[i])
		mk := m.seen.find(hash)
		known[i] = mk != nil && mk.state() != stateRejected && m.seen.depth(hash, mk) <= depth &&
			(mk.state() != stateQueued || !m.ranks.below(hash, levelOf(priority, 0)))
	}
}
