package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/cmd/amble/internal/mcp"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/jobs/server"
)

// mcpCmd is "amble mcp".
type mcpCmd struct {
	Jobs    string `placeholder:"DIR" required:"" help:"Directory of the jobs that make the requests, made if it is missing."`
	Contact string `placeholder:"CONTACT" help:"Page or mail address for site owners. Required unless all URLs are on loopback."`

	Listen       string   `placeholder:"ADDR" help:"Serve HTTP at this address, with the path /mcp (stdin and stdout)."`
	Token        string   `placeholder:"FILE" help:"With --listen: lines of NAME TOKEN SCOPES (DIR/tokens, which is made with one token)."`
	MaxRunning   int      `default:"16" placeholder:"N" help:"Jobs that run at a time; others wait (${default})."`
	AllowAddress []string `placeholder:"RANGE" help:"Private address ranges that agents may reach (none)."`
}

// Help returns the beginning of the command's help.
func (*mcpCmd) Help() string {
	return `Examples:

	amble mcp --jobs agents --contact me@university.edu
	amble mcp --jobs agents --contact me@university.edu --listen 127.0.0.1:8421
	amble verify agents/*/job

Lets agents read the web by the Model Context Protocol, with the tools fetch, links, allowed,
plan, crawl and search. Each request is a job: it takes turns at hosts with all other crawls
of this machine, and has its ledger and robots.txt files. If a host is not to be asked yet,
the answer says when to come back. What pages say is marked as quoted material, and comes
with what the site says about its use.

Over HTTP, clients send a token that may write: Authorization: Bearer TOKEN.`
}

// Run executes the command.
func (c *mcpCmd) Run(a *app) error {
	like := serveCmd{Jobs: c.Jobs, Token: c.Token, MaxRunning: c.MaxRunning, Contact: c.Contact, AllowAddress: c.AllowAddress}
	conf, err := like.config(a)
	if err != nil {
		return err
	}
	conf.Jobs.Programs = mcp.Programs()
	if c.Listen != "" {
		done, err := like.listen(conf, c.Listen, "")
		if err != nil {
			return err
		}
		defer done()
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	s, err := server.Open(c.Jobs, *conf)
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	tools := mcp.New(mcp.Config{Jobs: s.Manager(), Settings: s.Defaults()})
	if c.Listen == "" {
		err := tools.Stdio(ctx, a.in, a.out.Unwrap())
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		if err := errors.Join(err, s.Close(bounded)); err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
		return cli.Exit(endedBy(ctx), nil)
	}
	s.Handle("/mcp", server.Write, tools.Handler())
	fmt.Fprintf(a.err, "amble: agents are served at http://%s/mcp; tokens are in %s; to stop it: Ctrl-C\n", localweb.HostPort(conf.Listener.Addr()), cli.Printable(like.Token))
	return endService(ctx, s.Serve(ctx, stopPatience))
}
