package cluster

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// Shard is a shard that this node owns, as passed to the function that crawls it.
type Shard struct {
	Number int
	Epoch  uint64 // epoch of this ownership; the first is 1
	Dir    string // a new directory for the files of this ownership

	node     *Node
	owner    *owner
	store    *disk.Store
	outbox   outbox
	pages    *pages       // nil if the job has no Limits.Pages
	snapSize atomic.Int64 // size of the last snapshot
	snapping atomic.Bool
	tasks    sync.WaitGroup // waits for snapshots in progress

	arrived atomic.Int64 // number of messages that the engine has reported since the last read of the inbox

	// Used only by the reader of the inbox.
	looked  time.Time // when the inbox was last read to its end; zero: it must be read again
	dropped uint64    // messages up to this sequence were removed from the engine
	dropAt  time.Time // time of the last removal of messages

	end  context.Context // ends when nothing more may be claimed
	stop context.CancelFunc

	obeying sync.Mutex
	obey    func(Order) // called for each order; nil: the crawl handles none
	obeyed  int         // number of orders passed to obey

	committing chan struct{} // held by the goroutine that commits visits

	mu       sync.Mutex
	started  bool // the crawl has called Claim
	inFlight map[*politeness.Turn]bool
	changed  chan struct{} // closed and replaced when something was queued
	inbox    uint64        // sequence up to which messages were read from the inbox
	probe    uint64        // number of the last probe that was read
	count    func() Counts // set by Count; may be nil
	describe func() []byte // set by Describe; may be nil
}

// openShard opens the store of a shard that this node has taken over.
func (n *Node) openShard(o *owner) (*Shard, error) {
	root := filepath.Join(n.dir, strconv.Itoa(o.shard))
	s := &Shard{
		Number: o.shard, Epoch: o.epoch, Dir: filepath.Join(root, strconv.FormatUint(o.epoch, 10)),
		node: n, owner: o, changed: make(chan struct{}), committing: make(chan struct{}, 1),
		inFlight: map[*politeness.Turn]bool{},
	}
	s.end, s.stop = context.WithCancel(context.Background())
	c := n.storeConfig()
	store := filepath.Join(root, "frontier")
	if err := o.follow(store, c); err != nil {
		return nil, err
	}
	if err := o.shed(store, c, &n.job); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	c.Journal, c.ReopenDelay, c.ClaimTimeout = o, max(c.ReopenDelay, n.job.Delay), 0
	var err error
	if s.store, err = disk.Open(store, c); err != nil {
		return nil, err
	}
	if n.job.Limits.Pages > 0 {
		s.pages = newPages(s)
	}
	s.outbox = outbox{s: s, sent: n.sent, key: n.key}
	s.inbox = uint64(s.store.Offsets(ownerName)[offsetInbox])
	return s, nil
}

// storeConfig returns the configuration of the shard's queue, with the shard's part of the node's memory.
func (n *Node) storeConfig() disk.Config {
	n.mu.Lock()
	parts := max(1, n.share)
	n.mu.Unlock()
	part := func(all, usual, least int) int {
		if all <= 0 {
			all = usual
		}
		return min(all, max(least, all/parts))
	}
	c := n.store
	c.CacheSize = int64(part(int(c.CacheSize), disk.DefaultCacheSize, 4<<20))
	c.MemTableSize = part(c.MemTableSize, disk.DefaultMemTableSize, 1<<20)
	c.PrefetchSize = part(c.PrefetchSize, disk.DefaultPrefetchSize, 1<<20)
	c.KnownURLs = part(c.KnownURLs, disk.DefaultKnownURLs, 1<<13)
	return c
}

// Sink returns a sink that wraps the given one, which must be new and write in Shard.Dir. Its offset is committed under the sink's name and
// the epoch, so that later owners do not truncate files of earlier owners.
func (s *Shard) Sink(to sink.Sink) sink.Sink {
	return &namedSink{to, cmp.Or(to.Name(), "sink") + "@" + strconv.FormatUint(s.Epoch, 10)}
}

// namedSink is a sink with another name.
type namedSink struct {
	sink.Sink
	name string
}

// Name implements sink.Sink.
func (s *namedSink) Name() string { return s.name }

// Job returns the shard's job.
func (s *Shard) Job() Job { return s.node.job }

// Names under which the shard stores its own values in its store.
const (
	ownerName   = "cluster"
	offsetInbox = "inbox"
)

// Fence implements politeness.Config.Fence: it returns [ErrLease] when nothing may be sent for the shard any more.
func (s *Shard) Fence() error { return s.owner.lease.check() }

// Frontier returns the shard's queue. Links to other shards are sent before the commit of their page takes effect. Claim returns
// frontier.ErrDrained when the job is over or the node gives the shard back.
func (s *Shard) Frontier() frontier.Durable { return &queue{s.store, s} }

// queue is the frontier of a shard.
type queue struct {
	*disk.Store
	s *Shard
}

var _ frontier.Durable = (*queue)(nil)

// Add implements frontier.Frontier.
func (q *queue) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	own, others := q.s.outbox.sort(rs)
	if err := q.s.outbox.send(ctx, others); err != nil {
		return 0, err
	}
	return q.Store.Add(ctx, own...)
}

// Revive implements frontier.Durable.
func (q *queue) Revive(ctx context.Context, rs ...frontier.Request) (int, error) {
	own, others := q.s.outbox.sort(rs)
	if err := q.s.outbox.send(ctx, others); err != nil {
		return 0, err
	}
	return q.Store.Revive(ctx, own...)
}

