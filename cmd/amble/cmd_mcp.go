package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/cmd/amble/internal/mcp"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/jobs/server"
	"github.com/amble-crawler/amble/politeness"
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
	conf, err := like.config()
	if err != nil {
		return err
	}
	if c.Contact != "" {
		id := politeness.Identity{Product: "x", Contact: c.Contact}
		if err := id.Validate(false); err != nil {
			return cli.UsageOf("--contact: ", err)
		}
	}
	conf.Jobs.Programs = mcp.Programs()
	conf.Jobs.Note = func(id, said string) {
		fmt.Fprintf(a.err, "amble: %s\n", cli.Printable(strings.TrimSpace(id+" "+said)))
	}
	if c.Listen != "" {
		log, err := os.OpenFile(filepath.Join(c.Jobs, "audit.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return cli.Exit(cli.ExitOutput, err)
		}
		defer func() { _ = log.Close() }() // each line was written
		conf.Audit = log
		if conf.Listener, err = server.Listen(c.Listen, "", "", false); errors.Is(err, server.ErrOpen) {
			return cli.Usage("--listen: %w", err)
		} else if err != nil {
			return cli.UsageOf("--listen: ", err)
		}
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	s, err := server.Open(c.Jobs, *conf)
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	tools := mcp.New(mcp.Config{Jobs: s.Manager(), Settings: c.settings()})
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
	if err := s.Serve(ctx, stopPatience); err != nil && endedBy(ctx) == 0 {
		return cli.Exit(cli.ExitOutput, err)
	}
	return cli.Exit(endedBy(ctx), nil)
}

// settings returns the settings of all jobs.
func (c *mcpCmd) settings() map[string]any {
	all := map[string]any{"promises": politeness.PromisesPage}
	if c.Contact != "" {
		all["contact"] = c.Contact
	}
	return all
}
