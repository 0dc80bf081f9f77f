// Command focused crawls for a topic: it first requests the pages that promise most for the given words, and prints
// the best pages it found.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{})
	stop()
	os.Exit(code)
}

const about = `usage: focused -contact URL|MAIL -words WORD[=WEIGHT],... [flags] URL...

Crawls from the URLs and asks each host first for the links that promise most: those with the words in
their text or address, and those found on pages that have the words. It stops after -max-pages pages
and prints the best. A word also stands for the words that begin with it: "solar" for "solarium".

A page's score is the sum over the words, each times its WEIGHT (1 if not given): 3 when the word is in
the title, 2 when it is in the address, and the binary logarithm of 1 + its number in the text. A
link's is the same of its text and address, and half of its page's.

Exit code: 0 pages were found, 1 none was found or the crawl did not end, 2 wrong usage.

`

// options is the command line.
type options struct {
	agent, contact     string
	delay              time.Duration
	maxPages, maxDepth int
	scope              string
	top                int
	json               bool
	topic              topic
	seeds              []string
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "focused:", err)
		return 2
	}
	if err := crawl(ctx, o, stdout, stderr, base); err != nil {
		fmt.Fprintln(stderr, "focused:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("focused", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, about)
		f.PrintDefaults()
	}
	var words string
	f.StringVar(&o.contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&o.agent, "agent", "amble-focused", "`NAME/VERSION` in the User-Agent; NAME is what robots.txt may name")
	f.StringVar(&words, "words", "", "the topic: `words` separated by commas, each perhaps with =WEIGHT, 0.1 to 10")
	f.DurationVar(&o.delay, "delay", time.Second, "least pause between two requests to a host; a longer one that the site asks for is kept")
	f.IntVar(&o.maxPages, "max-pages", 200, "pages fetched at most")
	f.IntVar(&o.maxDepth, "max-depth", 10, "links followed from a seed at most")
	f.StringVar(&o.scope, "scope", string(crawler.ScopeHost), "how far to go: host, domain, prefix or any")
	f.IntVar(&o.top, "top", 20, "pages printed")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch o.seeds = f.Args(); {
	case len(o.seeds) == 0:
		return o, errors.New("no URL to begin with; see -help")
	case o.maxPages < 1 || o.maxDepth < 1 || o.top < 1:
		return o, errors.New("-max-pages, -max-depth and -top must be 1 or more")
	}
	o.topic, err = parseTopic(words)
	return o, err
}

func crawl(ctx context.Context, o options, stdout, stderr io.Writer, cfg crawler.Config) error {
	best := &best{topic: o.topic, most: o.top, scores: map[weburl.URL]float64{}}
	cfg.Agent, cfg.Contact = o.agent, o.contact
	cfg.Limits.Depth, cfg.Limits.Pages = o.maxDepth, o.maxPages
	cfg.Scope.Kind = crawler.ScopeKind(o.scope)
	cfg.Politeness.Delay = cmp.Or(o.delay, crawler.None)
	cfg.Fetch.Wanted = isHTML
	cfg.Priority, cfg.Handler = best.priority, best
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	rep, err := c.Run(ctx, o.seeds...)
	if rep == nil {
		return err
	}
	fmt.Fprintf(stderr, "%d pages fetched, %d with a word of the topic; ended by %s with %d URLs left\n",
		rep.Pages, best.hits, rep.Finish, rep.Left)
	if len(best.pages) == 0 && err == nil {
		err = errors.New("no page has a word of the topic")
	}
	return errors.Join(err, best.write(stdout, o.json))
}
