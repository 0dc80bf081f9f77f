package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/weburl"
)

// clusterCreateCmd is "amble cluster create".
type clusterCreateCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	engineFlags
	shardFlags `group:"Job:"`

	configFlag `group:"Who crawls:"`
	Seeds      string `short:"i" group:"What:"`
	kong.Plugins
}

// shardFlags configure how a job is divided among nodes.
type shardFlags struct {
	Shards   int           `default:"64" placeholder:"N" help:"Parts of the crawl, at least 4 for each node; fixed once the job is created (${default})."`
	Replicas int           `default:"3" placeholder:"N" help:"On how many servers everything is stored: 1, 3 or 5 (${default})."`
	Lease    time.Duration `default:"30s" placeholder:"D" help:"How long a node that is silent keeps its shards; at least 6s (${default})."`
	MaxSkew  time.Duration `default:"500ms" placeholder:"D" help:"Max difference between the clock of a node and the engine's (${default})."`
}

// clusterJobFlags make "amble crawl" create a job for the nodes of a cluster.
type clusterJobFlags struct {
	Job string `placeholder:"NAME" help:"Do not crawl here: create this job on the engine --cluster (${engine}), for nodes to work on."`
	shardFlags
}

// Help returns the beginning of the command's help.
func (*clusterCreateCmd) Help() string {
	return `Examples:

	amble crawl --job shops --config shops.yaml -i seeds.txt
	amble crawl --job shops --config shops.yaml --shards 128
	amble cluster create --job shops --config shops.yaml --shards 128

Nothing is requested before nodes work on the job. Its settings are those given here: nodes have none of their own.
Files that they name have to be at the same place on every node.`
}

// Run executes the command.
func (c *clusterCreateCmd) Run(a *app, o *keyflags.Origins) error {
	seeds, err := operator.Seeds(o, c.URLs, c.Seeds, a.in)
	if err != nil {
		return err
	}
	return c.create(a, o, &c.engineFlags, seeds)
}

// createOnCluster creates the job on the engine; the crawl is not run here.
func (c *crawlCmd) createOnCluster(a *app, o *keyflags.Origins, seeds []weburl.URL) error {
	if c.Out != "" {
		return cli.Usage("--job and --out: a job on a cluster is in the directories of its nodes; amble cluster work names them")
	}
	engine := engineFlags{Cluster: cmp.Or(c.Cluster, defaultEngine), Job: c.Job, engineAccess: c.engineAccess}
	return c.create(a, o, &engine, seeds)
}

// create creates a job from the operator's settings and the seeds.
func (f *shardFlags) create(a *app, o *keyflags.Origins, on *engineFlags, seeds []weburl.URL) error {
	cfg, err := o.Config()
	_, idErr := operator.Identity(&cfg.Crawl, seeds)
	if err := firstUsage(idErr, err, checkScope(&cfg, o),
		cli.Refuse(cfg.Crawl.Sample.N > 0, "sample: no node of a cluster knows when all sitemaps are read: leave it out, or crawl on one machine")); err != nil {
		return err
	}
	spec := &work.Spec{Config: cfg, Seeds: seeds, Shards: f.Shards, Lease: f.Lease, MaxSkew: f.MaxSkew}
	if _, err := spec.Check(); err != nil {
		return clusterError(err)
	}
	engine, err := on.config()
	if err != nil {
		return err
	}
	engine.Shards, engine.Replicas = f.Shards, f.Replicas
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	if err := createJob(ctx, engine, spec); err != nil {
		return clusterError(err)
	}
	var creds string
	if on.ClusterCreds != "" {
		creds = " --cluster-creds " + cli.ShellWord(on.ClusterCreds)
	}
	fmt.Fprintf(a.err, "amble: job %s is created: %s; work on it with\n  amble cluster work --cluster %s%s --job %s --name NAME -o DIR\n",
		on.Job, cli.Plural(f.Shards, "shard"), on.Cluster, creds, on.Job)
	return nil
}

// createJob creates a job, or completes one whose creation was interrupted.
func createJob(ctx context.Context, c nats.Config, spec *work.Spec) error {
	if err := nats.Check(ctx, c); err != nil {
		return err
	}
	err := nats.Create(ctx, c)
	if err != nil && !errors.Is(err, nats.ErrExists) {
		return err
	}
	if err != nil {
		found, err := nats.Find(ctx, c)
		if err == nil && found.Shards != c.Shards {
			return cli.Usage("there is a job %s, with --shards %d, which cannot be changed: choose another --job", c.Job, found.Shards)
		}
		if !errors.Is(err, cluster.ErrNoJob) {
			if err == nil {
				err = cli.Usage("there is a job %s already: choose another --job, or work on it", c.Job)
			}
			return err
		}
	}
	e, err := nats.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer e.Close()
	return work.Create(ctx, e, spec)
}
