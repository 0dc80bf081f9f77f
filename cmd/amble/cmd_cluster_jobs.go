package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/internal/cli"
)

// clusterJob is a job in the output of list.
type clusterJob struct {
	Name   string    `json:"name"`
	State  string    `json:"state"` // running, incomplete, or the reason for the end
	Shards int       `json:"shards"`
	Bytes  uint64    `json:"bytes"` // size in the engine, without replicas
	Made   time.Time `json:"made"`
}

// list prints the jobs of an engine.
func (c *clusterJobCmd) list(a *app, f engineFlags) error {
	return f.withJobs(a, func(_ context.Context, _ nats.Config, stored []nats.Stored) error {
		all := []clusterJob{}
		for _, x := range stored {
			state := cmp.Or(x.End, "running")
			if !x.Whole {
				state = "incomplete"
			}
			all = append(all, clusterJob{x.Name, state, x.Shards, x.Bytes, x.Made.UTC()})
		}
		if c.JSON {
			return cli.PrintJSON(a.out, map[string]any{"jobs": all})
		}
		if len(all) == 0 {
			fmt.Fprintf(a.err, "amble: no jobs on %s\n", cli.Printable(c.Cluster))
			return nil
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "job\tstate\tshards\tin the engine\tcreated")
		for _, x := range all {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", x.Name, strings.ReplaceAll(x.State, "_", " "), x.Shards, cli.Bytes(int64(x.Bytes)), x.Made.Format("2006-01-02 15:04"))
		}
		return w.Flush()
	})
}

// delete removes a job from the engine, if it is over and collected, or if its creation or deletion was interrupted.
func (f *engineFlags) delete(a *app, partial bool) error {
	return f.withJobs(a, func(ctx context.Context, servers nats.Config, all []nats.Stored) error {
		i := slices.IndexFunc(all, func(x nats.Stored) bool { return x.Name == f.Job && x.Whole })
		if i >= 0 && all[i].End == "" {
			return cli.Usage("job %s is not over: end it with amble cluster job stop --job %s, and collect it", f.Job, f.Job)
		}
		if i >= 0 && !partial {
			if err := f.wasCollected(ctx); err != nil {
				return err
			}
		}
		if err := nats.Delete(ctx, servers); err != nil {
			return err
		}
		fmt.Fprintf(a.err, "amble: job %s is deleted; the directories of its nodes are as they were\n", f.Job)
		return nil
	})
}

// wasCollected returns an error if deleting the job from the engine would lose results.
func (f *engineFlags) wasCollected(ctx context.Context) error {
	e, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	ok, err := cluster.IsCollected(ctx, e)
	if err == nil && !ok {
		err = cli.Usage("job %s is not collected, or its nodes have committed more since, and their directories cannot be put together without it: collect it first; --partial deletes it nevertheless", f.Job)
	}
	return err
}
