package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Job holds the properties of a cluster job that all nodes know. It never changes, except for the number of shards ([Grow]).
type Job struct {
	Shards   int           // number of shards, from 1 to 1024
	Key      []byte        // key of the hash that assigns hosts to shards; Create sets it
	TTL      time.Duration // time for which a silent owner keeps its shard. 0: DefaultTTL; at least MinTTL
	MaxSkew  time.Duration // maximum difference between the clocks of two nodes. 0: DefaultMaxSkew
	Delay    time.Duration // delay of the crawl; hosts also wait for this time when another node takes their shard over
	Settings []byte        // settings of the crawl, in a form that the caller chooses
	// Form is set by Create. 0: the job was created by version 0.2.0 or before, so nodes of these versions may work on it.
	Form int `json:",omitempty"`
	// Doubled is the number of times that the number of shards was doubled since the job was created: it was created with
	// Shards>>Doubled shards.
	Doubled int `json:"-"`

	// Limits apply to all shards together. The crawls of single shards must have none of them: in their crawler.Config, Limits has no Pages
	// (crawler.Unlimited), Bytes, Errors and Time, and Politeness has no Rate.
	Limits Limits
	Rate   float64 // requests per second. 0: unlimited
}

// Limits are limits that end a job.
type Limits struct {
	Pages int64 // maximum number of pages, never exceeded. 0: unlimited
	// The other limits are compared with the counts of the shards' owners (Shard.Count) from time to time, so they may be exceeded a
	// little. 0: none.
	Bytes  int64
	Failed int64
	Time   time.Duration // time since the start of the first node, or of the first node after OrderResume
}

// The defaults of a Job, and the minimum TTL.
const (
	DefaultTTL     = 30 * time.Second
	MinTTL         = 6 * time.Second
	DefaultMaxSkew = 500 * time.Millisecond
	maxShards      = 1024
)

// jobForm is the form of jobs whose clocks the engine keeps: nodes that keep clocks themselves do not work on them.
const jobForm = 1

// Errors about jobs.
var (
	ErrJobExists = errors.New("cluster: there is a job already")
	ErrNoJob     = errors.New("cluster: there is no job: create it first")
	// ErrValue is wrapped by errors about an invalid value of a Job, an Order or a Config.
	ErrValue = errors.New("cluster: wrong value")
)

// The registers of a job.
const (
	registerJob    = "job"
	registerNodes  = "nodes"
	registerEnd    = "end"
	registerBegun  = "begun"  // start of the first node
	registerPages  = "budget" // number of pages that each shard may fetch
	registerOrders = "orders" // orders of the operator
	// registerCollected records how far the job was completely collected.
	registerCollected = "collected"
)

// Create stores a new job. The error is ErrJobExists, wraps ErrValue, or is the engine's.
func Create(ctx context.Context, e Registers, j Job) error {
	if j.TTL == 0 {
		j.TTL = DefaultTTL
	}
	if j.MaxSkew == 0 {
		j.MaxSkew = DefaultMaxSkew
	}
	j.Form = jobForm
	j.Key = make([]byte, 32)
	_, _ = rand.Read(j.Key) // Read never fails
	if err := j.validate(); err != nil {
		return err
	}
	err := storeJSON(ctx, e, registerJob, j, 0)
	if errors.Is(err, ErrConflict) {
		return ErrJobExists
	}
	return err
}

// storeJSON stores a value in a register as JSON. The error is of [Registers.Store] or of the encoding.
func storeJSON(ctx context.Context, e Registers, name string, v any, rev uint64) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	_, err = e.Store(ctx, name, b, rev)
	return err
}

func (j *Job) validate() error {
	switch {
	case j.Shards < 1 || j.Shards > maxShards:
		return fmt.Errorf("%w: %d shards: must be 1 to %d", ErrValue, j.Shards, maxShards)
	case j.TTL < MinTTL:
		return fmt.Errorf("%w: a TTL of %v: must be at least %v", ErrValue, j.TTL, MinTTL)
	case j.MaxSkew < 0 || j.Delay < 0:
		return fmt.Errorf("%w: MaxSkew is %v and Delay is %v: must not be negative", ErrValue, j.MaxSkew, j.Delay)
	case j.Limits.Pages < 0 || j.Limits.Bytes < 0 || j.Limits.Failed < 0 || j.Limits.Time < 0:
		return fmt.Errorf("%w: Limits are %+v: must not be negative", ErrValue, j.Limits)
	case !(j.Rate >= 0) || math.IsInf(j.Rate, 1):
		return fmt.Errorf("%w: Rate is %v: must be a number of requests a second, or 0 for no limit", ErrValue, j.Rate)
	case len(j.Key) < 16:
		return fmt.Errorf("%w: the job has no key", ErrValue)
	}
	return nil
}

// LoadJob returns the job. The result may be stale: its shards may have been doubled since. The error is ErrNoJob or the engine's.
func LoadJob(ctx context.Context, e Registers) (j Job, err error) {
	if j, err = loadCreated(ctx, e); err != nil {
		return j, err
	}
	all, err := LoadOrders(ctx, e)
	j.grow(all)
	return j, err
}

// loadCreated returns the job as created.
func loadCreated(ctx context.Context, e Registers) (j Job, err error) {
	b, rev, err := e.Load(ctx, registerJob)
	if err != nil {
		return j, err
	}
	if rev == 0 {
		return j, ErrNoJob
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return j, fmt.Errorf("cluster: the job's register: %w", err)
	}
	if err := j.validate(); err != nil { // not an ErrValue: the value is not from the caller
		return j, fmt.Errorf("cluster: the job's register: %s", err) //nolint:errorlint // ErrValue is not wrapped
	}
	return j, nil
}

// Shard returns the number of the shard that a host (weburl.URL.Host) belongs to.
func (j *Job) Shard(host string) int { return int(j.hash(host) % uint64(j.Shards)) }

func (j *Job) hash(host string) uint64 {
	h := hmac.New(sha256.New, j.Key)
	h.Write([]byte(host))
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(sum[:0]))
}
