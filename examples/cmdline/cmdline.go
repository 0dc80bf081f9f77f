// Package cmdline holds the common parts of the examples: start and exit, usage, and the flags of every crawl. To copy an example, copy
// this file, too.
package cmdline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// ExitUsage is the exit code for an invalid command line.
const ExitUsage = 2

// Main calls run with a context that Ctrl-C cancels, and exits with the code that run returns. base is the initial Config: tests pass one
// with a simulated web.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{})
	stop()
	os.Exit(code)
}

// Run parses the command line of the program called name, calls do, and returns the exit code: that of do, ExitUsage for an invalid command
// line, or failed if do returns an error. Errors are printed to stderr.
func Run[O any](name string, args []string, stderr io.Writer, failed int, parse func([]string, io.Writer) (O, error), do func(O) (int, error)) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return ExitUsage
	}
	code, err := do(o)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return failed
	}
	return code
}

// Flags returns the flag set of the program called name, whose usage on stderr begins with about.
func Flags(name, about string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, about)
		f.PrintDefaults()
	}
	return f
}

// Crawl holds the flags of every crawl.
type Crawl struct {
	Agent, Contact string
	Delay          time.Duration // minimum pause between two requests to a host
	Pages          int           // maximum number of pages
}

// Who adds the flags -contact and -agent. The default agent is the name of the program.
func (c *Crawl) Who(f *flag.FlagSet, agent string) {
	f.StringVar(&c.Contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&c.Agent, "agent", agent, "`NAME/VERSION` in the User-Agent; NAME is what robots.txt may name")
}

// Bounds adds the flags -delay and -max-pages. pages is the default number of pages; what is the word for them in help texts.
func (c *Crawl) Bounds(f *flag.FlagSet, pages int, what string) {
	f.DurationVar(&c.Delay, "delay", time.Second, "least pause between two requests to a host; a longer one that the site asks for is kept")
	f.IntVar(&c.Pages, "max-pages", pages, what+" fetched at most")
}

// Check returns an error if values of the flags are invalid.
func (c *Crawl) Check() error {
	if c.Pages < 1 || c.Delay < 0 {
		return errors.New("-max-pages must be 1 or more, and -delay not negative")
	}
	return nil
}

// Set copies the values of the flags into a Config.
func (c *Crawl) Set(to *crawler.Config) {
	to.Agent, to.Contact = c.Agent, c.Contact
	if c.Pages > 0 {
		to.Limits.Pages, to.Politeness.Delay = crawler.Limit(c.Pages), c.Delay
	}
	if c.Pages > 0 && c.Delay == 0 {
		to.Politeness.Delay = crawler.NoDelay
	}
}
