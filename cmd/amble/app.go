package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
)

// app is one invocation: where it reads and writes, and what it was told.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)
	signals  <-chan os.Signal
	exit     func(int) // on the third signal only
}

// cli is the command line. Kong reads flags, environment and help texts from the tags.
type cli struct {
	Crawl   crawlCmd   `cmd:"" help:"Crawl from the given seeds."`
	Demo    demoCmd    `cmd:"" help:"Crawl a small web that the command itself serves on loopback."`
	Robots  robotsCmd  `cmd:"" help:"Say what robots.txt says of URLs, and why."`
	Version versionCmd `cmd:"" help:"Print version and build."`
}

const description = `amble runs bounded, polite crawls.

  amble demo
  amble crawl --contact https://lab.university.edu/crawl https://site.to.crawl/
  amble robots https://site.to.crawl/some/page

Results go to stdout, everything else to stderr. What amble promises to site owners is in
docs/politeness.md.`

// run parses and executes args and returns the exit code.
func (a *app) run(args []string) (code int) {
	var c cli
	defer func() { // kong ends --help and parse errors by its Exit, which is made to unwind here
		if x := recover(); x != nil {
			e, ok := x.(exitPanic)
			if !ok {
				panic(x)
			}
			code = int(e)
		}
	}()
	origins := &originTracker{env: a.env}
	parser, err := kong.New(&c,
		kong.Name("amble"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(a.out, a.err), kong.Exit(func(code int) { panic(exitPanic(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Vars{"agent": crawler.DefaultAgent}, kong.Resolvers(origins), kong.Bind(a, origins),
	)
	if err != nil {
		return a.complain(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return a.complain(&exitError{exitUsage, err})
	}
	origins.ctx = ctx
	return a.complain(ctx.Run())
}

type exitPanic int

// complain prints an error, if there is one to print, and returns its exit code.
func (a *app) complain(err error) int {
	var e *exitError
	if err != nil && !(errors.As(err, &e) && e.err == nil) {
		fmt.Fprintf(a.err, "amble: %v\n", err)
		if exitCode(err) == exitUsage {
			fmt.Fprintln(a.err, `amble: see "amble --help" and "amble COMMAND --help"`)
		}
	}
	return exitCode(err)
}