// Settle implements frontier.Frontier.
func (q *queue) Settle(ctx context.Context, c frontier.Claim, t frontier.Settlement) error {
	own, others := q.s.outbox.sort(t.Links)
	if err := q.s.outbox.send(ctx, others); err != nil {
		return err
	}
	t.Links = own
	if err := q.Store.Settle(ctx, c, t); err != nil {
		return err
	}
	if q.s.pages != nil { // the claim is no page: Commit settles those
		q.s.pages.end(1, 0)
	}
	return nil
}

// Commit implements frontier.Durable. Links to other shards, and pauses learned for their hosts, are durable before the commit: if this
// process ends in between, the pages are fetched again, and the links sent again.
func (q *queue) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	defer q.s.owner.under.begin()()
	all, changed := map[int][]frontier.Request{}, false
	mine := make([]frontier.End, len(ends))
	for i, e := range ends {
		own, others := q.s.outbox.sort(e.Settlement.Links)
		for shard, links := range others {
			all[shard] = append(all[shard], links...)
		}
		changed = changed || others != nil
		e.Settlement.Links = own
		mine[i] = e
	}
	if err := q.s.node.clocks.Stored(ctx); err != nil {
		return err
	}
	if err := q.s.outbox.send(ctx, all); err != nil {
		return err
	}
	if !changed {
		mine = ends
	}
	return q.s.commit(ctx, mine, c)
}

// commit commits to the store, with the number of pages.
func (s *Shard) commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	pages := 0
	for i := range ends {
		if ends[i].Settlement.Page {
			pages++
		}
	}
	if len(ends) == 0 {
		return s.store.Commit(ctx, nil, c)
	}
	s.committing <- struct{}{} // no mutex is held while waiting
	defer func() { <-s.committing }()
	if s.pages != nil && pages > 0 {
		_, spent := s.pages.granted()
		c.Offsets = maps.Clone(c.Offsets)
		if c.Offsets == nil {
			c.Offsets = map[string]int64{}
		}
		c.Offsets[offsetPages] = spent + int64(pages)
	}
	if err := s.store.Commit(ctx, ends, c); err != nil {
		return err
	}
	if s.pages != nil {
		s.pages.end(len(ends), pages)
	}
	return nil
}

// Room implements frontier.Frontier. The room of another shard is unknown and reported as unlimited.
func (q *queue) Room(host string) (urls int, bytes int64) {
	if q.s.node.job.Shard(host) != q.s.Number {
		return math.MaxInt, math.MaxInt64
	}
	return q.Store.Room(host)
}

// Claim implements frontier.Frontier. While nothing is queued it waits for links from other shards.
func (q *queue) Claim(ctx context.Context) (frontier.Claim, error) {
	for {
		changed, over := q.s.look()
		if over {
			return frontier.Claim{}, frontier.ErrDrained
		}
		claims, resumed := q.s.node.claiming()
		if resumed != nil {
			select {
			case <-resumed:
			case <-q.s.end.Done():
			case <-ctx.Done():
				return frontier.Claim{}, ctx.Err()
			}
			continue
		}
		if q.s.pages != nil && !q.s.pages.any() {
			if q.s.pages.await(ctx); ctx.Err() != nil {
				return frontier.Claim{}, ctx.Err()
			}
			continue
		}
		c, err := q.claim(ctx, claims)
		if err == nil && q.s.pages != nil && !q.s.pages.begin() { // another claim has taken the last page: put the URL back
			if err := q.Store.Settle(ctx, c, frontier.Settlement{Again: &frontier.Again{}}); err != nil {
				return frontier.Claim{}, err
			}
			continue
		}
		if err == nil {
			return c, q.s.secure(ctx)
		}
		if !errors.Is(err, frontier.ErrDrained) {
			return c, err
		}
		select {
		case <-changed:
		case <-q.s.end.Done():
		case <-claims.Done():
		case <-ctx.Done():
			return frontier.Claim{}, ctx.Err()
		}
	}
}

// secure waits until the lease has at least a third of the TTL left. While nothing can be stored, no request may begin: the next owner
// would not know its response. The error is ErrLease or the context's.
func (s *Shard) secure(ctx context.Context) error {
	ttl := s.node.job.TTL
	for {
		left := s.owner.lease.left(time.Now())
		switch {
		case left >= ttl/3:
			return nil
		case left <= 0:
			return ErrLease
		case ctx.Err() != nil:
			return ctx.Err()
		}
		wait(ctx, min(left, ttl/60))
	}
}

// claim calls the store's Claim. The call also ends, with ErrDrained, when nothing more may be claimed or the context claims ends.
func (q *queue) claim(ctx, claims context.Context) (frontier.Claim, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(claims, cancel)()  //nolint:contextcheck // the first of the three that ends
	defer context.AfterFunc(q.s.end, cancel)() //nolint:contextcheck // the same
	c, err := q.Store.Claim(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		return c, frontier.ErrDrained
	}
	return c, err
}

// look records that the crawl has begun. It returns a channel that is closed when something is queued, and whether the crawl must end.
func (s *Shard) look() (changed <-chan struct{}, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	return s.changed, s.end.Err() != nil
}

func (s *Shard) queued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// drain makes the crawl end: nothing more is claimed.
func (s *Shard) drain() { s.stop() }

// idle reports whether nothing is queued or in progress, and returns the last probe read.
func (s *Shard) idle() (bool, uint64) {
	n := s.store.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started && n.Queued+n.Waiting+n.Claimed == 0, s.probe
}
