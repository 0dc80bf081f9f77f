package mem

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

// clocks is the data that all jobs of an engine share.
type clocks struct {
	mu    sync.Mutex
	seq   uint64
	era   uint64
	since time.Time // time at which the era began
	is    map[string]common
	files map[string]common // robots.txt files by name
	size  int               // total bytes of files
	limit int               // maximum of size
}

// common is a clock or a robots.txt file.
type common struct {
	value []byte
	rev   uint64
	ends  time.Time
	was   *common // previous value, for stale reads
}

func newClocks() *clocks {
	return &clocks{era: 1, is: map[string]common{}, files: map[string]common{}, limit: 64 << 20}
}

// NewJob returns the Server of a new, empty job on the same engine.
func (s *Server) NewJob() *Server {
	x := New()
	x.clocks = s.clocks
	return x
}

// LoseClocks removes the clocks that all jobs share, as if all servers of the engine were restarted.
func (s *Server) LoseClocks() {
	c := s.clocks
	c.mu.Lock()
	defer c.mu.Unlock()
	c.era, c.since = c.era+1, time.Now()
	clear(c.is)
}

func (c *clocks) load(key string, stale bool) ([]byte, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(key)
	if stale && x.was != nil {
		x = *x.was
	}
	return bytes.Clone(x.value), x.rev
}

func (c *clocks) of(key string) common {
	x := c.is[key]
	if x.rev != 0 && time.Now().After(x.ends) {
		delete(c.is, key)
		return common{}
	}
	return x
}

func (c *clocks) store(key string, value []byte, rev uint64, life time.Duration) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.of(key)
	if x.rev != rev {
		return 0, cluster.ErrConflict
	}
	x.was = nil
	c.seq++
	c.is[key] = common{bytes.Clone(value), c.seq, time.Now().Add(life), &x}
	return c.seq, nil
}

// Clocks implements cluster.Engine.
func (c *Conn) Clocks() cluster.ClockStore { return c }

// LoadClock implements cluster.ClockStore.
func (c *Conn) LoadClock(ctx context.Context, key string) (value []byte, rev uint64, err error) {
	err = c.f.call(ctx, func() error {
		value, rev = c.s.clocks.load(key, c.f.stale() > 0)
		return nil
	})
	return value, rev, err
}

// StoreClock implements cluster.ClockStore.
func (c *Conn) StoreClock(ctx context.Context, key string, value []byte, rev uint64, life time.Duration) (next uint64, err error) {
	err = c.f.call(ctx, func() error {
		next, err = c.s.clocks.store(key, value, rev, life)
		return err
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// Era implements cluster.ClockStore.
func (c *Conn) Era(ctx context.Context) (era uint64, since time.Time, err error) {
	err = c.f.call(ctx, func() error {
		c.s.clocks.mu.Lock()
		defer c.s.clocks.mu.Unlock()
		era, since = c.s.clocks.era, c.s.clocks.since
		return nil
	})
	return era, since, err
}

// LoadRobots implements cluster.RobotsStore.
func (c *Conn) LoadRobots(ctx context.Context, name string) (file []byte, err error) {
	err = c.f.call(ctx, func() error {
		c.s.clocks.mu.Lock()
		defer c.s.clocks.mu.Unlock()
		if x := c.s.clocks.files[name]; time.Now().Before(x.ends) {
			file = bytes.Clone(x.value)
		}
		return nil
	})
	return file, err
}

// StoreRobots implements cluster.RobotsStore.
func (c *Conn) StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) error {
	return c.f.call(ctx, func() error {
		c.s.clocks.keep(name, bytes.Clone(file), life)
		return nil
	})
}

// keep stores a robots.txt, and drops the oldest files while their total size is too large.
func (c *clocks) keep(name string, file []byte, life time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.size += len(file) - len(c.files[name].value)
	c.files[name] = common{value: file, rev: c.seq, ends: time.Now().Add(life)}
	for c.size > c.limit {
		oldest := name
		for n, x := range c.files {
			if x.rev < c.files[oldest].rev {
				oldest = n
			}
		}
		c.size -= len(c.files[oldest].value)
		delete(c.files, oldest)
	}
}
