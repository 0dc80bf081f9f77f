package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// ErrServer is wrapped by errors about unusable servers: unreachable, refusing the credentials, too old, or without JetStream.
var ErrServer = errors.New("nats: the servers cannot be used")

// Away reports whether an error of this package is temporary, or ends when an operator repairs the servers or frees disk space on them.
func Away(err error) bool {
	for _, passing := range []error{
		errAway, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrDisconnected,
		nats.ErrNoServers, jetstream.ErrNoStreamResponse, errUndecided,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code >= http.StatusInternalServerError && api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
}

// errAway is the error for servers that cannot be reached.
var errAway = errors.New("is a server running there?")

// Check connects to the servers. If they cannot be used, the error gives the reason and a remedy.
func Check(ctx context.Context, c Config) error {
	e, err := reach(ctx, c)
	if err == nil {
		e.Close()
	}
	return err
}

// Find returns c with Shards set to the number with which the job was created. The error wraps ErrServer, ErrNoJob or cluster.ErrNoJob.
func Find(ctx context.Context, c Config) (Config, error) {
	e, err := reach(ctx, c)
	if err != nil {
		return c, err
	}
	defer e.Close()
	if e.ctl, err = e.js.Stream(ctx, e.c.stream("CTL")); err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return c, fmt.Errorf("%w: %s on %s: create it first", ErrNoJob, c.Job, c.URLs)
		}
		return c, e.failed(err)
	}
	j, err := cluster.LoadJob(ctx, e)
	c.Shards = j.Shards >> j.Doubled
	return c, err
}

// reach connects to a server and checks that it can be used.
func reach(ctx context.Context, c Config) (*Engine, error) {
	c.Shards = max(1, c.Shards)
	if err := c.validate(); err != nil {
		return nil, err
	}
	e, err := dial(c)
	if err != nil {
		return nil, unreachable(c, err)
	}
	if v := e.nc.ConnectedServerVersion(); !atLeast(v, 2, 12) {
		e.Close()
		return nil, fmt.Errorf("%w: the server on %s is nats-server %s: 2.12 or newer is needed", ErrServer, c.URLs, v)
	}
	if err := e.answers(ctx); err != nil {
		e.Close()
		return nil, fmt.Errorf("%w: JetStream does not work on %s (%w): enable it with jetstream {store_dir: ...} in the server's configuration, and start a majority of the servers", ErrServer, c.URLs, err)
	}
	return e, nil
}

// patience limits the time that servers may take to find each other and elect a leader: they need some seconds after their start.
const patience = 20 * time.Second

// noLeader is the error code of servers that have had no leader for some time.
const noLeader = 10008

// answers checks that JetStream works. It repeats requests, because servers without a leader do not answer them, even if they elect one
// later.
func (e *Engine) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.c.patience, patience))
	defer cancel()
	for {
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, err := e.js.AccountInfo(short)
		var api *jetstream.APIError
		again := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &api) && api.ErrorCode == noLeader
		if again {
			<-short.Done()
		}
		cancel()
		if !again || ctx.Err() != nil {
			return err
		}
	}
}

func unreachable(c Config, err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%w: %w by %s", ErrServer, ErrCredentials, c.URLs)
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(err.Error(), "tls:"), strings.Contains(err.Error(), "x509:"):
		return fmt.Errorf("%w: %w to %s: %w", ErrServer, ErrTLS, c.URLs, err)
	}
	return fmt.Errorf("%w: no connection to %s: %w", ErrServer, c.URLs, errAway)
}

// atLeast reports whether a version, such as "2.12.1-RC.2", is not older than major.minor.
func atLeast(version string, major, minor int) bool {
	part := strings.SplitN(version, ".", 3)
	if len(part) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(part[0])
	b, err2 := strconv.Atoi(part[1])
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}
