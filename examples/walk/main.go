// Command walk visits pages of a site at random by following links, and estimates the share of all its pages that contain a text. It prints
// the estimate uncorrected, and corrected for the fact that a walk visits pages with many incoming links more often.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// options holds the values of the command line.
type options struct {
	home, match, seed string
	surfers, steps    int
	jump              float64
}

func parse(args []string, cfg *crawler.Config) (o options, err error) {
	f := flag.NewFlagSet("walk", flag.ContinueOnError)
	f.StringVar(&cfg.Contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&o.match, "match", "", "the `text` of which the share of pages is estimated")
	f.StringVar(&o.seed, "seed", "1", "any `text`: what the random choices depend on")
	f.IntVar(&o.surfers, "surfers", 8, "walks at the same time, independent of each other")
	f.IntVar(&o.steps, "steps", 50, "`pages` that each of them visits; one that was requested before is not requested again")
	f.Float64Var(&o.jump, "jump", 0.15, "`probability` with which a surfer goes back to the home page instead of following a link")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() != 1 || o.match == "" || o.surfers < 2 || o.steps < 1 || !(o.jump > 0 && o.jump < 1) {
		return o, errors.New("want -match, the URL of one home page, -surfers of 2 or more, -steps of 1 or more and -jump between 0 and 1")
	}
	home, err := weburl.Parse(f.Arg(0))
	o.home = home.Normal()
	return o, err
}

// run is the program. cfg is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, cfg crawler.Config) error {
	o, err := parse(args, &cfg)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	w := newWalk(o)
	if err := w.run(ctx, cfg); err != nil {
		return err
	}
	ranks, e := w.ranks(), json.NewEncoder(stdout)
	for _, u := range w.met() {
		if err := e.Encode(line{u, w.times(u), math.Round(1e6*ranks[u]) / 1e6, w.pages[u].match}); err != nil {
			return err
		}
	}
	w.tell(stderr, ranks)
	return nil
}

// line is the result for a page, as printed.
type line struct {
	URL    string  `json:"url"`
	Visits int     `json:"visits"`
	Rank   float64 `json:"rank"`
	Match  bool    `json:"match"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}
