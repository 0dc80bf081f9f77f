// Command sample draws a random sample of hosts, a number from each group, and crawls a bounded part of each host. From these it estimates
// totals for all hosts, with the error. The same seed draws the same sample.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/sink"
)

func main() { cmdline.Main(run) }

const about = `usage: sample -contact URL|MAIL -f FILE -seed TEXT [flags]

FILE lists the population: a host or URL a line, and behind a blank perhaps the group it belongs to;
without one its top-level domain is its group. Of each group -per hosts are drawn at random, all when it
has no more, and of each at most -pages pages are fetched, those nearest to its home page. -plan writes
a JSON line for every host of the population: its group, its place in the draw, whether it was drawn and
how probable that was. Standard output is a JSON line for every URL, as of "amble crawl". At the end it
estimates, with the error for each group, how many hosts of the population give a page, and how many
pages they have within the bound.

The draw depends on TEXT and the hosts alone: not on their order, and hosts added later push out few.

Exit code: 0 done, 1 not drawn or not finished, 2 wrong usage.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	list, seed, plan string
	per, pages       int
	dry              bool
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("sample", args, stderr, 1, parse, func(o options) (int, error) {
		return 0, sample(ctx, o, stdout, stderr, base)
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("sample", about, stderr)
	o.Who(f, "amble-sample")
	f.StringVar(&o.list, "f", "", "`file` with the population")
	f.StringVar(&o.seed, "seed", "", "any `text`: what the draw depends on")
	f.StringVar(&o.plan, "plan", "", "`file` for what was drawn and why")
	f.IntVar(&o.per, "per", 10, "hosts drawn of each group")
	f.IntVar(&o.pages, "pages", 20, "pages fetched of each host at most")
	f.BoolVar(&o.dry, "dry", false, "draw and write the plan, and ask nobody for anything")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() != 0 || o.list == "" || o.seed == "":
		return o, errors.New("want -f and -seed, and nothing else; see -help")
	case o.per < 1 || o.pages < 1:
		return o, errors.New("-per and -pages must be 1 or more")
	}
	return o, nil
}

// sample draws hosts, writes the plan and crawls.
func sample(ctx context.Context, o options, stdout, stderr io.Writer, cfg crawler.Config) error {
	f, err := os.Open(o.list)
	if err != nil {
		return err
	}
	population, err := read(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	all := draw(population, o.seed, o.per)
	if o.plan != "" {
		if err := writePlan(o.plan, all); err != nil {
			return err
		}
	}
	var seeds []string
	for _, d := range all {
		if d.Drawn {
			seeds = append(seeds, d.URL)
		}
	}
	fmt.Fprintf(stderr, "%d of %d hosts drawn\n", len(seeds), len(all))
	if o.dry {
		return nil
	}
	o.Set(&cfg)
	cfg.Limits.Pages, cfg.Limits.PagesPerHost = crawler.Unlimited, crawler.Limit(o.pages)
	pages := counted{}
	cfg.Sinks = []sink.Sink{sink.NewJSONL(stdout), counting{pages: pages}}
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	rep, err := c.Run(ctx, seeds...)
	if rep != nil {
		fmt.Fprintf(stderr, "%d pages of %d hosts\n", rep.Pages, rep.Hosts)
	}
	if err == nil {
		tell(stderr, all, pages)
	}
	return err
}

func writePlan(path string, all []drawn) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	for _, d := range all {
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// read reads the population from a list. It returns each host once.
func read(r io.Reader) (list []host, err error) {
	known := map[string]bool{}
	s := bufio.NewScanner(r)
	for s.Scan() {
		fields := strings.Fields(s.Text())
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		h, err := parseHost(fields)
		if err != nil {
			return nil, err
		}
		if !known[h.url] {
			known[h.url] = true
			list = append(list, h)
		}
	}
	if len(list) == 0 && s.Err() == nil {
		return nil, errors.New("the population is empty")
	}
	return list, s.Err()
}
