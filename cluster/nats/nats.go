// Package nats is a cluster.Engine in NATS JetStream: a cluster of nats-servers, version 2.12 or newer, that the operator runs.
//
//	c := nats.Config{URLs: "nats://10.0.0.1:4222", Job: "shops", Shards: 64, Replicas: 1}
//	err := nats.Create(ctx, c)
//	engine, err := nats.Connect(ctx, c)
//	defer engine.Close()
//	err = work.Create(ctx, engine, &work.Spec{Config: config, Seeds: seeds, Shards: c.Shards}) // the job
//	node := work.Node{Engine: engine, Name: "n1", Dir: "n1", JobName: c.Job}                  // on each machine
//	err = node.Run(ctx)
//
// Every server must sync each write (sync_interval: always). Otherwise, servers that lose power at the same time lose acknowledged
// data, whatever the number of replicas.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// Config selects the servers and the job of an Engine.
type Config struct {
	// URLs are the URLs of the servers, such as "nats://10.0.0.1:4222", separated by commas.
	URLs string
	// Job is the job's name: letters, digits, "-" and "_".
	Job string
	// Shards is the number of shards with which the job was created. Shards added later by doubling use the same streams.
	Shards int
	// Replicas is the number of servers that store each stream: 1, 3 or 5. 0: 3. Only Create uses it.
	Replicas int
	// Options are further options of the connection, such as nats.UserCredentials and nats.RootCAs.
	Options []nats.Option
	// Timeout limits the time until a call is answered. 0: 5 s.
	Timeout time.Duration

	ping     time.Duration // set by tests; 0: the constant pingEvery
	patience time.Duration // set by tests; 0: the constant patience
	part     int64         // set by tests; 0: the constant partSize
}

// pingEvery is the interval of pings on a connection. After three pings without an answer, the client connects to the next server. So it
// notices a connection that was cut silently, in less time than the shortest lease.
const pingEvery = 2 * time.Second

// Errors of [Create], [Connect], [Check] and [Find].
var (
	ErrExists = errors.New("nats: the job exists")
	ErrNoJob  = errors.New("nats: no such job")
	// ErrCredentials and ErrTLS are reasons why servers cannot be used (ErrServer): the client's credentials, or certificates.
	ErrCredentials = errors.New("credentials refused")
	ErrTLS         = errors.New("no secure connection")
	// ErrFull is wrapped by errors of all calls that store data.
	ErrFull = errors.New("nats: the disk of a server is full")
)

// Engine is a connection to one job's streams. It implements cluster.Engine.
type Engine struct {
	c    Config
	nc   *nats.Conn
	js   jetstream.JetStream
	snap jetstream.ObjectStore
	logs []jetstream.Stream
	in   []jetstream.Stream
	ctl  jetstream.Stream
	k    *Clocks
}

var _ cluster.Engine = (*Engine)(nil)

const maxJobName = 100

var jobName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (c Config) validate() error {
	switch {
	case len(c.Job) > maxJobName || !jobName.MatchString(c.Job):
		return fmt.Errorf("%w: the job name %q has other characters than letters, digits, - and _, or is empty or too long", cluster.ErrValue, c.Job)
	case c.Shards < 1:
		return fmt.Errorf("%w: a job has at least one shard, not %d", cluster.ErrValue, c.Shards)
	case c.Replicas != 0 && c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5:
		return fmt.Errorf("%w: %d replicas: must be 1, 3 or 5", cluster.ErrValue, c.Replicas)
	}
	return nil
}

// groups returns the number of streams for journals, which is also that for inboxes.
func (c Config) groups() int { return min(max(c.Shards/8, 1), 32) }

func (c Config) stream(kind string) string { return "AMBLE_" + c.Job + "_" + kind }

func (c Config) subject(parts ...any) string {
	return "amble." + c.Job + "." + strings.TrimSuffix(fmt.Sprintf(strings.Repeat("%v.", len(parts)), parts...), ".")
}

// Create creates the streams of a new job. The error wraps ErrExists if there is a job of that name.
func Create(ctx context.Context, c Config) error {
	e, err := dial(c)
	if err != nil {
		return err
	}
	defer e.Close()
	err = c.placed(ctx, func(ctx context.Context) error {
		_, err := e.js.Stream(ctx, c.stream("CTL"))
		return err
	})
	if err == nil {
		return fmt.Errorf("%w: %s: choose another name", ErrExists, c.Job)
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return e.failed(err)
	}
	for g := range c.groups() {
		for _, kind := range []string{"log", "in"} {
			if err := e.create(ctx, e.group(kind, g)); err != nil {
				return err
			}
		}
	}
	if err := e.create(ctx, e.deadLetters()); err != nil {
		return err
	}
	if err := e.c.placed(ctx, func(ctx context.Context) error {
		_, err := e.js.CreateObjectStore(ctx, e.bucket())
		return err
	}); err != nil {
		return e.failed(err)
	}
	ctl := e.settings("CTL", c.subject("ctl", ">"))
	ctl.MaxMsgsPerSubject = 1
	return e.create(ctx, ctl) // created last: a job that has this stream is whole
}

