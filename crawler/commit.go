package crawler

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
)

// Amounts at which a commit is made before Commits.Interval has passed. It is also made earlier if the crawl waits for it.
const (
	commitVisits = 1000
	commitLinks  = 30_000
	commitBytes  = 4 << 20 // bytes of the texts of links: some 30,000 links of typical length
)

// committer makes visits durable in a crawl with a durable frontier: it writes the records of visits to the sinks and the ends of their
// claims to the frontier, in the same order, many at a time. If the process is killed at any instant, the sinks can be cut back to the
// state that the frontier has recorded, and both resume from there.
//
// As soon as a request has ended, another URL of its host may be claimed, even if the visit is not durable yet.
type committer struct {
	store      frontier.Durable
	out        *output
	checkpoint *checkpoint
	how        Commits
	ordered    bool              // the links of a visit may change which URL of its host comes next
	fail       func(error)       // ends the crawl
	done       func(host string) // called when a visit of a host is durable
	committed  func(last bool)   // called after each commit; may be nil
	trace      *Trace

	mu     *sync.Mutex // the output's lock: records and ends must have the same order
	ends   []frontier.End
	links  int
	bytes  int               // bytes of the links' texts
	pages  int64             // bytes of the visits' pages
	values map[string][]byte // values of renderings, which are committed like visits
	failed bool              // no commit may follow: it could commit a record that must not be durable
	room   *sync.Cond        // wakes callers of end that wait until the commit has room

	kick  chan struct{} // asks the committing goroutine to look for visits; buffers one signal
	quit  chan struct{}
	ended sync.WaitGroup

	unsaved  map[string][]byte // gate state from failed commits, to be stored by the next one
	snapshot snapshots
	parts    bool // the gate's state is stored in parts, not as a single snapshot as in earlier versions
}

func newCommitter(store frontier.Durable, out *output, fail func(error)) *committer {
	m := &committer{store: store, out: out, fail: fail, mu: &out.mu, kick: make(chan struct{}, 1), quit: make(chan struct{})}
	m.room = sync.NewCond(m.mu)
	return m
}

// start starts the goroutine that commits. close ends it.
func (m *committer) start(ctx context.Context) {
	crawl := ctx
	ctx = context.WithoutCancel(ctx)
	syncing, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(crawl, func() { time.AfterFunc(syncPatience, cancel) })
	m.snapshot.requests = m.checkpoint.tally.requests()
	if !m.checkpoint.resumed { // a new crawl stores a gate snapshot with its first commit: a resumed one then replays no ledger line twice
		m.snapshot.taken(m.snapshot.requests)
	}
	m.ended.Go(func() {
		defer cancel()
		defer stop()
		for m.await() {
			m.commit(ctx, syncing, false)
		}
		m.commit(ctx, syncing, true)
		m.giveBack(ctx)
	})
}

// syncPatience limits how long the sinks' Sync may take after the crawl was canceled. Then Run returns even if a sink waits for a
// network.
const syncPatience = time.Minute

func (m *committer) close() {
	close(m.quit)
	m.ended.Wait()
}

// await waits until a commit is due. It returns false if only the last commit remains. It sleeps until there is something to commit, and
// then until Commits.Interval has passed: a crawl that watches a site may have nothing to commit for hours.
func (m *committer) await() bool {
	began := time.Now()
	var turn <-chan time.Time
	for {
		select {
		case <-m.kick:
		case <-turn:
		case <-m.quit:
			return false
		}
		left := m.how.Interval - time.Since(began)
		if m.due(left <= 0) {
			return true
		}
		if turn == nil && left > 0 && m.due(true) {
			timer := time.NewTimer(left)
			defer timer.Stop()
			turn = timer.C
		}
	}
}

