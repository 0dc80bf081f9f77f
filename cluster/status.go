package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Status describes the present state of a job, as far as the engine and the owners of the shards report it.
type Status struct {
	Job    Job    // the job, with the limits set by its orders
	End    string // one of the constants below; "": the job is not over
	Nodes  []NodeStatus
	Shards []ShardStatus // one for each shard, in order
	Left   int64         // part of Limits.Pages that is not granted to a shard yet
	Orders []Order       // orders of the operator, by number
	// Unstored is the reason why the engine stores nothing at present, such as lack of disk space; nil if it stores.
	Unstored error
}

// Reasons for the end of a job.
const (
	EndDone    = "done"       // all pages were crawled
	EndStopped = "stopped"    // ended by OrderDrain
	EndPages   = "max_pages"  // ended by Limits.Pages
	EndBytes   = "max_bytes"  // ended by Limits.Bytes
	EndFailed  = "max_errors" // ended by Limits.Failed
	EndTime    = "max_time"   // ended by Limits.Time
)

// NodeStatus holds a node's statements about itself.
type NodeStatus struct {
	Name  string
	Live  bool      // the node gave a sign of life within the TTL, if this machine's clock is right
	At    time.Time // time of the node's last sign of life, by the node's clock
	Clock Offset    // offset of the node's clock from the engine's
	// Orders is the number of the last order that the node applies.
	Orders int
	// Refuses is the reason why the node does not work on the job; "" if it works or worked on it.
	Refuses string
	// Waits is the reason why the node takes no shards at present; "" if it takes its share.
	Waits string
}

// ShardStatus describes the owner and the state of a shard.
type ShardStatus struct {
	Number int
	Node   string    // owner according to the last record; "": the shard never had one
	Epoch  uint64    // epoch according to the last record
	Closed bool      // the owner has given the shard back
	Last   time.Time // when the owner wrote the last record, by the engine's clock
	// DeadLetters is the number of messages in the inbox that no owner could read, counted up to 1,000. Their links are lost.
	DeadLetters int
	// Answered reports whether the owner has answered, so that the fields below are current. Otherwise they are zero.
	Answered bool
	Idle     bool // nothing is queued or in progress
	Queue    frontier.Stats
	Counts   Counts
	Granted  int64 // number of pages that the shard may fetch, including those fetched; 0 without Limits.Pages
	Lag      int64 // growth of the journal since the last snapshot, in bytes, which a new owner would have to read
}

// Counts are the totals of a shard, including the crawls of its earlier owners. A node reports them with [Shard.Count].
type Counts struct {
	Pages    int64
	Requests int64
	Bytes    int64
	Failed   int64
}

// LoadEnd returns why the job is over, "" if it is not. It may be stale.
func LoadEnd(ctx context.Context, e Registers) (string, error) {
	b, _, err := e.Load(ctx, registerEnd)
	return string(b), err
}

// ReadStatus asks the engine and the owners of all shards for the status. Owners that do not answer within a few seconds are no error.
func ReadStatus(ctx context.Context, e Engine) (s Status, err error) {
	if s.Job, err = LoadJob(ctx, e); err != nil {
		return s, err
	}
	if s.End, err = LoadEnd(ctx, e); err != nil {
		return s, err
	}
	if s.Nodes, err = readNodes(ctx, e, &s.Job); err != nil {
		return s, err
	}
	if s.Orders, err = LoadOrders(ctx, e); err != nil {
		return s, err
	}
	s.Job = s.Job.under(s.Orders)
	if s.Job.Limits.Pages > 0 {
		g, _, err := loadGrants(ctx, e, &s.Job)
		if err != nil {
			return s, err
		}
		s.Left = g.Left
	}
	s.Unstored = Probe(ctx, e)
	s.Shards, err = readShards(ctx, e, s.Job.Shards)
	return s, err
}

// registerProbe is the name of the register that Probe stores.
const registerProbe = "probe"

// Probe stores a register that is never read, and returns the reason if the engine does not store it, such as lack of disk space.
func Probe(ctx context.Context, e Registers) error {
	_, rev, err := e.Load(ctx, registerProbe)
	if err == nil {
		_, err = e.Store(ctx, registerProbe, nil, rev)
	}
	if errors.Is(err, ErrConflict) { // another caller has just stored it, so the engine works
		return nil
	}
	return err
}

// collected records up to which orders and commits a job was completely collected.
type collected struct {
	Orders  int      // number of the job's orders when the collection began
	Commits []uint64 // sequence of the last collected commit in each shard's journal
}

// NoteCollected records that a job that is over was completely collected. orders is the number of the job's orders before the collection.
// commits has, for each shard, the sequence in the journal of the last commit that was collected. The record becomes invalid with another
// order, since a resumed job must be collected again, or with another commit, such as one of a node that had not ended yet.
func NoteCollected(ctx context.Context, e Registers, orders int, commits []uint64) error {
	_, rev, err := e.Load(ctx, registerCollected)
	if err != nil {
		return err
	}
	return storeJSON(ctx, e, registerCollected, collected{orders, commits}, rev)
}

// IsCollected reports whether a job was completely collected after its last order and its last commit.
func IsCollected(ctx context.Context, e Engine) (bool, error) {
	b, _, err := e.Load(ctx, registerCollected)
	if err != nil || len(b) == 0 {
		return false, err
	}
	var c collected
	if err := json.Unmarshal(b, &c); err != nil {
		return false, fmt.Errorf("cluster: the register of collecting: %w", err)
	}
	all, err := LoadOrders(ctx, e)
	if err != nil || len(all) != c.Orders {
		return false, err
	}
	for shard, commit := range c.Commits {
		if later, err := commitsAfter(ctx, e, shard, commit); later || err != nil {
			return false, err
		}
	}
	return true, nil
}

