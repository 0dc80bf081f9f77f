package cluster

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// Config configures a [Node].
type Config struct {
	Engine Engine
	Name   string // name of the node, unique among live nodes
	// Dir has a directory for each shard: with a copy of the shard's queue (frontier), and with a directory for each epoch in which this node
	// owned the shard, Dir/<shard>/<epoch>, for files such as visits.jsonl. [Committed] returns how much of them counts.
	Dir string
	// Process is the ID of this process, unique in the job. "": a random one.
	Process string
	// Gone is the ID of the previous process that worked in Dir under this name, if it is proven to have ended, for example by a lock of Dir:
	// then its shards are taken over at once. "": its end is not proven, and its leases must expire first.
	Gone string
	// Crawl crawls a shard until its frontier is drained or ctx ends. When ctx ends, the shard is lost, and nothing more may be sent. Crawl is
	// called once for each ownership, in a separate goroutine. It must make a new crawler with these fields of its Config, where s is the
	// shard and j its job:
	//
	//	Frontier             s.Frontier()
	//	Sinks                s.Sink of a new sink that writes in s.Dir
	//	KeepRobots           files in s.Dir/robots; Politeness.Ledger: s.Dir/ledger.jsonl
	//	Politeness.Fence     s.Fence
	//	Politeness.Shared    s.Sharing()
	//	Commits              Interval from 250 ms to 1 s, Gate true
	//	Limits               Pages None; no Bytes, Errors and Time: j.Limits applies to all shards together
	//	Politeness.Rate      0: j.Rate applies to all shards together
	//
	// If s.Epoch is greater than 1, Crawl must call Gate().TakeOver(2*j.MaxSkew) before Run. It must pass the counts of the crawl to s.Count,
	// and all seeds of the job to Run: each shard queues only its own.
	Crawl func(ctx context.Context, s *Shard) error
	// Store configures the queues of the shards. CacheSize, MemTableSize, PrefetchSize and KnownURLs are totals of the node; each shard gets a
	// part of them, but at least 4 MiB, 1 MiB, 1 MiB and 8,192. The Node sets Journal.
	Store disk.Config
	// Concurrency limits the requests in flight, of all shards together. 0: no limit.
	Concurrency int
	// MaxShards limits the shards that the node owns. 0: its share of all shards.
	MaxShards int
	// Renew is the time after which the node gives an owned shard back, so that the files written for it are complete; it gives back one shard
	// at a time. The next owner, this node or another one, begins a new epoch. 0: never.
	Renew time.Duration
	// SnapshotSize is the growth of a shard's journal, in bytes, after which a snapshot of its queue is stored and the journal
	// is trimmed. 0: DefaultSnapshotSize.
	SnapshotSize int64
	// Poll is the interval at which the inboxes are checked. 0: one second.
	Poll time.Duration
	// Trace is called with events of the shards. It may be nil.
	Trace func(e Event)
}

// Event is an event of a shard of this node.
type Event struct {
	Shard int
	Epoch uint64
	What  string // one of the constants below
	Err   error  // reason of an unplanned event
}

// What happened to a shard, for Event.What.
const (
	Taken     = "taken"      // this node became the owner
	GivenBack = "given back" // another node may take it over at once
	Lost      = "lost"       // the lease ended, or an error occurred
	Aside     = "put aside"  // an unreadable message of the inbox was moved to the dead letters; Err is the reason
	Skewed    = "skewed"     // this machine's clock is wrong: the node gives back all shards. Shard is -1
	Waits     = "waits"      // the node takes no shards yet, because nodes of version 0.2.0 or before may own some. Shard is -1
)

// ErrSkew means that the clock of a node is off by more than Job.MaxSkew.
var ErrSkew = errors.New("cluster: this machine's clock is off by more than the job allows")

// ErrName is returned by [Node.Run] if another live node has this name.
var ErrName = errors.New("cluster: another node has this name: give each its own")

// ErrGrown is returned by [Node.Run] if the shards of the job were doubled while the node ran: start a new node.
var ErrGrown = errors.New("cluster: the job has more shards than before: start the node again")

