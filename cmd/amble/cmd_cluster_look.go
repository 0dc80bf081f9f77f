package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/internal/cli"
)

// clusterJobCmd is "amble cluster job".
type clusterJobCmd struct {
	Action  string   `arg:"" enum:"list,status,pause,resume,drain,stop,leave-out,slower,opt-out,set,retry,add,grow,collect,check,delete" help:"list, status, an order, collect, check or delete."`
	Args    []string `arg:"" optional:"" name:"arg" help:"Of an order; collect, check: directories of all nodes that have worked on the job, or URLs of stores."`
	Cluster string   `group:"Engine:" default:"${engine}" placeholder:"URLS" help:"Servers of the engine, NATS with JetStream 2.12 or newer, separated by commas (${default})."`
	Job     string   `group:"Engine:" placeholder:"NAME" help:"Name of the job; list has them."`

	engineAccess `group:"Engine:"`

	Out     string `short:"o" placeholder:"DIR" help:"collect: job directory to make: empty, or not there yet."`
	Partial bool   `help:"collect, delete: go on although something is missing."`
	JSON    bool   `help:"list, status, check: print JSON."`
}

// Help returns the beginning of the command's help.
func (*clusterJobCmd) Help() string {
	return `Examples:

	amble cluster job list
	amble cluster job status --job shops
	amble cluster job slower --job shops site.to.crawl 10s
	amble cluster job collect --job shops -o shops node1 node2 node3

list names the jobs of an engine; status says who works on which shards, how far the job is, and which orders its nodes obey. Orders hold
for all nodes, within seconds, and none makes a job faster:

	pause            nothing new is requested until resume
	drain            nodes finish what is under way, and end (also: stop)
	resume           nodes go on, also with a job that is over
	leave-out HOST   nothing more is requested from it and names below it
	opt-out FILE     the same for a list of host names, one a line
	slower HOST D    at least so long between two requests of it
	set KEY=VALUE    rate, max-pages, max-bytes, max-errors or max-time
	retry            hosts that were given up are requested again
	add FILE         more seeds, one a line; repeat it if it was broken off
	grow SHARDS      twice as many shards, after drain

check compares the journals with each other, and with directories of nodes.

collect makes an ordinary job directory of what the nodes have committed until now, which verify, show and explain read. What
is not at hand is named: exit code 6. s3://BUCKET/PREFIX and file:///DIRECTORY stand for all nodes in a store.

delete removes a job from the engine that is over and collected: what was not collected before is lost.`
}

// Run executes the command.
func (c *clusterJobCmd) Run(a *app) error {
	collects := c.Action == "collect"
	_, orders := orders[c.Action]
	f := engineFlags{c.Cluster, c.Job, c.engineAccess}
	switch {
	case c.Job == "" && c.Action != "list":
		return cli.Usage("missing flags: --job=NAME")
	case collects && (c.Out == "" || len(c.Args) == 0):
		return cli.Usage("name the job directory to make with --out, and the directories of the nodes")
	case !collects && (c.Out != "" || c.Partial && c.Action != "delete"):
		return cli.Usage("--out is for collect, --partial for collect and delete")
	case c.JSON && c.Action != "list" && c.Action != "status" && c.Action != "check":
		return cli.Usage("--json is for list, status and check")
	case len(c.Args) > 0 && !orders && !collects && c.Action != "check":
		return cli.Usage("%s takes no arguments: directories of nodes are for collect and check", c.Action)
	case c.Action == "stop":
		return f.order(a, "drain", c.Args...)
	case orders:
		return f.order(a, c.Action, c.Args...)
	}
	switch c.Action {
	case "list":
		return c.list(a, f)
	case "delete":
		return f.delete(a, c.Partial)
	case "collect":
		return (&clusterCollectCmd{Nodes: c.Args, engineFlags: f, Out: c.Out, Partial: c.Partial}).Run(a)
	case "check":
		return (&clusterCheckCmd{Nodes: c.Args, engineFlags: f, JSON: c.JSON}).Run(a)
	}
	return (&clusterStatusCmd{f, c.JSON}).Run(a)
}

// clusterStatusCmd is "amble cluster status".
type clusterStatusCmd struct {
	engineFlags
	JSON bool `help:"Print one JSON object, with every shard."`
}

// Run executes the command.
func (c *clusterStatusCmd) Run(a *app) error {
	return c.with(a, func(ctx context.Context, e *nats.Engine) error {
		s, err := cluster.ReadStatus(ctx, e)
		if err != nil {
			return err
		}
		if c.JSON {
			err = cli.PrintJSON(a.out, work.Summarize(&s, time.Now()))
		} else {
			x := work.Summarize(&s, time.Now())
			_, err = a.out.Write([]byte(x.Text(c.Job) + c.next(x)))
		}
		if err == nil && s.Unstored != nil {
			err = cli.Exit(cli.ExitUnavailable, fmt.Errorf("the engine stores nothing: %w", s.Unstored))
		}
		return err
	})
}

