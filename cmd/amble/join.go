package main

import (
	"context"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
)

// joinFlags make a single crawl share turns with the jobs of a cluster.
type joinFlags struct {
	Cluster string `placeholder:"URLS" help:"Take turns at hosts with the jobs on this engine, and with all crawls that name it: its servers, separated by commas. Give it again to resume."`
	engineAccess
}

// warnAlone prints a warning if a crawl cannot share turns with other processes on this machine.
func (a *app) warnAlone(x *crawler.Config) {
	if m := machine.Of(x.Sharing()); m != nil && m.NotShared() != nil {
		fmt.Fprintf(a.err, "amble: hosts are shared with no other process: %s\n", cli.Printable(m.NotShared().Error()))
	}
}

// join connects a crawl to the engine, if a flag names one, and returns a function that disconnects it. tell is called when the engine
// stops answering, and when it answers again; in between the crawl requests nothing.
func (f *joinFlags) join(cfg *job.Config, tell func(format string, args ...any)) (leave func(), err error) {
	if f.Cluster == "" {
		return func() {}, nil
	}
	c := nats.Config{URLs: f.Cluster}
	if c.Options, err = f.access(f.Cluster).Options(); err != nil {
		return nil, cli.UsageOf("--cluster-creds, --cluster-ca: ", err)
	}
	short, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := nats.ConnectClocks(short, c)
	if err != nil {
		return nil, clusterError(err)
	}
	ctx, end := context.WithCancel(context.Background())
	clocks := cluster.NewClocks(ctx, store, "", 0)
	x := &cfg.Crawl
	x.ShareMachine(cfg.State)
	x.Politeness.Shared = politeness.Both(x.Sharing(), clocks)
	go func() {
		away := false
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for ctx.Err() == nil {
			select {
			case <-every.C:
			case <-ctx.Done():
			}
			switch err := clocks.Err(); {
			case err != nil && !away:
				tell("the engine does not answer, and nothing is requested until it does: %v", err)
			case err == nil && away:
				tell("the engine answers again")
			}
			away = clocks.Err() != nil
		}
	}()
	return func() {
		clocks.Close()
		end()
		store.Close()
	}, nil
}
