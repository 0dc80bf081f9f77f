package nats

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// headerPrev is a header with the sequence of the previous record. With it, readers notice missing records.
const headerPrev = "Amble-Prev"

// attempts is the maximum number of attempts of an Append while the servers have not decided which of several Appends was first.
const attempts = 50

func (e *Engine) log(shard int) (jetstream.Stream, string) {
	g := shard % len(e.logs)
	return e.logs[g], e.c.subject("log", g, shard)
}

// Append implements cluster.Journals.
func (e *Engine) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (uint64, error) {
	s, subject := e.log(shard)
	id := hex.EncodeToString(n[:])
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerPrev: {strconv.FormatUint(last, 10)}}}
	for range attempts {
		ack, err := e.js.PublishMsg(ctx, m, jetstream.WithMsgID(id), jetstream.WithExpectLastSequencePerSubject(last),
			jetstream.WithExpectStream(s.CachedInfo().Config.Name), jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		if !wrongSequence(err) && !inProcess(err) {
			return 0, e.failed(err)
		}
		if seq, err := e.decide(ctx, s, subject, id, last); err != nil || seq != 0 {
			return seq, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, errUndecided
}

var errUndecided = errors.New("nats: the servers have not decided who was first")

// decide returns the sequence of an Append that was refused for its expected sequence but had succeeded before; 0 if the outcome is not
// known yet. The record after the expected one belongs to the first appender, whatever came later.
func (e *Engine) decide(ctx context.Context, s jetstream.Stream, subject, id string, last uint64) (uint64, error) {
	m, err := s.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(subject))
	switch {
	case err == nil && m.Header.Get(nats.MsgIdHdr) == id:
		return m.Sequence, nil
	case err == nil:
		return 0, cluster.ErrFenced
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, e.failed(err)
	}
	m, err = s.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) && last > 0, err == nil && m.Sequence < last:
		return 0, cluster.ErrWentBack
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, e.failed(err)
	}
	return 0, nil
}

// wrongSequence reports whether a server expected another sequence. Streams with replicas have a separate error code for that.
func wrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// inProcess reports whether the servers have not decided about an earlier, unanswered attempt with the same nonce.
func inProcess(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == duplicateInProcess
}

// duplicateInProcess is nats-server's code for JSStreamDuplicateMessageConflict, for which the client has no name.
const duplicateInProcess jetstream.ErrorCode = 10158

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Last implements cluster.Journals.
func (e *Engine) Last(ctx context.Context, shard int) (cluster.Entry, error) {
	s, subject := e.log(shard)
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return cluster.Entry{}, nil
	}
	if err != nil {
		return cluster.Entry{}, e.failed(err)
	}
	return cluster.Entry{Seq: m.Sequence, Nonce: nonceOf(m.Header), Data: m.Data, At: m.Time}, nil
}

func nonceOf(h nats.Header) (n cluster.Nonce) {
	b, err := hex.DecodeString(h.Get(nats.MsgIdHdr))
	if err == nil && len(b) == len(n) {
		copy(n[:], b)
	}
	return n
}

// Read implements cluster.Journals.
func (e *Engine) Read(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	s, subject := e.log(shard)
	return func(yield func(cluster.Entry, error) bool) {
		at := after
		for m, err := range e.messages(ctx, s, subject, after) {
			if err == nil {
				err = follows(m, at, at == after)
			}
			if err != nil {
				yield(cluster.Entry{}, err)
				return
			}
			at = m.Seq
			if !yield(m.Entry, nil) {
				return
			}
		}
	}
}

// follows returns an error if records are missing between the one with the sequence at and m. first marks the first record that is read.
func follows(m message, at uint64, first bool) error {
	switch {
	case m.prev <= at && first, m.prev == at:
		return nil
	case first:
		return cluster.ErrTrimmed
	}
	return fmt.Errorf("nats: the record behind %d is missing: %d is behind %d", at, m.Seq, m.prev)
}

// message is an Entry with the sequence of the previous record.
type message struct {
	cluster.Entry
	prev uint64
}

// messages yields the messages of a subject after a sequence, up to the last message present at the start.
func (e *Engine) messages(ctx context.Context, s jetstream.Stream, subject string, after uint64) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		last, err := s.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			if !errors.Is(err, jetstream.ErrMsgNotFound) {
				yield(message{}, e.failed(err))
			}
			return
		}
		at, more := after, last.Sequence > after
		for failed := 0; more; {
			from := at
			err := e.fetch(ctx, s, subject, at, func(m message) bool {
				if m.Seq > at {
					at, more = m.Seq, yield(m, nil) && m.Seq < last.Sequence
				}
				return more
			})
			if failed++; at > from {
				failed = 0
			}
			if more && (failed > attemptsToRead || pause(ctx, 20*time.Millisecond) != nil) {
				yield(message{}, e.failed(err))
				return
			}
		}
	}
}

// attemptsToRead limits how many times in a row a consumer that delivers nothing is replaced: its server may be down.
const attemptsToRead = 3

// fetch calls f with the messages after a sequence, until f returns false. It reads through a new consumer and then deletes it: otherwise
// the servers keep it until its inactivity timeout, in a log that all of them replay when they start.
func (e *Engine) fetch(ctx context.Context, s jetstream.Stream, subject string, after uint64, f func(message) bool) error {
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: subject, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		AckPolicy: jetstream.AckNonePolicy, Replicas: 1, MemoryStorage: true, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	for next := uint64(1); ; {
		to, more, err := e.fetchSome(ctx, c, next, f)
		if err != nil {
			return err // the consumer stays, because a request to delete it would fail, too
		}
		if !more {
			return s.DeleteConsumer(ctx, c.CachedInfo().Name)
		}
		next = to
	}
}

// fetchSome calls f with some messages, and returns the number of the consumer's next message. next is the number of the first message.
func (e *Engine) fetchSome(ctx context.Context, c jetstream.Consumer, next uint64, f func(message) bool) (_ uint64, more bool, err error) {
	short, cancel := context.WithTimeout(ctx, e.c.Timeout)
	defer cancel()
	const most, maxBytes = 200, 4 << 20 // every message is smaller than maxBytes
	all, err := c.Fetch(most, jetstream.FetchContext(short), jetstream.FetchMaxBytes(maxBytes))
	if err != nil {
		return 0, false, err
	}
	from := next
	for m := range all.Messages() {
		d, err := m.Metadata()
		if err != nil {
			return 0, false, err
		}
		if d.Sequence.Consumer != next { // a message was lost in transit, or the consumer has restarted
			return 0, false, fmt.Errorf("nats: the consumer delivers %d for %d", d.Sequence.Consumer, next)
		}
		next++
		prev, _ := strconv.ParseUint(m.Headers().Get(headerPrev), 10, 64)
		if !f(message{cluster.Entry{Seq: d.Sequence.Stream, Nonce: nonceOf(m.Headers()), Data: m.Data(), At: d.Timestamp}, prev}) {
			return next, false, nil
		}
	}
	if next == from {
		return 0, false, fmt.Errorf("nats: the consumer delivers nothing: %w", all.Error())
	}
	return next, true, nil
}

// Trim implements cluster.Journals.
func (e *Engine) Trim(ctx context.Context, shard int, below uint64) error {
	last, err := e.Last(ctx, shard)
	if err != nil || last.Seq == 0 {
		return err
	}
	s, subject := e.log(shard)
	return e.purge(ctx, s, subject, min(below, last.Seq)) // last may be stale and too low: then fewer records are removed, which is safe
}

func (e *Engine) purge(ctx context.Context, s jetstream.Stream, subject string, below uint64) error {
	return e.failed(s.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(below)))
}