// commitsAfter reports whether a journal has a commit after the sequence place.
func commitsAfter(ctx context.Context, e Journals, shard int, place uint64) (bool, error) {
	for x, err := range e.Read(ctx, shard, place) {
		if errors.Is(err, ErrTrimmed) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		r, err := decodeRecord(x.Data)
		if err != nil || r.kind == kindGroup {
			return true, err
		}
	}
	return false, nil
}

func readNodes(ctx context.Context, e Registers, j *Job) (all []NodeStatus, err error) {
	signs, _, err := loadSigns(ctx, e)
	for name, s := range signs {
		at := time.UnixMilli(s.At)
		all = append(all, NodeStatus{Name: name, Live: s.Refuses == "" && time.Since(at) < j.TTL, At: at, Clock: s.Clock, Orders: s.Orders, Refuses: s.Refuses, Waits: s.waits(j)})
	}
	slices.SortFunc(all, func(a, b NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// readers limits the number of shards that are read concurrently.
const readers = 32

// eachShard calls f with the number of each shard, for several concurrently, and returns when all calls have returned.
func eachShard(shards int, f func(shard int)) {
	var calls sync.WaitGroup
	turn := make(chan struct{}, readers)
	for i := range shards {
		turn <- struct{}{}
		calls.Go(func() {
			defer func() { <-turn }()
			f(i)
		})
	}
	calls.Wait()
}

func readShards(ctx context.Context, e Engine, shards int) ([]ShardStatus, error) {
	all, errs := make([]ShardStatus, shards), make([]error, shards)
	eachShard(shards, func(i int) { all[i], errs[i] = readShard(ctx, e, i) })
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("cluster: shard %d: %w", i, err)
		}
	}
	return all, nil
}

func readShard(ctx context.Context, e Engine, shard int) (s ShardStatus, err error) {
	s.Number = shard
	if s.DeadLetters, err = countAside(ctx, e, shard); err != nil {
		return s, err
	}
	last, err := e.Last(ctx, shard)
	if err != nil || last.Seq == 0 {
		return s, err
	}
	r, err := decodeRecord(last.Data)
	if err != nil {
		return s, err
	}
	s.Node, s.Epoch, s.Closed, s.Last = r.node, r.epoch, r.kind == kindClose, last.At
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := e.Ask(short, shard, questionStatus)
	var a ShardStatus
	if err == nil && json.Unmarshal(b, &a) == nil && a.Answered {
		a.DeadLetters = s.DeadLetters
		a.Last, a.Closed = s.Last, s.Closed && a.Epoch <= s.Epoch
		return a, nil
	}
	return s, nil // the shard has no owner at present
}

// maxCounted limits the number of dead letters of a shard that are counted.
const maxCounted = 1000

func countAside(ctx context.Context, e DeadLetters, shard int) (n int, err error) {
	for _, err := range e.Aside(ctx, shard) {
		if n++; err != nil {
			return 0, err
		}
		if n == maxCounted {
			break
		}
	}
	return n, nil
}

// questionStatus asks the owner of a shard for its state: the answer is a ShardStatus in JSON.
var questionStatus = []byte{1, 4, 0, 0, 0}

// questionSheet asks the owner of a shard for the result of the function given to Describe.
var questionSheet = []byte{1, 5, 0, 0, 0}

// Describe registers f, which returns the shard's sheet for [ReadSheets]. f must be quick, safe for concurrent use, and return at most 100
// KiB, in a format of the caller's choice.
func (s *Shard) Describe(f func() []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describe = f
}

func (s *Shard) sheet() []byte {
	s.mu.Lock()
	f := s.describe
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

// ReadSheets asks the owners of all shards for the sheets of their crawls. It returns one sheet for each shard, in order; nil if the owner
// does not answer within two seconds.
func ReadSheets(ctx context.Context, e Questions, shards int) [][]byte {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	all := make([][]byte, shards)
	eachShard(shards, func(i int) {
		if b, err := e.Ask(ctx, i, questionSheet); err == nil && len(b) > 0 {
			all[i] = b
		}
	})
	return all
}

// serve answers questions for the shard. Without a lease it returns nil.
func (s *Shard) serve(question []byte) []byte {
	if s.Fence() != nil {
		return nil
	}
	if bytes.Equal(question, questionSheet) {
		return s.sheet()
	}
	if !bytes.Equal(question, questionStatus) {
		return nil
	}
	b, err := json.Marshal(s.status())
	if err != nil {
		return nil
	}
	return b
}

// status returns the shard's state, as the answer to questionStatus.
func (s *Shard) status() ShardStatus {
	idle, _ := s.idle()
	a := ShardStatus{
		Number: s.Number, Node: s.node.Name, Epoch: s.Epoch, Answered: true, Idle: idle, Queue: s.store.Stats(), Counts: s.counts(),
		Lag: s.owner.grown(),
	}
	if s.pages != nil {
		a.Granted, a.Counts.Pages = s.pages.granted()
	}
	return a
}

// Count registers f, which returns the counts of the shard's crawls so far, including those of earlier owners. [ReadStatus] and the job's
// Limits use the counts. f must be quick and safe for concurrent use.
func (s *Shard) Count(f func() Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = f
}

func (s *Shard) counts() Counts {
	s.mu.Lock()
	f := s.count
	s.mu.Unlock()
	if f == nil {
		return Counts{}
	}
	return f()
}
