package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// Clocks gives access to the clocks that all jobs on some servers share. It implements cluster.ClockStore. The servers keep clocks in
// memory, because clocks are stored several times for each request and expire within a minute. Beside them there is a message that never
// expires: if it is missing, the clocks were lost. A stream on disk counts how often that happened.
type Clocks struct {
	js    jetstream.JetStream
	close func() // nil: the connection belongs to an Engine

	mu      sync.Mutex
	streams map[string]jetstream.Stream
}

const (
	clockStream  = "AMBLE_CLOCKS"
	eraStream    = "AMBLE_ENGINE"
	robotsStream = "AMBLE_ROBOTS"
	clockPrefix  = "amble.$clocks." // "$clocks" cannot be the name of a job
	robotsPrefix = "amble.$robots."
	eraSubject   = "amble.$engine.era"

	robotsMax = 64 << 20 // maximum total bytes of all robots.txt files
)

// ConnectClocks connects to the clocks of servers, for a crawl that is not a cluster job. It ignores Config.Job and Shards.
func ConnectClocks(ctx context.Context, c Config) (*Clocks, error) {
	c.Job, c.Shards = "clocks", 1
	e, err := dial(c)
	if err != nil {
		return nil, err
	}
	k := e.k
	k.close = e.Close
	if _, _, err := k.Era(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return k, nil
}

// Close ends the connection.
func (k *Clocks) Close() {
	if k.close != nil {
		k.close()
	}
}

// Clocks implements cluster.Engine.
func (e *Engine) Clocks() cluster.ClockStore { return e.k }

// LoadClock implements cluster.ClockStore.
func (k *Clocks) LoadClock(ctx context.Context, key string) (value []byte, rev uint64, err error) {
	return k.load(ctx, clockStream, clockPrefix+clockToken(key))
}

// StoreClock implements cluster.ClockStore.
func (k *Clocks) StoreClock(ctx context.Context, key string, value []byte, rev uint64, life time.Duration) (uint64, error) {
	return k.store(ctx, clockStream, clockPrefix+clockToken(key), value, rev, lifetime(life))
}

// lifetime returns an option that lets the server remove a message after life, in whole seconds.
func lifetime(life time.Duration) jetstream.PublishOpt {
	return jetstream.WithMsgTTL(max(time.Second, life.Round(time.Second)+time.Second))
}

// LoadRobots implements cluster.RobotsStore.
func (k *Clocks) LoadRobots(ctx context.Context, name string) ([]byte, error) {
	b, _, err := k.load(ctx, robotsStream, robotsPrefix+name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil // the stream is made when the first file is stored
	}
	return b, err
}

// StoreRobots implements cluster.RobotsStore. The first call creates the stream.
func (k *Clocks) StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) error {
	_, err := k.stream(ctx, robotsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = k.create(ctx, jetstream.StreamConfig{
			Name: robotsStream, Subjects: []string{robotsPrefix + ">"}, Storage: jetstream.FileStorage, AllowMsgTTL: true,
			Discard: jetstream.DiscardOld, MaxBytes: robotsMax,
		})
	}
	if err == nil {
		_, err = k.js.PublishMsg(ctx, &nats.Msg{Subject: robotsPrefix + name, Data: file}, lifetime(life),
			jetstream.WithExpectStream(robotsStream), jetstream.WithRetryAttempts(0))
	}
	if err != nil {
		return clocksFailed(err)
	}
	return nil
}

// clockToken encodes a key as a part of a subject.
func clockToken(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == ':', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// stream returns the stream of that name. It looks up each stream only once.
func (k *Clocks) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	k.mu.Lock()
	s := k.streams[name]
	k.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := k.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.streams[name] = s
	return s, nil
}

func (k *Clocks) load(ctx context.Context, stream, subject string) (value []byte, rev uint64, err error) {
	m, err := k.last(ctx, stream, subject)
	if m == nil {
		return nil, 0, err
	}
	return append([]byte{}, m.Data...), m.Sequence, nil
}

// last returns the last message of a subject, nil if there is none.
func (k *Clocks) last(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	s, err := k.stream(ctx, stream)
	if err != nil {
		return nil, clocksFailed(err)
	}
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, clocksFailed(err)
	}
	return m, nil
}