// Node is a worker: it owns some of the shards of a job.
type Node struct {
	Config
	dir     string
	job     Job
	engine  Engine
	store   disk.Config
	key     func(weburl.URL) weburl.Key
	sent    *sentLinks
	batches batches
	clocks  *Clocks
	flight  chan struct{}   // semaphore for requests in flight; nil: no limit
	id      string          // ID of this process
	alive   context.Context // ends with the process

	finisher finisher // used only by the method look
	watcher  watcher  // used only by the method look
	skewed   bool     // used only by the method look
	told     bool     // used only by the method look: the event Waits was traced
	upgraded bool     // used only by the method look: no node of version 0.2.0 or before can own a shard
	outgrown bool     // used only by the method look: the shards were doubled since this node loaded the job

	shards  sync.WaitGroup
	mu      sync.Mutex
	owned   map[int]*held
	seen    map[int]sighting  // last known record of each shard's journal
	had     map[int]bool      // shards that this process has owned
	failed  map[int]time.Time // time of the last failure to crawl a shard, by shard
	peers   map[string]peer
	other   sign      // last sign of another process with this node's name
	gave    time.Time // time at which a shard was last given back
	leaves  bool      // the node gives all shards back, and takes no more
	offset  Offset
	orders  []Order            // known orders of the operator
	obeyed  int                // number of orders that the crawls of all shards apply
	now     Job                // the job, with the changes by its orders
	claims  context.Context    // ends when the job is paused
	recall  context.CancelFunc // cancels claims
	resumed chan struct{}      // closed when the pause ends; nil: the job is not paused
	share   int                // number of shards that this node should own
	left    int64              // pages of Limits.Pages that are not granted yet
	allowed int64              // Limits.Pages according to the register of pages; 0: unlimited, or not read yet
	// starving are the shards that wait for pages.
	starving []int
}

// held is a shard that this node owns, or takes over at present.
type held struct {
	shard   *Shard // nil until it is open
	drained bool
	since   time.Time // time of the call of drain
	taken   time.Time
	cancel  context.CancelCauseFunc
}

// sighting is the sequence of the last record of a journal, with the time since which this node has known it to be the last.
type sighting struct {
	seq   uint64
	since time.Time
}