// due reports whether a commit is due: enough has accumulated, Commits.Interval has passed (waited), or no visit can end before the
// commit.
func (m *committer) due(waited bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ends) == 0 && len(m.values) > 0 && waited {
		return true
	}
	if len(m.ends) == 0 {
		// A robots.txt request ends no visit, yet another owner needs its rules at once (Commits.Gate). Otherwise commit only every
		// snapshotRequests requests: a restarted process would request those robots.txt files again, and there may be a million before
		// the first visit.
		n := m.checkpoint.tally.requests() - m.snapshot.requests
		return waited && (m.how.Gate && n > 0 || n >= snapshotRequests)
	}
	if waited || m.full() {
		return true
	}
	n := m.store.Stats()
	return n.Queued == 0 && n.Claimed <= len(m.ends)
}

// keep adds values to the next commit. If x is not nil, it is an exchange that is not a visit, and keep writes it to the sinks.
func (m *committer) keep(ctx context.Context, values map[string][]byte, x *sink.Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x != nil {
		m.out.appendExchange(ctx, x)
	}
	m.add(values)
	m.wake()
}

// end queues a visit's record, the end of its claim and its values for the next commit. It blocks while too much is pending. If the claim
// was lost, end drops all of them.
func (m *committer) end(ctx context.Context, e frontier.End, rec *sink.Record, values map[string][]byte, count func()) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.free(ctx, &e); err != nil {
		return err
	}
	if err := m.ahead(ctx, &e.Settlement.Links); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.full() && !m.failed {
		m.room.Wait()
	}
	m.ends = append(m.ends, e)
	m.add(values)
	m.links += len(e.Settlement.Links)
	for i := range e.Settlement.Links {
		m.bytes += linkBytes(&e.Settlement.Links[i])
	}
	if m.failed {
		return nil // the failed crawl is about to end, and its URLs return to the queue
	}
	if err := m.out.append(ctx, rec); err != nil {
		m.refuse()
		return err
	}
	if rec != nil { // a visit may have no record
		m.pages += int64(rec.Bytes)
	}
	count()
	m.wake()
	return nil
}

// free lets another URL of the host be claimed, because the request has ended. If the links of the visit may change which URL comes next,
// the host waits until the links are queued.
func (m *committer) free(ctx context.Context, e *frontier.End) error {
	if m.ordered {
		return m.store.Hold(ctx, e.Claim)
	}
	return m.store.Release(ctx, e.Claim, e.Settlement.ReadyAt)
}

// add adds values to the next commit. The caller holds the lock.
func (m *committer) add(values map[string][]byte) {
	if len(values) > 0 && m.values == nil {
		m.values = map[string][]byte{}
	}
	maps.Copy(m.values, values)
}

// wake makes the committing goroutine check whether a commit is due.
func (m *committer) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// full reports whether enough has accumulated for a commit. The caller holds the lock.
func (m *committer) full() bool {
	return len(m.ends) >= commitVisits || m.links >= commitLinks || m.bytes >= commitBytes || m.how.Bytes > 0 && m.pages >= m.how.Bytes
}

// linkBytes estimates the memory of a link's texts.
func linkBytes(l *frontier.Request) int {
	return len(l.URL.String()) + len(l.Via.String()) + len(l.Meta)
}

// ahead queues the links of a page that exceed the size of one commit, and leaves the remaining links in links, so that no commit is
// larger. If the process is killed before the visit is durable, the page is requested again, and the frontier already knows these links.
func (m *committer) ahead(ctx context.Context, links *[]frontier.Request) error {
	bytes := 0
	for i := range *links {
		if bytes += linkBytes(&(*links)[i]); bytes < commitBytes || i+1 == len(*links) {
			continue
		}
		if _, err := m.store.Add(ctx, (*links)[:i+1]...); err != nil {
			return err
		}
		clear((*links)[:i+1])
		*links = (*links)[i+1:]
		return m.ahead(ctx, links)
	}
	return nil
}

