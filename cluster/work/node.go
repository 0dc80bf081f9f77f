package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/weburl"
)

// Node is a process that works on a job.
type Node struct {
	Engine cluster.Engine
	Name   string
	Dir    string // directory for the node's files; see cluster.Config.Dir
	// JobName is the job's name, for messages.
	JobName string
	// Program sets fields that the settings of the job cannot express, such as a Handler; it must not change settings. Run calls it once.
	// The crawls of all shards of the node share these values concurrently, so they must be safe for concurrent use. It may be nil.
	Program func(*job.Config)
	// Browser starts the renderer of pages, sets it as Crawl.Renderer, and returns a function that stops it. Run calls it once if the
	// job renders pages and Program has not set a Renderer: all shards of the node share it. nil: jobs that render pages are refused.
	Browser func(ctx context.Context, c *job.Config) (end func(), err error)
	// Allow lists the files and variables that the job's settings may make this node read.
	Allow Allowed
	// MaxShards limits the shards that the node owns. 0: its share of all shards.
	MaxShards int
	// Store is the URL of a store (see package stores/open). The node copies its complete files there, below its Name: the directories of
	// shards that it has given back, and directories that earlier processes left in Dir. To complete files, it gives each shard back
	// after an hour. Commits do not wait for copies. "": nothing is copied.
	Store string
	// Trace is called with events of the node's shards, and Note with messages for the operator, also concurrently. Both may be nil.
	Trace func(cluster.Event)
	Note  func(text string)

	job    *Job
	past   []crawler.History // earlier crawl (Crawl.Since), by shard; nil if there is none
	full   context.CancelCauseFunc
	stored *job.NodeStore // may be nil
	renew  time.Duration  // time after which a shard is given back; 0: storedEvery
}

// storedEvery is the time after which a node with a Store gives a shard back: only complete files are copied.
const storedEvery = time.Hour

// Errors of [Node.Run].
var (
	// ErrDir means that the directory belongs to another node or another job.
	ErrDir = errors.New("the directory belongs to another node")
	// ErrFull says that the disk is full.
	ErrFull = errors.New("the disk is full")
)

// Run works on the job until it is over, which is not an error, or ctx ends: then it gives back all shards. The error is one of [Load] or
// of cluster.Node.Run, ErrDir, ErrHeld, ErrNotAllowed, or job.ErrProgram for a job that needs another Program. After ErrFull, all shards
// were given back, and other nodes continue. A *job.Error is about Store: either the store cannot be used, or some files could not be
// stored after all shards were given back; the next Run with the same Dir stores them.
func (n *Node) Run(ctx context.Context) (err error) {
	if n.job, err = Load(ctx, n.Engine); err != nil {
		return err
	}
	err = n.Allow.check(n.JobName, &n.job.Config)
	if err == nil {
		err = n.job.program(n.Program)
	}
	endBrowser := func() {}
	if err == nil {
		endBrowser, err = n.startBrowser(ctx)
	}
	if err != nil {
		return errors.Join(err, cluster.Refuse(ctx, n.Engine, n.Name, err.Error()))
	}
	defer endBrowser()
	if n.job.crawl, err = n.job.Config.Shared(n.job.Seeds); err != nil { // reads the files named by the settings
		return err
	}
	if err := n.claimDir(); err != nil {
		return err
	}
	process := rand.Text()
	lock, err := lockDir(n.Dir, process)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Close(lock.file) }()
	limit := openfiles.Limit()
	if err := openfiles.Check(limit); err != nil {
		return err
	}
	resources, err := n.openResources()
	if err != nil {
		return err
	}
	if resources != nil {
		defer func() { _ = resources.Close() }() // resources that are lost are requested again
	}
	cfg, shares := n.job.crawl, openfiles.Share(limit)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, crawler.DefaultConcurrency)
	wanted := cfg.Concurrency
	shares.Restrain(&cfg)
	if note := shares.Note(wanted, cfg.Concurrency); note != "" {
		n.note(note)
	}
	cfg.RenderStore, cfg.Limits.Resources = resources, maxResources(&cfg.Limits)
	n.job.crawl = cfg
	if n.Store != "" {
		if n.stored, err = job.OpenNodeStore(ctx, n.Dir, n.Store, n.Name, n.note); err != nil {
			return err
		}
	}
	err = n.work(ctx, cluster.Config{
		Engine: n.Engine, Name: n.Name, Dir: n.Dir, Crawl: n.crawl, MaxShards: n.MaxShards, Trace: n.trace,
		Store: n.store(shares.Tables), Concurrency: cfg.Concurrency, Process: process, Gone: lock.gone,
	})
	if n.stored != nil {
		err = errors.Join(err, n.stored.Finish(context.WithoutCancel(ctx)))
	}
	return err
}