// NewNode returns a node for the job of the engine. The error wraps ErrValue, is ErrNoJob, or is the engine's.
func NewNode(ctx context.Context, c Config) (*Node, error) {
	if c.Engine == nil || c.Name == "" || c.Dir == "" || c.Crawl == nil {
		return nil, fmt.Errorf("%w: a node needs Engine, Name, Dir and Crawl", ErrValue)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if c.Poll <= 0 {
		c.Poll = time.Second
	}
	n := &Node{
		Config: c, dir: dir, engine: c.Engine, store: c.Store, key: c.Store.Key, sent: newSentLinks(sentSets),
		owned: map[int]*held{}, had: map[int]bool{}, seen: map[int]sighting{}, failed: map[int]time.Time{}, peers: map[string]peer{},
	}
	n.batches = batches{engine: c.Engine, window: n.window, open: map[int]*batch{}}
	if c.Concurrency > 0 {
		n.flight = make(chan struct{}, c.Concurrency)
	}
	id := newNonce()
	n.id = cmp.Or(c.Process, hex.EncodeToString(id[:6]))
	if n.key == nil {
		n.key = weburl.URL.Key
	}
	if n.job, err = LoadJob(ctx, c.Engine); err != nil {
		return nil, err
	}
	n.now, n.upgraded = n.job, n.job.Form >= jobForm
	return n, os.MkdirAll(dir, 0o755)
}

// window returns the time for which links to a shard are collected before they are sent: 8 ms for each shard of the job, at most 500 ms.
// That is half of the time between two commits of a shard, so that a message has links from many shards of the node.
func (n *Node) window() time.Duration {
	return min(time.Duration(n.job.Shards)*8*time.Millisecond, 500*time.Millisecond)
}

// Job returns the job, as far as the node knows it.
func (n *Node) Job() Job { return n.job }

// Run takes shards and has them crawled until the job is over or ctx ends. The end of the job is not an error. When ctx ends, Run gives all
// shards back, which takes up to half a minute. The error is ErrName or ErrGrown.
func (n *Node) Run(ctx context.Context) error {
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	return n.run(ctx, alive)
}

func (n *Node) run(ctx, alive context.Context) error {
	n.arise(alive)
	defer n.clocks.Close() //nolint:contextcheck // what is given back outlives ctx
	err := n.look(ctx)
	for err == nil {
		wait(ctx, n.job.TTL/12)
		if ctx.Err() != nil {
			break
		}
		err = n.look(ctx)
	}
	if err == nil {
		n.leave(alive, false)
	}
	n.giveAllBack()
	n.shards.Wait()
	if err == nil {
		n.leave(alive, true)
	}
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// arise initializes the state that ends with the context alive.
func (n *Node) arise(alive context.Context) {
	n.claims, n.recall = context.WithCancel(alive)
	n.alive, n.clocks = alive, NewClocks(alive, n.engine.Clocks(), hex.EncodeToString(n.job.Key[:8]), n.job.TTL)
	n.clocks.id, n.clocks.gone = n.id, n.Gone
}

// errOver means that the job is over.
var errOver = errors.New("cluster: the job is over")

// look performs the node's tasks that are due. An engine that does not answer is not an error: the leases end in time.
func (n *Node) look(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, n.job.TTL/6)
	defer cancel()
	mine, err := n.live(short)
	if errors.Is(err, ErrName) {
		return err
	}
	if end, _, err := n.engine.Load(short, registerEnd); err == nil && len(end) > 0 {
		return errOver
	}
	if err != nil || !n.punctual(short) {
		return nil //nolint:nilerr // tried again
	}
	n.readOrders(short, false)
	if n.outgrown {
		return ErrGrown
	}
	n.readPages(short)
	n.mu.Lock()
	n.share = mine
	n.mu.Unlock()
	if n.upgrade(short) {
		n.takeSome(short, mine)
	}
	n.giveOneBack(mine)
	last, cancel := context.WithTimeout(ctx, n.job.TTL/6) // a new time limit: the steps above may have used up the other
	defer cancel()
	n.limit(last)
	n.finish(last)
	return nil
}

// punctual reports whether this machine's clock is known to be close enough to the engine's. While it is not, the node owns no shards.
func (n *Node) punctual(ctx context.Context) bool {
	n.mu.Lock()
	was := n.offset
	n.mu.Unlock()
	if was.At.IsZero() || n.skewed || time.Since(was.At) >= skewEvery {
		now, err := measure(ctx, n.engine)
		if err == nil {
			n.mu.Lock()
			n.offset, was = now, now
			n.mu.Unlock()
		}
	}
	skewed := was.exceeds(n.job.MaxSkew)
	if skewed && !n.skewed {
		err := fmt.Errorf("%w: it is %v: set it right, and the node takes shards again", ErrSkew, was)
		n.giveAllBack()
		if n.Trace != nil {
			n.Trace(Event{Shard: -1, What: Skewed, Err: err})
		}
	}
	n.skewed = skewed
	return !skewed && !was.At.IsZero()
}

// takeSome takes over free shards until this node has its share. Before that, it must know all orders that former owners may have applied.
func (n *Node) takeSome(ctx context.Context, share int) {
	knows := false
	for i := range n.job.Shards {
		shard := (i + n.first()) % n.job.Shards
		if n.owns(shard) {
			continue
		}
		last, err := n.engine.Last(ctx, shard)
		if err != nil {
			return
		}
		if !n.free(shard, last) || n.count() >= share {
			continue
		}
		if knows = knows || n.knowsOrders(); !knows { //nolint:contextcheck // ctx may have ended: a takeover takes its time, too
			return
		}
		o, err := takeOver(n.alive, n.engine, shard, n.Name, n.job.TTL, last) //nolint:contextcheck // it lives as long as the node
		if err != nil {
			continue // another node was first
		}
		n.begin(o) //nolint:contextcheck // it lives as long as the node
	}
}

// knowsOrders reports whether this node knows and applies all orders given so far.
func (n *Node) knowsOrders() bool {
	short, cancel := context.WithTimeout(n.alive, n.job.TTL/6)
	defer cancel()
	return n.readOrders(short, true)
}

// leftBehind reports whether a record was written by the previous process in this directory, which is proven to have ended: the record
// names this node, and the directory has a subdirectory for its epoch.
func (n *Node) leftBehind(shard int, r record) bool {
	n.mu.Lock()
	had := n.had[shard]
	n.mu.Unlock()
	if n.Gone == "" || had || r.node != n.Name {
		return false
	}
	info, err := os.Stat(filepath.Join(n.dir, strconv.Itoa(shard), strconv.FormatUint(r.epoch, 10)))
	return err == nil && info.IsDir()
}

// first returns the number of the shard that this node tries first: so nodes that start together try different shards.
func (n *Node) first() int { return n.job.Shard(n.Name) }

// free reports whether a shard seems to have no owner. The result may be wrong, because only an append to the journal decides.
func (n *Node) free(shard int, last Entry) bool {
	if last.Seq == 0 {
		return true
	}
	r, err := decodeRecord(last.Data)
	if err != nil {
		return false
	}
	n.mu.Lock()
	at, failed := n.failed[shard]
	n.mu.Unlock()
	if failed && time.Since(at) < 4*n.job.TTL {
		return false // another node may succeed
	}
	if n.leftBehind(shard, r) {
		return true
	}
	unchanged := n.unchangedFor(shard, last.Seq)
	return r.kind == kindClose || unchanged >= n.job.TTL
}

// unchangedFor returns for how long this node has known a record, given by its sequence, to be the last one of a shard's journal. An older
// record, from a server that lags, does not change that.
func (n *Node) unchangedFor(shard int, seq uint64) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.seen[shard]
	if !known || seq > was.seq {
		was = sighting{seq, time.Now()}
		n.seen[shard] = was
	}
	return time.Since(was.since)
}