// commit makes everything durable that has accumulated. The last commit also stores the gate's state. Sinks are synced with the context
// syncing, which may end earlier than ctx.
func (m *committer) commit(ctx, syncing context.Context, last bool) {
	began := time.Now()
	ends, c, err := m.take(syncing, last)
	if err == nil && c == nil {
		return // an earlier commit or record failed, so nothing may be committed
	}
	if err == nil {
		err = m.store.Commit(ctx, ends, *c)
	}
	m.report(began, ends, c, err)
	if err != nil {
		m.giveUp(ends, err)
		return
	}
	m.unsaved = nil
	for i := range ends {
		m.done(ends[i].Claim.URL.Host())
	}
	if m.committed != nil {
		m.committed(last)
	}
}

// report calls Trace.Committed.
func (m *committer) report(began time.Time, ends []frontier.End, c *frontier.Checkpoint, err error) {
	if m.trace == nil || m.trace.Committed == nil {
		return
	}
	t := Commit{Visits: len(ends), Took: time.Since(began), Err: err}
	for i := range ends {
		t.Links += len(ends[i].Settlement.Links)
	}
	if c != nil {
		for name, value := range c.Values {
			t.Bytes += int64(len(name) + len(value))
		}
	}
	m.trace.Committed(t)
}

func (m *committer) giveUp(ends []frontier.End, err error) {
	m.mu.Lock()
	m.ends = append(m.ends, ends...)
	m.refuse()
	m.mu.Unlock()
	m.fail(err)
}

// refuse prevents further commits and wakes all callers that wait to add an end. The caller holds the lock.
func (m *committer) refuse() {
	m.failed = true
	m.room.Broadcast()
}

// giveBack puts the URLs whose visits could not be made durable back into the queue, as a restart of the process would. If the store
// itself has failed, the URLs are queued when it is opened again. With Commits.Gate, the gate's new state is stored, too, because the
// next owner continues without this crawl's ledger.
func (m *committer) giveBack(ctx context.Context) {
	var c frontier.Checkpoint
	if m.how.Gate && len(m.unsaved) > 0 {
		c.Values = m.gate(true)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.ends {
		s := &m.ends[i].Settlement
		*s = frontier.Settlement{ReadyAt: s.ReadyAt, Again: &frontier.Again{}}
	}
	if len(m.ends) > 0 || len(c.Values) > 0 {
		_ = m.store.Commit(ctx, m.ends, c)
	}
}

// gate returns the gate state that the next commit must store, or nil if it need not store any. The first call returns the whole state,
// later calls the changes.
func (m *committer) gate(last bool) map[string][]byte {
	requests := m.checkpoint.tally.requests()
	if !last && !m.how.Gate && !m.snapshot.due(requests) {
		return nil
	}
	m.snapshot.taken(requests)
	if m.unsaved == nil {
		m.unsaved = map[string][]byte{}
	}
	for name, value := range m.checkpoint.gate.Changes() {
		m.unsaved[keyGateParts+name] = value
	}
	if !m.parts {
		m.parts, m.unsaved[keyGate] = true, nil
	}
	return m.unsaved
}

// take syncs the sinks and returns the ends of the visits in them, for a commit. The checkpoint is nil if an earlier commit or record has
// failed.
func (m *committer) take(ctx context.Context, last bool) (ends []frontier.End, c *frontier.Checkpoint, err error) {
	gate := m.gate(last)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed {
		return nil, nil, nil
	}
	c = &frontier.Checkpoint{}
	if c.Offsets, err = m.out.sync(ctx); err != nil {
		return nil, nil, err
	}
	if c.Values, err = m.checkpoint.values(); err != nil {
		return nil, nil, err
	}
	maps.Copy(c.Values, gate)
	maps.Copy(c.Values, m.values)
	ends, m.ends, m.values, m.links, m.bytes, m.pages = m.ends, nil, nil, 0, 0, 0
	m.room.Broadcast()
	return ends, c, nil
}