// work runs the cluster node until the job is over.
func (n *Node) work(ctx context.Context, c cluster.Config) error {
	if n.stored != nil {
		c.Renew = cmp.Or(n.renew, storedEvery)
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n.full = cancel
	err := cluster.ErrGrown
	for errors.Is(err, cluster.ErrGrown) {
		var node *cluster.Node
		if node, err = cluster.NewNode(ctx, c); err != nil {
			return err
		}
		n.job.Job = node.Job()
		n.past = dividePast(n.job.crawl.Since, &n.job.Job)
		err = node.Run(working)
	}
	if cause := context.Cause(working); err == nil && errors.Is(cause, ErrFull) {
		return cause
	}
	return err
}

func (n *Node) note(text string) {
	if n.Note != nil {
		n.Note(text)
	}
}

// trace stops the node if the disk is full: all of its shards would fail.
func (n *Node) trace(e cluster.Event) {
	if errors.Is(e.Err, syscall.ENOSPC) {
		n.full(fmt.Errorf("%w: %s: make room and start the node again; the others take its shards over", ErrFull, n.Dir))
	}
	if n.Trace != nil {
		n.Trace(e)
	}
}

// perShard returns one shard's part of a limit of the node, but no less than the number least.
func (n *Node) perShard(all, least int) int {
	return max(least, all/max(1, n.most()))
}

// most returns the maximum number of shards that the node may own.
func (n *Node) most() int { return min(n.job.Shards, cmp.Or(n.MaxShards, n.job.Shards)) }

// store returns the configuration of a shard's queue.
func (n *Node) store(tables int) disk.Config {
	const cache, memTable, prefetch = 256 << 20, 64 << 20, 64 << 20 // totals of all shards
	return disk.Config{
		Key: n.job.crawl.Canonical.Key, HostSlots: n.job.crawl.Politeness.OwnHosts,
		BestFirst: n.job.crawl.BestFirst, Patience: n.job.crawl.Patience(), CacheSize: int64(n.perShard(cache, 4<<20)),
		MemTableSize: n.perShard(memTable, 1<<20), PrefetchSize: n.perShard(prefetch, 1<<20), MaxTables: n.perShard(tables, 8),
	}
}

// crawl crawls a shard, as cluster.Config.Crawl.
func (n *Node) crawl(ctx context.Context, sh *cluster.Shard) (err error) {
	cfg := n.config(sh)
	segment := job.Segment{Node: n.Name, Shard: sh.Number, Epoch: sh.Epoch}
	w, err := n.job.Config.OpenSegment(sh.Dir, segment, &cfg) //nolint:contextcheck // closing is not cut short
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, w.Close())
		if n.stored != nil {
			n.stored.Add(&segment)
		}
	}()
	w.Clock = func() (time.Time, time.Duration, time.Duration) {
		o := sh.Offset()
		return o.At, o.Ahead, o.Error
	}
	for i, s := range cfg.Sinks {
		cfg.Sinks[i] = sh.Sink(s)
	}
	seen := watchShard(&cfg)
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	seen.begin(sh, n.Name, c)
	if sh.Epoch > 1 { // the ledger of the previous epoch is on another machine
		if err := c.Gate().TakeOver(2 * n.job.MaxSkew); err != nil {
			return err
		}
	}
	w.Stored = c.Gate().LastChanges
	sh.Obey(func(o cluster.Order) {
		if err := n.job.obey(c, &o); err != nil {
			n.note(fmt.Sprintf("shard %d: order %d (%s) changes nothing: %v", sh.Number, o.Number, o.What, err))
		}
		w.Obeyed(o.Number)
	})
	sh.Count(func() cluster.Counts {
		p := c.Progress()
		return cluster.Counts{Pages: int64(p.Pages), Requests: int64(p.Requests), Bytes: p.Bytes, Failed: int64(p.Outcomes[crawler.Failed])}
	})
	_, err = c.Run(ctx, n.seeds()...)
	if errors.As(err, new(*crawler.UnreachableError)) {
		return nil // an error about the seeds of this shard's hosts only
	}
	return err
}