func (n *Node) owns(shard int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owned[shard] != nil
}

func (n *Node) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.owned)
}

// begin starts the crawl of a shard that was taken over.
func (n *Node) begin(o *owner) {
	ctx, cancel := context.WithCancelCause(n.alive)
	h := &held{cancel: cancel, taken: time.Now()}
	n.mu.Lock()
	n.owned[o.shard], n.had[o.shard] = h, true
	n.mu.Unlock()
	n.trace(o, Taken, nil)
	n.shards.Go(func() {
		defer cancel(nil)
		err := n.work(ctx, o, h)
		what := GivenBack
		if err != nil {
			what = Lost
		}
		n.mu.Lock()
		delete(n.owned, o.shard)
		delete(n.seen, o.shard)
		if err != nil {
			n.failed[o.shard] = time.Now()
		}
		n.mu.Unlock()
		n.trace(o, what, err)
	})
}

func (n *Node) trace(o *owner, what string, err error) {
	if n.Trace != nil {
		n.Trace(Event{o.shard, o.epoch, what, err})
	}
}

// work crawls a shard and gives it back. The error is the reason why the node lost the shard.
func (n *Node) work(ctx context.Context, o *owner, h *held) error { //nolint:contextcheck // what keeps the lease outlives the crawl
	var tasks sync.WaitGroup
	stop, stopped := context.WithCancel(n.alive)
	tasks.Go(func() { n.keep(stop, o, h) })
	err := n.crawl(ctx, stop, o, h)
	if o.lease.check() == nil { // as long as the lease holds, the journal is intact, whatever ended the crawl
		err = errors.Join(err, o.close())
	}
	o.lease.giveUp()
	stopped()
	tasks.Wait()
	return err
}

