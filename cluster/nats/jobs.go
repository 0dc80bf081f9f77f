package nats

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// Stored is a job that servers keep.
type Stored struct {
	Name   string
	Whole  bool      // false: its creation or deletion was cut off, and only Delete is of use
	Shards int       // 0 unless it is whole
	End    string    // why it is over; "" if it is not, or not whole
	Bytes  uint64    // size of its streams, without their replicas
	Made   time.Time // when its first stream was
}

// streamName matches the streams of a job: the name, and which one it is.
var streamName = regexp.MustCompile(`^(?:AMBLE_([A-Za-z0-9_-]+)_(CTL|DEAD|LOG_\d+|IN_\d+)|OBJ_AMBLE_([A-Za-z0-9_-]+)_SNAP)$`)

// List returns the jobs that the servers keep, by name. The Job of c is not used. Errors are those of [Check].
func List(ctx context.Context, c Config) ([]Stored, error) {
	c.Job = "list" // names the connection
	e, err := reach(ctx, c)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	found := map[string]*Stored{}
	streams := e.js.ListStreams(ctx)
	for s := range streams.Info() {
		m := streamName.FindStringSubmatch(s.Config.Name)
		if m == nil {
			continue
		}
		name := m[1] + m[3]
		x := found[name]
		if x == nil {
			x = &Stored{Name: name, Made: s.Created}
			found[name] = x
		}
		x.Whole = x.Whole || m[2] == "CTL"
		x.Bytes += s.State.Bytes
		if s.Created.Before(x.Made) {
			x.Made = s.Created
		}
	}
	if err := streams.Err(); err != nil {
		return nil, e.failed(err)
	}
	var all []Stored
	for _, x := range found {
		if x.Whole {
			if err := e.describe(ctx, x); err != nil {
				return nil, fmt.Errorf("job %s: %w", x.Name, err)
			}
		}
		all = append(all, *x)
	}
	slices.SortFunc(all, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// describe reads what a job's own registers say.
func (e *Engine) describe(ctx context.Context, x *Stored) error {
	of := *e
	of.c.Job = x.Name
	var err error
	if of.ctl, err = e.js.Stream(ctx, of.c.stream("CTL")); err != nil {
		return of.failed(err)
	}
	j, err := cluster.LoadJob(ctx, &of)
	if errors.Is(err, cluster.ErrNoJob) {
		x.Whole = false // cut off before its settings were stored
		return nil
	}
	if err != nil {
		return err
	}
	x.Shards = j.Shards
	x.End, err = cluster.LoadEnd(ctx, &of)
	return err
}

// Delete removes a job from the servers, whole or not: its journals, links, files and registers, for good. What its nodes have written
// stays, but cannot be collected any more. Nobody should be working on the job. A Delete that was cut off can be repeated. The error
// wraps ErrNoJob if the servers keep nothing of that name, and is one of [Check].
func Delete(ctx context.Context, c Config) error {
	e, err := reach(ctx, c)
	if err != nil {
		return err
	}
	defer e.Close()
	var all []string
	names := e.js.StreamNames(ctx)
	for name := range names.Name() {
		if m := streamName.FindStringSubmatch(name); m != nil && m[1]+m[3] == c.Job {
			all = append(all, name)
		}
	}
	if err := names.Err(); err != nil {
		return e.failed(err)
	}
	if len(all) == 0 {
		return fmt.Errorf("%w: %s on %s", ErrNoJob, c.Job, c.URLs)
	}
	slices.Sort(all) // AMBLE_…_CTL comes first: what is left of a job without it is no job
	for _, name := range all {
		if err := e.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return e.failed(fmt.Errorf("stream %s: %w", name, err))
		}
	}
	return nil
}
