package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
)

// orders has the actions of "amble cluster job" that are orders to a job, with their numbers of arguments.
var orders = map[string]int{"pause": 0, "resume": 0, "drain": 0, "leave-out": 1, "slower": 2, "opt-out": 1, "set": 1, "retry": 0, "add": 1, "grow": 1}

// isJobAction reports whether name is an action of "amble cluster job", but not a command of "amble cluster".
func isJobAction(name string) bool {
	_, is := orders[name]
	return (is || name == "list" || name == "delete") && renamed["cluster "+name] == ""
}

// order gives an order to the job, and prints it.
func (f *engineFlags) order(a *app, what string, args ...string) error {
	if want := orders[what]; len(args) != want {
		return cli.Usage("%s takes %s: amble help cluster job", what, cli.Plural(want, "argument"))
	}
	switch what {
	case "add":
		return f.add(a, args[0])
	case "grow":
		return f.grow(a, args[0])
	}
	if what == "opt-out" {
		text, err := safefile.ReadNamed(args[0], safefile.Settings)
		if err != nil {
			return cli.UsageOf("", err)
		}
		if args, err = job.ParseOptOut(text, args[0]); err != nil {
			return cli.UsageOf("", err)
		}
	}
	return f.with(a, func(ctx context.Context, e *nats.Engine) error {
		o, err := (&work.Operator{Engine: e, Name: operatorName()}).Order(ctx, what, args...)
		if err != nil {
			return err
		}
		said := "its nodes obey within seconds"
		switch o.What {
		case cluster.OrderDrain:
			said = "its nodes finish what is under way, and end"
		case cluster.OrderResume:
			said = "it goes on; if its nodes have ended, start them with amble cluster work"
		}
		fmt.Fprintf(a.err, "amble: order %d to job %s: %s: %s\n", o.Number, f.Job, cli.Printable(strings.TrimSpace(what+" "+cli.Middle(o.To, 100))), said)
		return nil
	})
}

// add adds the seeds of a file to the job.
func (f *engineFlags) add(a *app, path string) error {
	return f.with(a, func(ctx context.Context, e *nats.Engine) error {
		res, err := (&work.Operator{Engine: e, Name: operatorName()}).Add(ctx, path, func(added, of int64) {
			fmt.Fprintf(a.err, "amble: added %d of %s\n", added, cli.Plural(int(of), "seed"))
		})
		var bad *work.SeedsError
		switch {
		case errors.As(err, &bad):
			return badSeeds(bad)
		case errors.As(err, new(*fs.PathError)):
			return cli.UsageOf("", err)
		case errors.Is(err, work.ErrChanged), ctx.Err() != nil && err != nil, nats.Away(err):
			fmt.Fprintln(a.err, "amble: not all seeds are added: the same command goes on; none is requested twice")
			return err
		case err != nil:
			return err
		}
		known := ""
		if res.Known > 0 {
			known = fmt.Sprintf(" (%d of them before)", res.Known)
		}
		fmt.Fprintf(a.err, "amble: order %d to job %s: added %s of %s%s; what the job knows already is not requested again\n",
			res.Order, f.Job, cli.Plural(int(res.Seeds), "seed"), cli.Printable(path), known)
		return nil
	})
}

// grow doubles the number of shards.
func (f *engineFlags) grow(a *app, shards string) error {
	n, err := strconv.Atoi(shards)
	if err != nil {
		return cli.Usage("grow takes the new number of shards, not %s", cli.Printable(cli.Middle(shards, 100)))
	}
	return f.with(a, func(ctx context.Context, e *nats.Engine) error {
		err := (&work.Operator{Engine: e, Name: operatorName()}).Grow(ctx, n, func(done, of int) {
			fmt.Fprintf(a.err, "amble: copied %d of %s\n", done, cli.Plural(of, "shard"))
		})
		if err == nil {
			fmt.Fprintf(a.err, "amble: job %s has %s: let it go on with amble cluster job resume, and start its nodes\n", f.Job, cli.Plural(n, "shard"))
		} else if ctx.Err() != nil || nats.Away(err) {
			fmt.Fprintln(a.err, "amble: the job may not have grown: repeat the command; nothing is lost")
		}
		return err
	})
}

// badSeeds returns the error about invalid lines in a file of seeds.
func badSeeds(bad *work.SeedsError) error {
	if bad.Bad == 0 {
		return cli.Usage("%s: no seeds: one URL a line", cli.Printable(bad.Path))
	}
	var lines []string
	for _, l := range bad.Lines {
		why := l.Err.Error()
		switch {
		case errors.Is(l.Err, work.ErrOutside):
			why += ": the seeds that a job is created with say what belongs to it, unless that was with --scope any"
		case errors.Is(l.Err, work.ErrNoContact):
			why += ": create another one with --contact"
		case !errors.Is(l.Err, work.ErrLine):
			why = "not a URL that can be requested: " + operator.Wrong(l.Text, l.Err)
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s: %s", cli.Printable(bad.Path), l.Line, cli.Printable(cli.Middle(l.Text, 100)), why))
	}
	if more := int(bad.Bad) - len(bad.Lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %s more", cli.Printable(bad.Path), cli.Plural(more, "line")))
	}
	return cli.Usage("no seed is added:\n%s", strings.Join(lines, "\n"))
}

// operatorName returns the operator's name for orders: the user and this machine.
func operatorName() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname() // "" if it is unknown
	return name + "@" + host
}