func (e *Engine) create(ctx context.Context, s jetstream.StreamConfig) error {
	if err := e.c.placed(ctx, func(ctx context.Context) error {
		_, err := e.js.CreateOrUpdateStream(ctx, s)
		return err
	}); err != nil {
		return e.failed(fmt.Errorf("stream %s: %w", s.Name, err))
	}
	return nil
}

// placed calls ask, which creates or looks up a stream, and repeats the call while the servers find too few of them running: a server that
// has just started, or answered slowly, counts as offline for some seconds. Servers that elect a leader may never answer a request,
// so it is sent again.
func (c Config) placed(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.patience, patience))
	defer cancel()
	for {
		short, cancel := context.WithTimeout(ctx, patience/4)
		err := ask(short)
		cancel()
		var api *jetstream.APIError
		again := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &api) && (api.ErrorCode == errNoPeers || api.ErrorCode == noLeader)
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func (e *Engine) settings(kind, subject string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: e.c.stream(kind), Subjects: []string{subject}, Storage: jetstream.FileStorage, Replicas: e.replicas(),
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxMsgs: -1, MaxBytes: -1, Duplicates: 2 * time.Minute,
	}
}

func (e *Engine) group(kind string, g int) jetstream.StreamConfig {
	return e.settings(fmt.Sprintf("%s_%d", strings.ToUpper(kind), g), e.c.subject(kind, g, "*"))
}

// deadLetters returns the stream of messages put aside: one message per subject, named after the message's sequence in the inbox.
func (e *Engine) deadLetters() jetstream.StreamConfig {
	s := e.settings("DEAD", e.c.subject("dead", ">"))
	s.MaxMsgsPerSubject = 1
	return s
}

func (e *Engine) bucket() jetstream.ObjectStoreConfig {
	return jetstream.ObjectStoreConfig{Bucket: e.c.stream("SNAP"), Storage: jetstream.FileStorage, Replicas: e.replicas()}
}

func (e *Engine) replicas() int {
	if e.c.Replicas == 0 {
		return 3
	}
	return e.c.Replicas
}

// Connect connects a node to a job. The error wraps ErrNoJob if there is no job of that name with that many shards.
func Connect(ctx context.Context, c Config) (*Engine, error) {
	e, err := dial(c)
	if err != nil {
		return nil, err
	}
	if err := e.open(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func dial(c Config) (*Engine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	options := append([]nats.Option{
		nats.Name("amble " + c.Job), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(cmp.Or(c.ping, pingEvery)), nats.MaxPingsOutstanding(2),
	}, c.Options...)
	nc, err := nats.Connect(c.URLs, options...)
	if err != nil {
		return nil, fmt.Errorf("nats: no connection to %s: %w: is the server running, and are the credentials right?", c.URLs, err)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(c.Timeout))
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("nats: %w", err)
	}
	return &Engine{c: c, nc: nc, js: js, k: &Clocks{js: js, streams: map[string]jetstream.Stream{}}}, nil
}

func (e *Engine) open(ctx context.Context) (err error) {
	if e.ctl, err = e.js.Stream(ctx, e.c.stream("CTL")); err != nil {
		return e.failed(err)
	}
	for g := range e.c.groups() {
		for kind, to := range map[string]*[]jetstream.Stream{"log": &e.logs, "in": &e.in} {
			s, err := e.js.Stream(ctx, e.group(kind, g).Name)
			if err != nil {
				return e.failed(err)
			}
			*to = append(*to, s)
		}
	}
	if _, err := e.js.Stream(ctx, e.c.stream(fmt.Sprintf("LOG_%d", e.c.groups()))); err == nil {
		return fmt.Errorf("%w: %s was created with more shards than %d", ErrNoJob, e.c.Job, e.c.Shards)
	}
	if err := e.readLeader(ctx); err != nil {
		return err
	}
	e.snap, err = e.js.ObjectStore(ctx, e.bucket().Bucket)
	return e.failed(err)
}

// readLeader has files be read only from their stream's leader: other replicas may lag and return deleted or replaced files.
func (e *Engine) readLeader(ctx context.Context) error {
	s, err := e.js.Stream(ctx, "OBJ_"+e.bucket().Bucket)
	if err != nil {
		return e.failed(err)
	}
	settings := s.CachedInfo().Config
	if !settings.AllowDirect {
		return nil
	}
	settings.AllowDirect = false
	_, err = e.js.UpdateStream(ctx, settings)
	return e.failed(err)
}

// failed translates an error to the errors of this package.
func (e *Engine) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return fmt.Errorf("%w: %s on %s, or not with %d shards: create it first", ErrNoJob, e.c.Job, e.c.URLs, e.c.Shards)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("nats: JetStream is not available on %s: %w", e.c.URLs, err)
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == errNoResources || api.ErrorCode == errNoStorage) {
		return fmt.Errorf("%w: %w", ErrFull, api)
	}
	return fmt.Errorf("nats: %w", err)
}

// Error codes of a server when disk space is missing, or there are fewer servers than replicas.
const (
	errNoResources = 10023
	errNoStorage   = 10047
	errNoPeers     = 10005
)

// Close ends the connection.
func (e *Engine) Close() { e.nc.Close() }