func (k *Clocks) store(ctx context.Context, stream, subject string, value []byte, rev uint64, o ...jetstream.PublishOpt) (uint64, error) {
	o = append(o, jetstream.WithExpectLastSequencePerSubject(rev), jetstream.WithExpectStream(stream), jetstream.WithRetryAttempts(0))
	ack, err := k.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: value}, o...)
	switch {
	case err == nil:
		return ack.Sequence, nil
	case wrongSequence(err):
		return 0, cluster.ErrConflict
	}
	return 0, clocksFailed(err)
}

func clocksFailed(err error) error { return fmt.Errorf("nats: the clocks of the engine: %w", err) }

// mark is a message that records the era of the clocks and when it began.
type mark struct {
	Era   uint64    `json:"era"`
	Since time.Time `json:"since,omitzero"` // when the loss of earlier clocks was noticed; zero: none were lost
}

// beginTime is the time for which other processes wait for the one that begins an era. That process first increments the era on disk, and
// then stores the mark among the clocks.
const beginTime = time.Second

// Era implements cluster.ClockStore. It creates missing streams.
func (k *Clocks) Era(ctx context.Context) (era uint64, since time.Time, err error) {
	for range 100 {
		b, _, err := k.load(ctx, clockStream, clockPrefix+"era")
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if err = k.createClocks(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return 0, since, err
		}
		if len(b) > 0 {
			var m mark
			if err := json.Unmarshal(b, &m); err != nil {
				return 0, since, clocksFailed(err)
			}
			return m.Era, m.Since, nil
		}
		switch err := k.begin(ctx, beginTime); {
		case errors.Is(err, cluster.ErrConflict):
			select {
			case <-time.After(beginTime / 20):
			case <-ctx.Done():
				return 0, since, clocksFailed(ctx.Err())
			}
		case err != nil:
			return 0, since, err
		}
	}
	return 0, since, clocksFailed(cluster.ErrConflict)
}

// begin begins a new era, because the clocks have no mark. The error is ErrConflict if another process may be doing so, because the era was
// incremented less than the time within ago.
func (k *Clocks) begin(ctx context.Context, within time.Duration) error {
	counted, err := k.last(ctx, eraStream, eraSubject)
	if err != nil {
		return err
	}
	m, rev := mark{Era: 1}, uint64(0)
	if counted != nil {
		now, err := k.Now(ctx)
		if err != nil {
			return err
		}
		if age := now.Sub(counted.Time); age >= 0 && age < within {
			return cluster.ErrConflict
		}
		rev = counted.Sequence
		if n, err := strconv.ParseUint(string(counted.Data), 10, 64); err == nil {
			m = mark{n + 1, now}
		}
	}
	if _, err := k.store(ctx, eraStream, eraSubject, strconv.AppendUint(nil, m.Era, 10), rev); err != nil {
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return clocksFailed(err)
	}
	_, err = k.store(ctx, clockStream, clockPrefix+"era", b, 0)
	return err
}

// createClocks creates the streams of the clocks.
func (k *Clocks) createClocks(ctx context.Context) error {
	return k.create(ctx,
		jetstream.StreamConfig{Name: eraStream, Subjects: []string{eraSubject}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxBytes: -1},
		jetstream.StreamConfig{
			Name: clockStream, Subjects: []string{clockPrefix + ">"}, Storage: jetstream.MemoryStorage, AllowMsgTTL: true,
			Discard: jetstream.DiscardNew, MaxBytes: -1,
		})
}

// create creates streams that keep a value for each subject, on three servers if there are that many.
func (k *Clocks) create(ctx context.Context, all ...jetstream.StreamConfig) error {
	for _, s := range all {
		s.Retention, s.MaxMsgs, s.MaxMsgsPerSubject = jetstream.LimitsPolicy, -1, 1
		s.Replicas = 3
		_, err := k.js.CreateStream(ctx, s)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s.Replicas = 1
			_, err = k.js.CreateStream(ctx, s)
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return clocksFailed(err)
		}
	}
	return nil
}

// Now implements cluster.Clock: it returns the time of the server that leads the clocks' stream.
func (k *Clocks) Now(ctx context.Context) (time.Time, error) {
	s, err := k.js.Stream(ctx, clockStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err = k.createClocks(ctx); err == nil {
			s, err = k.js.Stream(ctx, clockStream)
		}
	}
	if err != nil {
		return time.Time{}, clocksFailed(err)
	}
	return s.CachedInfo().TimeStamp, nil
}
