package mem

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

// Conn is one node's connection to a Server. It implements cluster.Engine.
type Conn struct {
	s *Server
	f *faults
}

var _ cluster.Engine = (*Conn)(nil)

// Connect returns a connection without faults. [Conn.Misbehave] and [Conn.Cut] add them.
func (s *Server) Connect() *Conn { return &Conn{s: s, f: newFaults()} }

// Append implements cluster.Journals.
func (c *Conn) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (seq uint64, err error) {
	err = c.f.call(ctx, func() error {
		seq, err = c.s.append(shard, n, data, last)
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// Last implements cluster.Journals.
func (c *Conn) Last(ctx context.Context, shard int) (e cluster.Entry, err error) {
	err = c.f.call(ctx, func() error {
		e = c.s.lastBut(shard, c.f.stale())
		return nil
	})
	return e, err
}

// Read implements cluster.Journals.
func (c *Conn) Read(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	return c.each(ctx, func() ([]cluster.Entry, error) {
		all, trimmed := c.s.after(c.s.journals, shard, after)
		if trimmed {
			return nil, cluster.ErrTrimmed
		}
		return all, nil
	})
}

// Inbox implements cluster.Inboxes.
func (c *Conn) Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	return c.each(ctx, func() ([]cluster.Entry, error) {
		all, _ := c.s.after(c.s.inboxes, shard, after)
		return all[:max(0, len(all)-c.f.stale())], nil
	})
}

func (c *Conn) each(ctx context.Context, read func() ([]cluster.Entry, error)) iter.Seq2[cluster.Entry, error] {
	return func(yield func(cluster.Entry, error) bool) {
		var all []cluster.Entry
		err := c.f.call(ctx, func() (err error) {
			all, err = read()
			return err
		})
		if err != nil {
			yield(cluster.Entry{}, err)
			return
		}
		for _, e := range all {
			e.Data = bytes.Clone(e.Data)
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Trim implements cluster.Journals.
func (c *Conn) Trim(ctx context.Context, shard int, below uint64) error {
	return c.f.call(ctx, func() error {
		c.s.cut(c.s.journals, shard, below, 1)
		return nil
	})
}

// Send implements cluster.Inboxes.
func (c *Conn) Send(ctx context.Context, shard int, _ string, offer []byte) error {
	return c.f.call(ctx, func() error {
		c.s.send(shard, offer)
		return nil
	})
}

// Watch implements cluster.Inboxes. It misses some offers on a connection with stale reads, and all on one that is cut.
func (c *Conn) Watch(shard int, f func()) (stop func(), err error) {
	return c.s.watch(shard, func() {
		if !c.f.isCut() && c.f.stale() == 0 {
			f()
		}
	}), nil
}

// Drop implements cluster.Inboxes.
func (c *Conn) Drop(ctx context.Context, shard int, through uint64) error {
	return c.f.call(ctx, func() error {
		c.s.cut(c.s.inboxes, shard, through+1, 0)
		return nil
	})
}

// PutAside implements cluster.DeadLetters.
func (c *Conn) PutAside(ctx context.Context, shard int, message cluster.Entry) error {
	return c.f.call(ctx, func() error {
		c.s.putAside(shard, message)
		return nil
	})
}

// Aside implements cluster.DeadLetters.
func (c *Conn) Aside(ctx context.Context, shard int) iter.Seq2[cluster.Entry, error] {
	return c.each(ctx, func() ([]cluster.Entry, error) {
		all, _ := c.s.after(c.s.aside, shard, 0)
		return all, nil
	})
}

// Load implements cluster.Registers.
func (c *Conn) Load(ctx context.Context, name string) (value []byte, rev uint64, err error) {
	err = c.f.call(ctx, func() error {
		value, rev = c.s.load(name, c.f.stale() > 0)
		return nil
	})
	return value, rev, err
}

// Store implements cluster.Registers.
func (c *Conn) Store(ctx context.Context, name string, value []byte, rev uint64) (next uint64, err error) {
	err = c.f.call(ctx, func() error {
		next, err = c.s.store(name, value, rev)
		return err
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// Put implements cluster.Files.
func (c *Conn) Put(ctx context.Context, name string, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return c.f.call(ctx, func() error {
		c.s.put(name, data)
		return nil
	})
}

// Get implements cluster.Files.
func (c *Conn) Get(ctx context.Context, name string) (r io.ReadCloser, err error) {
	err = c.f.call(ctx, func() error {
		r, err = c.s.get(name)
		return err
	})
	return r, err
}

// Delete implements cluster.Files.
func (c *Conn) Delete(ctx context.Context, name string) error {
	return c.f.call(ctx, func() error {
		c.s.remove(name)
		return nil
	})
}

// Ask implements cluster.Questions.
func (c *Conn) Ask(ctx context.Context, shard int, question []byte) (reply []byte, err error) {
	err = c.f.call(ctx, func() error {
		a := c.s.answerer(shard)
		if a == nil || a.by.f.isCut() {
			return cluster.ErrNoAnswer
		}
		reply = bytes.Clone(a.f(bytes.Clone(question)))
		return nil
	})
	return reply, err
}

var errCut = errors.New("mem: the connection is cut")

// Answer implements cluster.Questions.
func (c *Conn) Answer(shard int, f func(question []byte) []byte) (stop func(), err error) {
	return c.s.answer(shard, &answer{by: c, f: f}), nil
}

// Now implements cluster.Clock.
func (c *Conn) Now(ctx context.Context) (at time.Time, err error) {
	err = c.f.call(ctx, func() error {
		at = time.Now().Add(-c.f.skewed())
		return nil
	})
	return at, err
}