// seeds returns all seeds of the job. Every shard gets them and queues its own.
func (n *Node) seeds() []string {
	var all []string
	for _, u := range n.job.Seeds {
		all = append(all, u.String())
	}
	return all
}

// config returns the configuration of a shard's crawl.
func (n *Node) config(sh *cluster.Shard) crawler.Config {
	c := n.job.crawl
	c.Sinks = slices.Clone(c.Sinks)
	if n.past != nil {
		c.Since = n.past[sh.Number]
	}
	c.Frontier, c.Politeness.Fence = sh.Frontier(), sh.Fence
	c.Politeness.Name, c.Politeness.Shared = n.JobName, sh.Sharing()
	c.Commits = crawler.Commits{Interval: min(max(250*time.Millisecond, time.Duration(n.most())*16*time.Millisecond), time.Second), Gate: true}
	c.Limits.Pages, c.Limits.Bytes, c.Limits.Errors, c.Limits.Time = crawler.Unlimited, 0, 0, 0
	c.Politeness.Rate = 0
	if c.Scope.Kind == crawler.ScopeAny {
		c.Limits.Time = 100 * 365 * 24 * time.Hour // the cluster applies the job's limits, but a crawl with this scope must have a limit, too
	}
	c.Concurrency = min(c.Concurrency, n.perShard(8*c.Concurrency, 4))
	c.Fetch.MaxIdle = n.perShard(cmp.Or(c.Fetch.MaxIdle, fetcher.DefaultMaxIdle), 4)
	c.Limits.InFlight = int64(n.perShard(int(cmp.Or(c.Limits.InFlight, crawler.DefaultMaxInFlight)), 1<<20))
	return c
}

// past is one shard's view of an earlier crawl: All yields only pages of the shard's hosts.
type past struct {
	crawler.History
	pages []pastPage
}

type pastPage struct {
	url   weburl.URL
	depth int
}

// All implements crawler.History.
func (p *past) All() iter.Seq2[weburl.URL, int] {
	return func(yield func(weburl.URL, int) bool) {
		for i := range p.pages {
			if !yield(p.pages[i].url, p.pages[i].depth) {
				return
			}
		}
	}
}

// dividePast returns each shard's view of an earlier crawl; nil if there is none.
func dividePast(h crawler.History, j *cluster.Job) []crawler.History {
	if h == nil {
		return nil
	}
	all, shards := make([]crawler.History, j.Shards), make([]past, j.Shards)
	for i := range shards {
		shards[i].History, all[i] = h, &shards[i]
	}
	if list := h.All(); list != nil {
		for u, depth := range list {
			p := &shards[j.Shard(u.Host())]
			p.pages = append(p.pages, pastPage{u, depth})
		}
	}
	return all
}

// mark is the file that records which node and job a directory belongs to.
type mark struct {
	Schema string `json:"schema"`
	Node   string `json:"node"`
	Job    string `json:"job"` // hash of the job's key
}

const markSchema = "amble.node/1"

// id identifies a job independently of its name.
func (j *Job) id() string {
	sum := sha256.Sum256(j.Key)
	return hex.EncodeToString(sum[:8])
}

// claimDir marks the directory as this node's, or returns an error that names its owner.
func (n *Node) claimDir() error {
	mine := mark{markSchema, n.Name, n.job.id()}
	m, err := readMark(n.Dir)
	switch {
	case err == nil && m != mine:
		return fmt.Errorf("%w: %s is of node %s, job %s; this is node %s, job %s: name another directory with -o", ErrDir, n.Dir, m.Node, m.Job, mine.Node, mine.Job)
	case err == nil || !errors.Is(err, os.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(n.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != engineName {
			return fmt.Errorf("%w: %s has %s in it, and no %s: name an empty directory with -o, or one that is not there yet", ErrDir, n.Dir, e.Name(), job.NodeName)
		}
	}
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return err
	}
	b, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.Dir, job.NodeName), append(b, '\n'), 0o644)
}

// engineName is the name, below a node's directory, of the directory of a server that runs inside the node.
const engineName = "engine"

// EngineDir returns the directory of a server that runs inside a node, below the node's directory.
func EngineDir(dir string) string { return filepath.Join(dir, engineName) }

func readMark(dir string) (m mark, err error) {
	b, err := safefile.Read(filepath.Join(dir, job.NodeName), safefile.Token)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Schema != markSchema {
		return m, fmt.Errorf("%s is not of the form %s: is it of another version?", filepath.Join(dir, job.NodeName), markSchema)
	}
	return m, nil
}
