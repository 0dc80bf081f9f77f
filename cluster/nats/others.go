package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

func (e *Engine) box(shard int) (jetstream.Stream, string) {
	g := shard % len(e.in)
	return e.in[g], e.c.subject("in", g, shard)
}

// Send implements cluster.Inboxes.
func (e *Engine) Send(ctx context.Context, shard int, id string, offer []byte) error {
	s, subject := e.box(shard)
	_, err := e.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: offer}, jetstream.WithMsgID(fmt.Sprintf("%d/%s", shard, id)),
		jetstream.WithExpectStream(s.CachedInfo().Config.Name), jetstream.WithRetryAttempts(0))
	return e.failed(err)
}

// Inbox implements cluster.Inboxes. It requests messages one by one: usually there are few, and a consumer would cost the servers more.
func (e *Engine) Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	s, subject := e.box(shard)
	return func(yield func(cluster.Entry, error) bool) {
		for at := after; ; {
			m, err := s.GetMsg(ctx, at+1, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if err != nil {
				yield(cluster.Entry{}, e.failed(err))
				return
			}
			if at = m.Sequence; !yield(cluster.Entry{Seq: at, Data: m.Data, At: m.Time}, nil) {
				return
			}
		}
	}
}

// Watch implements cluster.Inboxes. Servers deliver a published message to subscribers, even though a stream stores it.
func (e *Engine) Watch(shard int, f func()) (stop func(), err error) {
	_, subject := e.box(shard)
	return e.subscribe(subject, func(*nats.Msg) { f() })
}

// Drop implements cluster.Inboxes.
func (e *Engine) Drop(ctx context.Context, shard int, through uint64) error {
	s, subject := e.box(shard)
	return e.purge(ctx, s, subject, through+1)
}

// PutAside implements cluster.DeadLetters. It creates the stream if the job was created without it, by an earlier version.
func (e *Engine) PutAside(ctx context.Context, shard int, message cluster.Entry) error {
	if _, err := e.js.Stream(ctx, e.c.stream("DEAD")); errors.Is(err, jetstream.ErrStreamNotFound) {
		s := e.deadLetters()
		s.Replicas = e.ctl.CachedInfo().Config.Replicas
		if err := e.create(ctx, s); err != nil {
			return err
		}
	} else if err != nil {
		return e.failed(err)
	}
	m := &nats.Msg{Subject: e.c.subject("dead", shard, message.Seq), Data: message.Data}
	_, err := e.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
	if wrongSequence(err) {
		return nil // the message is stored already
	}
	return e.failed(err)
}

// Aside implements cluster.DeadLetters.
func (e *Engine) Aside(ctx context.Context, shard int) iter.Seq2[cluster.Entry, error] {
	return func(yield func(cluster.Entry, error) bool) {
		s, err := e.js.Stream(ctx, e.c.stream("DEAD"))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return
		}
		for at := uint64(0); err == nil; {
			var m *jetstream.RawStreamMsg
			if m, err = s.GetMsg(ctx, at+1, jetstream.WithGetMsgSubject(e.c.subject("dead", shard, "*"))); err != nil {
				break
			}
			at = m.Sequence
			seq, _ := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64)
			if !yield(cluster.Entry{Seq: seq, Data: m.Data, At: m.Time}, nil) {
				return
			}
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			yield(cluster.Entry{}, e.failed(err))
		}
	}
}

// Load implements cluster.Registers.
func (e *Engine) Load(ctx context.Context, name string) (value []byte, rev uint64, err error) {
	m, err := e.ctl.GetLastMsgForSubject(ctx, e.c.subject("ctl", name))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, e.failed(err)
	}
	return append([]byte{}, m.Data...), m.Sequence, nil
}

// Store implements cluster.Registers.
func (e *Engine) Store(ctx context.Context, name string, value []byte, rev uint64) (uint64, error) {
	ack, err := e.js.PublishMsg(ctx, &nats.Msg{Subject: e.c.subject("ctl", name), Data: value},
		jetstream.WithExpectLastSequencePerSubject(rev), jetstream.WithExpectStream(e.c.stream("CTL")), jetstream.WithRetryAttempts(0))
	switch {
	case err == nil:
		return ack.Sequence, nil
	case wrongSequence(err):
		return 0, cluster.ErrConflict
	}
	return 0, e.failed(err)
}

// Ask implements cluster.Questions.
func (e *Engine) Ask(ctx context.Context, shard int, question []byte) ([]byte, error) {
	if _, limited := ctx.Deadline(); !limited {
		short, cancel := context.WithTimeout(ctx, e.c.Timeout)
		defer cancel()
		ctx = short
	}
	m, err := e.nc.RequestWithContext(ctx, e.c.subject("ask", shard), question)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, cluster.ErrNoAnswer
	}
	if err != nil {
		return nil, e.failed(err)
	}
	return m.Data, nil
}

// Answer implements cluster.Questions.
func (e *Engine) Answer(shard int, f func(question []byte) []byte) (stop func(), err error) {
	return e.subscribe(e.c.subject("ask", shard), func(m *nats.Msg) { _ = m.Respond(f(m.Data)) })
}

func (e *Engine) subscribe(subject string, f nats.MsgHandler) (stop func(), err error) {
	s, err := e.nc.Subscribe(subject, f)
	if err == nil {
		err = e.nc.FlushTimeout(e.c.Timeout)
	}
	if err != nil {
		return nil, e.failed(err)
	}
	return func() {
		_ = s.Unsubscribe()
		_ = e.nc.FlushTimeout(e.c.Timeout)
	}, nil
}

// Now implements cluster.Clock: it returns the time of the server that leads the registers' stream.
func (e *Engine) Now(ctx context.Context) (time.Time, error) {
	s, err := e.js.Stream(ctx, e.c.stream("CTL"))
	if err != nil {
		return time.Time{}, e.failed(err)
	}
	return s.CachedInfo().TimeStamp, nil
}