// next returns the commands that a summary suggests, one per line.
func (c *clusterStatusCmd) next(x *work.Summary) (lines string) {
	if x.Dead > 0 {
		lines += fmt.Sprintf("to name these messages: amble cluster job check --job %s\n", c.Job)
	}
	if x.End == "" && !slices.ContainsFunc(x.Nodes, func(n work.NodeSummary) bool { return n.Live }) {
		lines += fmt.Sprintf("no node works on it: start one with amble cluster work --job %s --name NAME -o DIR\n", c.Job)
	}
	if x.End != "" && len(x.Nodes) > 0 {
		lines += fmt.Sprintf("to make one job directory of them: amble cluster job collect --job %s -o DIR NODE-DIR...\n", c.Job)
	}
	return lines
}

// clusterCollectCmd is "amble cluster collect".
type clusterCollectCmd struct {
	Nodes []string `arg:"" name:"dir" help:"Directories of the nodes, copied here or mounted: each that has worked on the job; or URLs of stores with them."`
	engineFlags
	Out     string `short:"o" required:"" placeholder:"DIR" help:"Job directory to make: empty, or not there yet."`
	Partial bool   `help:"Collect what is there although something is missing."`
}

// Help returns the beginning of the command's help.
func (*clusterCollectCmd) Help() string {
	return `Examples:

	amble cluster collect --job shops -o shops node1 node2 node3

Makes an ordinary job directory of what the nodes have committed: visits, archives, ledgers and robots.txt files, which
verify, show and explain read. It changes nothing else, and may be broken off and repeated. While the job runs, it
collects what was committed until then. What a node has written and is not at hand, or shorter than it was, is named
with its number of visits: exit code 6.`
}

// Run executes the command.
func (c *clusterCollectCmd) Run(a *app) error {
	return c.with(a, func(ctx context.Context, e *nats.Engine) error {
		orders, err := cluster.LoadOrders(ctx, e)
		if err != nil {
			return err
		}
		x := &work.Collecting{Engine: e, Name: c.Job, Nodes: c.Nodes, Partial: c.Partial}
		res, err := x.Into(ctx, c.Out)
		if err != nil {
			return err
		}
		if res.End != "" && len(res.Missing) == 0 {
			if err := cluster.NoteCollected(ctx, e, len(orders), res.Commits); err != nil {
				fmt.Fprintf(a.err, "amble: delete will need --partial, as the engine could not note that the job is collected: %v\n", err)
			}
		}
		if err := writePage(c.Out); err != nil {
			return err
		}
		for _, name := range res.LeftOut {
			fmt.Fprintf(a.err, "amble: %s is no directory of a node: it is left out\n", cli.Printable(name))
		}
		var how string
		if res.End == "" {
			how = "; the job is not over"
		}
		fmt.Fprintf(a.err, "amble: %s from %s in %s%s: amble verify %s\n", cli.Plural(res.Report.Pages, "page"), cli.Plural(res.Segments-len(res.Missing), "segment"), c.Out, how, cli.ShellWord(c.Out))
		if len(res.Missing) > 0 {
			return fmt.Errorf("%w: %s:\n  %s", work.ErrMissing, cli.Plural(res.Visits, "visit"), strings.Join(res.Missing, "\n  "))
		}
		return nil
	})
}

// clusterCheckCmd is "amble cluster check".
type clusterCheckCmd struct {
	Nodes []string `arg:"" optional:"" name:"dir" help:"Directories of the nodes, or URLs of stores with them; none: only the journals are read."`
	engineFlags
	JSON bool `help:"Print the result as JSON."`
}

// Run executes the command.
func (c *clusterCheckCmd) Run(a *app) error {
	return c.with(a, func(ctx context.Context, e *nats.Engine) error {
		res, err := (&work.Collecting{Engine: e, Name: c.Job, Nodes: c.Nodes}).Check(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			err = cli.PrintJSON(a.out, res)
		} else {
			_, err = fmt.Fprint(a.out, res.Text())
		}
		if err == nil && len(res.Faults) > 0 {
			err = cli.Exit(cli.ExitOutput, fmt.Errorf("%s", cli.Plural(len(res.Faults), "fault")))
		}
		if err == nil && res.Unstored != "" {
			err = cli.Exit(cli.ExitUnavailable, errors.New("the engine stores nothing"))
		}
		return err
	})
}
