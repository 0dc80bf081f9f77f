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

// Stored describes a job on the servers.
type Stored struct {
	Name   string
	Whole  bool      // false if the creation or deletion was interrupted: then only Delete is possible
	Shards int       // number of shards; 0 if the job is not whole
	End    string    // why the job ended; "": it has not ended, or is not whole
	Bytes  uint64    // size of its streams, without replicas
	Made   time.Time // creation time of its first stream
}

// streamName matches the names of a job's streams, with the job's name and the kind of stream.
var streamName = regexp.MustCompile(`^(?:AMBLE_([A-Za-z0-9_-]+)_(CTL|DEAD|LOG_\d+|IN_\d+)|OBJ_AMBLE_([A-Za-z0-9_-]+)_SNAP)$`)

// List returns the jobs on the servers, sorted by name. It ignores c.Job. The errors are those of [Check].
func List(ctx context.Context, c Config) ([]Stored, error) {
	c.Job = "list" // used only as the name of the connection
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

// describe sets the fields of x that are stored in the job's registers.
func (e *Engine) describe(ctx context.Context, x *Stored) error {
	of := *e
	of.c.Job = x.Name
	var err error
	if of.ctl, err = e.js.Stream(ctx, of.c.stream("CTL")); err != nil {
		return of.failed(err)
	}
	j, err := cluster.LoadJob(ctx, &of)
	if errors.Is(err, cluster.ErrNoJob) {
		x.Whole = false // creation was interrupted before its settings were stored
		return nil
	}
	if err != nil {
		return err
	}
	x.Shards = j.Shards
	x.End, err = cluster.LoadEnd(ctx, &of)
	return err
}

// Delete permanently removes a job, whole or not, from the servers: its journals, links, files and registers. The nodes' directories
// stay, but can no longer be collected. No node should be working on the job. An interrupted Delete can be repeated. The error wraps
// ErrNoJob if the servers have no such job, or is one of [Check].
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
	slices.Sort(all) // AMBLE_…_CTL comes first: a job without this stream is not whole
	for _, name := range all {
		if err := e.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return e.failed(fmt.Errorf("stream %s: %w", name, err))
		}
	}
	return nil
}