// crawl opens a shard, calls Config.Crawl, and closes the shard.
func (n *Node) crawl(ctx, stop context.Context, o *owner, h *held) error {
	s, err := n.openShard(o)
	if err != nil {
		return err
	}
	n.mu.Lock()
	h.shard = s
	drained := h.drained
	n.mu.Unlock()
	if drained {
		s.drain()
	}
	silent, err := n.engine.Answer(s.Number, s.serve)
	if err != nil {
		return errors.Join(err, s.store.Close())
	}
	unwatched, err := n.engine.Watch(s.Number, func() { s.arrived.Add(1) })
	if err != nil {
		silent()
		return errors.Join(err, s.store.Close())
	}
	reading, read := context.WithCancel(stop)
	var inbox sync.WaitGroup
	inbox.Go(func() { n.read(reading, s, h) })
	err = n.Crawl(ctx, s)
	read()
	inbox.Wait()
	s.drain()
	unwatched()
	silent()
	s.tasks.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, errGivenBack) {
		err = nil
	}
	return errors.Join(err, s.store.Close())
}

// keep appends signs of life, which renew the lease, while no other record does, and ends the crawl when the lease ends.
func (n *Node) keep(ctx context.Context, o *owner, h *held) {
	for ctx.Err() == nil {
		if o.quiet() >= n.job.TTL/6 {
			_ = n.beat(o, h) // an error ends the lease
		}
		if err := o.lease.check(); err != nil {
			h.cancel(err)
			return
		}
		wait(ctx, min(n.job.TTL/12, o.lease.left(time.Now())))
	}
}

// beat appends a record with the state of the shard.
func (n *Node) beat(o *owner, h *held) error {
	n.mu.Lock()
	s := h.shard
	n.mu.Unlock()
	mark, idle, probe := o.marked(), false, uint64(0)
	if s != nil {
		idle, probe = s.idle()
	}
	return o.beat(idle, probe, mark)
}

// read reads the inbox periodically, stores snapshots, and updates the page budget.
func (n *Node) read(ctx context.Context, s *Shard, h *held) {
	for ; ctx.Err() == nil; wait(ctx, n.Poll) {
		probed, _ := s.receive(ctx) // the next call tries again
		if probed {
			_ = n.beat(s.owner, h)
		}
		s.dropRead(ctx)
		if s.snapshotDue() && s.snapping.CompareAndSwap(false, true) {
			s.tasks.Go(func() {
				defer s.snapping.Store(false)
				_ = s.snapshot(ctx) // the next call tries again
			})
		}
		n.tidyPages(ctx, s)
	}
}

// giveBackTime is the time that requests in flight have to end when a shard is given back.
const giveBackTime = 30 * time.Second

// giveOneBack drains a shard if this node has more than its share or has owned that shard for long, but at most one every ten seconds. An
// idle shard stays unless it was owned for long: while it moves, it cannot report that it is idle, which would delay the end of the job.
func (n *Node) giveOneBack(share int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := len(n.owned)
	for _, h := range n.owned {
		if h.drained {
			left--
			if time.Since(h.since) > giveBackTime {
				h.cancel(errGivenBack)
			}
		}
	}
	if time.Since(n.gave) < 10*time.Second {
		return
	}
	for _, h := range n.owned {
		if h.drained || !(left > share && !h.idle() || n.Renew > 0 && time.Since(h.taken) >= n.Renew) {
			continue
		}
		n.drain(h)
		n.gave = time.Now()
		return
	}
}

// idle reports whether a shard is open and has nothing to do. The caller holds the lock.
func (h *held) idle() bool {
	if h.shard == nil {
		return false
	}
	idle, _ := h.shard.idle()
	return idle
}

// errGivenBack ends a crawl whose requests take too long after the shard was drained.
var errGivenBack = errors.New("cluster: the shard is given back")

// drain makes the crawl of a shard end. The caller holds the lock.
func (n *Node) drain(h *held) {
	h.drained, h.since = true, time.Now()
	if h.shard != nil {
		h.shard.drain()
	}
}

// giveAllBack drains all shards, and aborts crawls that take too long.
func (n *Node) giveAllBack() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.owned {
		n.drain(h)
		t := time.AfterFunc(giveBackTime, func() { h.cancel(errGivenBack) })
		context.AfterFunc(n.alive, func() { t.Stop() })
	}
}
