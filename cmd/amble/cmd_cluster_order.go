package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
)

// orders are the actions of "amble cluster job" that are orders to a job, with how many arguments.
var orders = map[string]int{"pause": 0, "resume": 0, "drain": 0, "leave-out": 1, "slower": 2, "opt-out": 1, "set": 1, "retry": 0}

// isJobAction reports whether "amble cluster job" has the action, and "amble cluster" no command of that name.
func isJobAction(name string) bool {
	_, is := orders[name]
	return (is || name == "list" || name == "delete") && renamed["cluster "+name] == ""
}

// order gives an order to the job, and says what it was.
func (f *engineFlags) order(a *app, what string, args ...string) error {
	if want := orders[what]; len(args) != want {
		return cli.Usage("%s takes %s: amble help cluster job", what, cli.Plural(want, "argument"))
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

// operatorName returns who gives orders: the user and this machine.
func operatorName() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname() // "" if it is unknown
	return name + "@" + host
}
