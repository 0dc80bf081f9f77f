package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
)

// clusterCmd is "amble cluster".
type clusterCmd struct {
	Serve   clusterServeCmd   `cmd:"" help:"Run a server of the engine in which a job is kept."`
	Create  clusterCreateCmd  `cmd:"" hidden:"" help:"Create a job: all flags of crawl, except for where it is kept."`
	Work    clusterWorkCmd    `cmd:"" help:"Work on a job until it is over."`
	Job     clusterJobCmd     `cmd:"" help:"Look at a job, stop or resume it, collect what its nodes have written."`
	Status  clusterStatusCmd  `cmd:"" hidden:"" help:"Say who works on which shards, and how far the job is."`
	Stop    clusterStopCmd    `cmd:"" hidden:"" help:"End a job for all its nodes; what is left stays queued."`
	Resume  clusterResumeCmd  `cmd:"" hidden:"" help:"Let nodes work on a job again that was stopped or has ended."`
	Collect clusterCollectCmd `cmd:"" hidden:"" help:"Make one job directory of what the nodes have written."`
	Check   clusterCheckCmd   `cmd:"" hidden:"" help:"Compare the journals with each other and with what the nodes have written."`
}

// Help returns the beginning of the command's help.
func (*clusterCmd) Help() string {
	return `Examples:

	amble crawl --job shops --config shops.yaml -i seeds.txt
	amble cluster work --job shops --name node1 -o node1
	amble cluster job collect --job shops -o shops node1 node2

Exit codes: 0 done, 1 the engine has failed, 2 usage, 6 output or faults, 9 the servers of the engine cannot be used just now,
130 or 143 interrupted.

One crawl on several machines: docs/cluster.md.`
}

// defaultEngine is the server of an engine on this machine.
const defaultEngine = "nats://127.0.0.1:4222"

// engineFlags select the engine of a job.
type engineFlags struct {
	Cluster      string `group:"Engine:" default:"${engine}" placeholder:"URLS" help:"Servers of the engine, NATS with JetStream 2.12 or newer, separated by commas (${default})."`
	Job          string `group:"Engine:" required:"" placeholder:"NAME" help:"Name of the job: letters, digits, - and _."`
	engineAccess `group:"Engine:"`
}

// engineAccess holds the flags for authentication with the servers of an engine.
type engineAccess struct {
	ClusterCreds string `placeholder:"FILE" help:"Credentials: a .creds file of NATS, or one line with a token or user:password (the token of a server that this user runs on this machine)."`
	ClusterCA    string `name:"cluster-ca" placeholder:"FILE" help:"Certificates (PEM) that those of the servers are signed by."`
	ClusterCert  string `placeholder:"FILE" help:"This machine's certificate, for servers that want one."`
	ClusterKey   string `placeholder:"FILE" help:"Its key."`
}

func (f *engineAccess) access(urls string) nats.Access {
	return nats.Access{Creds: cmp.Or(f.ClusterCreds, findToken(urls)), CA: f.ClusterCA, Cert: f.ClusterCert, Key: f.ClusterKey}
}

func (f *engineFlags) config() (nats.Config, error) {
	c := nats.Config{URLs: f.Cluster, Job: f.Job}
	var err error
	c.Options, err = f.access(f.Cluster).Options()
	return c, cli.UsageOf("--cluster-creds, --cluster-ca: ", err)
}

// open connects to an existing job.
func (f *engineFlags) open(ctx context.Context) (*nats.Engine, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if c, err = nats.Find(short, c); errors.Is(err, nats.ErrNoJob) {
		return nil, cli.Exit(cli.ExitUsage, fmt.Errorf("%w, with amble crawl --job %s", err, f.Job))
	} else if err != nil {
		return nil, clusterError(err)
	}
	e, err := nats.Connect(short, c)
	return e, clusterError(err)
}

// with calls fn with a connection to the job, and a context that the first signal cancels.
func (f *engineFlags) with(a *app, fn func(ctx context.Context, e *nats.Engine) error) error {
	return untilSignalled(a, func(ctx context.Context) error {
		e, err := f.open(ctx)
		if err != nil {
			return err
		}
		defer e.Close()
		return fn(ctx, e)
	})
}

// untilSignalled calls fn with a context that the first signal cancels. It gives the error of fn an exit code: that of the signal if there
// was one.
func untilSignalled(a *app, fn func(ctx context.Context) error) error {
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	err := clusterError(fn(ctx))
	if code := endedBy(ctx); code != 0 && err != nil {
		return cli.Exit(code, nil)
	}
	return err
}

