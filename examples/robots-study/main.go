// Command robots-study requests the robots.txt of each host in a list, and nothing else, and records its contents.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func main() { cmdline.Main(run) }

const about = `usage: robots-study -contact URL|MAIL [flags] HOST|URL...

Requests the robots.txt of each host, follows its redirects, and requests nothing else. Standard
output is one JSON object a line, a host each, in the order in which they answered: status and size,
what the rules say of the sample paths, which standards of the past would read them otherwise, remarks
by code, Crawl-delay, sitemaps, and what is said of the uses of the pages. HOST is asked by https.

Exit code: 0 every host has its line, 1 the study was not finished, 2 wrong usage.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	list, csv string
	as        string
	paths     []string
	giveUp    time.Duration
	origins   []weburl.URL // root URLs of the hosts to study
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("robots-study", args, stderr, 1, parse, func(o options) (int, error) {
		return 0, survey(ctx, o, stdout, stderr, base)
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("robots-study", about, stderr)
	var paths string
	o.Who(f, "amble-robots-study")
	f.StringVar(&o.as, "as", "", "study what is said to the robot of this `NAME` (default that of -agent)")
	f.StringVar(&o.list, "f", "", "`file` with further hosts or URLs, one a line; lines that begin with # are skipped")
	f.StringVar(&o.csv, "csv", "", "`file` for a table of the hosts, in the order of the list")
	f.StringVar(&paths, "paths", "/,/search?q=a,/index.html,/admin/,/api/v1", "sample `paths` to be judged, separated by commas")
	f.DurationVar(&o.giveUp, "give-up", time.Minute, "how long a host that cannot answer is asked again")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for p := range strings.SplitSeq(paths, ",") {
		if !strings.HasPrefix(p, "/") {
			return o, fmt.Errorf("-paths %q: a path begins with /", p)
		}
		o.paths = append(o.paths, p)
	}
	if o.giveUp <= 0 {
		return o, fmt.Errorf("-give-up %v: must be above 0", o.giveUp)
	}
	o.origins, err = origins(f.Args(), o.list)
	return o, err
}

// origins returns the roots of the hosts in args and in the file, each once.
func origins(args []string, file string) (list []weburl.URL, err error) {
	if file != "" {
		more, err := lines(file)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	known := map[weburl.URL]bool{}
	for _, a := range args {
		if !strings.Contains(a, "://") {
			a = "https://" + a
		}
		u, err := weburl.Parse(a)
		if err == nil {
			u, err = u.Resolve("/")
		}
		if err != nil {
			return nil, err
		}
		if !known[u] {
			known[u] = true
			list = append(list, u)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no host to ask; see -help")
	}
	return list, nil
}

func lines(path string) (list []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened only for reading
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list, s.Err()
}

// survey requests the robots.txt files and writes the results.
func survey(ctx context.Context, o options, stdout, stderr io.Writer, cfg crawler.Config) error {
	s := newStudy(o, stdout)
	queue := &robotsOnly{Memory: frontier.NewMemory(frontier.MemoryConfig{}), study: s}
	defer queue.Close() //nolint:errcheck // a memory store's Close cannot fail
	o.Set(&cfg)
	cfg.Limits.Depth, cfg.Limits.Pages, cfg.Retries.Max = crawler.SeedsOnly, crawler.Unlimited, 1
	cfg.Politeness.RobotsGiveUp, cfg.Politeness.MaxSilence = o.giveUp, o.giveUp
	cfg.Frontier, cfg.Handler, cfg.KeepRobots = queue, s, s.keep
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	s.gate = c.Gate()
	seeds := make([]string, len(o.origins))
	for i, u := range o.origins {
		seeds[i] = u.String()
	}
	if rep, err := c.Run(ctx, seeds...); rep == nil {
		return err
	} else if err = errors.Join(err, s.finish(o.csv)); err != nil {
		return fmt.Errorf("%d of %d hosts: %w", len(s.rows), len(seeds), err)
	}
	return s.summary(stderr)
}
