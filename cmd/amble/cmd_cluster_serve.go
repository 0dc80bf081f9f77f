package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/natsserver"
	"github.com/amble-crawler/amble/cmd/amble/internal/live"
	"github.com/amble-crawler/amble/cmd/amble/internal/monitor"
)

// clusterServeCmd is "amble cluster serve".
type clusterServeCmd struct {
	Name         string      `group:"Server:" placeholder:"NAME" help:"Name of this server, which no other has (the machine's)."`
	Dir          string      `group:"Server:" required:"" placeholder:"DIR" help:"Where it stores everything: a disk of its own machine."`
	Flags        serverFlags `embed:"" group:"Server:"`
	LogFormat    string      `group:"Server:" enum:"text,json" default:"text" placeholder:"FORM" help:"Form of log lines: text or json (${default})."`
	Monitor      string      `group:"Server:" placeholder:"ADDR" help:"Serve metrics, /healthz and /readyz of this server there, such as on loopback:0."`
	MonitorToken string      `group:"Server:" placeholder:"FILE" help:"With --monitor: file with the token for programs that read the metrics. Without it each start has a new one."`
	ClusterCreds string      `group:"Server:" placeholder:"FILE" help:"One line with a token or user:password, which nodes and other servers have to give (the file token in DIR, which is made, and which commands of this user on this machine find)."`
}

// Help returns the beginning of the command's help.
func (*clusterServeCmd) Help() string {
	return `Examples:

	amble cluster serve --dir engine
	amble cluster serve --name s1 --dir engine --cluster-creds token \
	    --listen 10.0.0.1:4222 --routes-listen 10.0.0.1:6222 \
	    --routes 10.0.0.2:6222,10.0.0.3:6222
	amble cluster serve --dir engine --monitor loopback:0

Who connects has to show the token in DIR/token, which is made at the first start. Commands of the same user on this
machine find it; others get a copy with --cluster-creds. Servers that belong together need one that all are given.

A nats-server with JetStream that syncs each write. One is enough to try; three lose nothing when one is lost. Servers
of your own do as well, from version 2.12, with sync_interval: always.`
}

// Run executes the command.
func (c *clusterServeCmd) Run(a *app) error {
	if c.Name == "" {
		c.Name, _ = os.Hostname() // if this fails, the server refuses the empty name
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	logs := a.logs(c.LogFormat)
	page, err := listenOn("--monitor", c.Monitor, c.MonitorToken)
	if err != nil {
		return err
	}
	if page != nil {
		defer page.Close()
	}
	s, err := c.Flags.start(logs, c.Name, c.Dir, nats.Access{Creds: c.ClusterCreds})
	if err != nil {
		return err
	}
	defer s.Close()
	if page != nil {
		page.Serve(&live.Numbers{Metrics: monitor.Server{Server: s.Server}.Handler(), Ready: func() error { return s.State().Ready }})
		logs("metrics are at " + page.URL())
	}
	logs(fmt.Sprintf("server %s listens on %s; to stop it: Ctrl-C", c.Name, s.URL()))
	sayReady(ctx, c.Name, s.State, logs)
	<-ctx.Done()
	return nil
}

// sayReady logs once that a server is ready. Until then, the server's log has errors, because it has not found the other servers.
func sayReady(ctx context.Context, name string, state func() natsserver.State, logs func(string)) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for state().Ready != nil {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
	logs(fmt.Sprintf("server %s is ready: it stores", name))
}