// withJobs calls fn with the servers and the jobs on them, and a context that the first signal cancels.
func (f *engineFlags) withJobs(a *app, fn func(ctx context.Context, servers nats.Config, jobs []nats.Stored) error) error {
	return untilSignalled(a, func(ctx context.Context) error {
		servers, err := f.config()
		if err != nil {
			return err
		}
		jobs, err := nats.List(ctx, servers)
		if err != nil {
			return err
		}
		return fn(ctx, servers, jobs)
	})
}

// clusterError adds to an error of the cluster its exit code and advice.
func clusterError(err error) error {
	var told *cli.Error
	var of *job.Error
	switch {
	case err == nil, errors.As(err, &told):
		return err
	case errors.Is(err, work.ErrMissing), errors.Is(err, work.ErrFull), errors.Is(err, syscall.ENOSPC), errors.As(err, new(*fs.PathError)):
		return cli.Exit(cli.ExitOutput, err)
	case errors.As(err, &of), errors.As(err, new(*job.KeyError)):
		return keyflags.Errors(err)
	case errors.Is(err, cluster.ErrNoJob) && !errors.Is(err, nats.ErrNoJob):
		return cli.Exit(cli.ExitUsage, errors.New("the creation of the job was interrupted: repeat amble crawl --job"))
	case slices.ContainsFunc(wrong, func(x error) bool { return errors.Is(err, x) }):
		return cli.Exit(cli.ExitUsage, advised(err))
	case nats.Away(err):
		return cli.Exit(cli.ExitUnavailable, err)
	}
	return cli.Exit(cli.ExitInternal, err)
}

// wrong lists the errors of the cluster that the user of the command can fix. All others come from the engine, or are bugs.
var wrong = []error{
	cluster.ErrValue, cluster.ErrNoJob, cluster.ErrJobExists, cluster.ErrOver, cluster.ErrFaster, cluster.ErrTooMany, cluster.ErrName, cluster.ErrAtWork,
	nats.ErrNoJob, nats.ErrExists, nats.ErrCredentials, nats.ErrTLS,
	work.ErrOrder, work.ErrNotAllowed, work.ErrHeld, work.ErrDir, work.ErrTooManySeeds, job.ErrProgram, politeness.ErrShorter,
}

// advised adds to an error of the cluster the flags that solve it.
func advised(err error) error {
	var refused *work.NotAllowedError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("%w; to allow it, start the node with %s", err, allowing(refused.Refused))
	case errors.Is(err, work.ErrTooManySeeds):
		return fmt.Errorf("%w: create the job with a few of them and add the others: amble cluster job add --job NAME FILE", err)
	case errors.Is(err, work.ErrHeld):
		return fmt.Errorf("%w (--name, -o)", err)
	case errors.Is(err, cluster.ErrAtWork):
		return fmt.Errorf("%w: amble cluster job drain; status says when", err)
	case errors.Is(err, cluster.ErrOver):
		return fmt.Errorf("%w: after amble cluster job resume it takes orders again", err)
	case errors.Is(err, nats.ErrCredentials):
		return fmt.Errorf("%w: check --cluster-creds; a server that was given none has made the file token in its directory", err)
	case errors.Is(err, nats.ErrTLS):
		return fmt.Errorf("%w: check --cluster-ca, --cluster-cert, and that the address begins with tls://", err)
	}
	return err
}

// allowing returns the flags that permit files and variables that a node has refused. There is no flag for a browser.
func allowing(refused []job.Outside) string {
	var flags []string
	for _, x := range refused {
		switch x.Kind {
		case job.OutsideVariable:
			flags = append(flags, "--allow-env "+x.Name)
		case job.OutsideFile:
			flags = append(flags, "--allow-file "+x.Name)
		}
	}
	slices.Sort(flags)
	return cmp.Or(strings.Join(slices.Compact(flags), " "), "another job: nothing allows this")
}

// clusterStopCmd is "amble cluster stop".
type clusterStopCmd struct{ engineFlags }

// Run executes the command.
func (c *clusterStopCmd) Run(a *app) error { return c.order(a, "drain") }

// clusterResumeCmd is "amble cluster resume".
type clusterResumeCmd struct{ engineFlags }

// Run executes the command.
func (c *clusterResumeCmd) Run(a *app) error { return c.order(a, "resume") }
