// Command graph crawls a site and writes the graph of its links: as GraphML for other programs, as an SVG picture, and as a table of the
// pages with the most links to them.
//
// Reading order: main.go, site.go (from visits to the graph), graph.go, layout.go, then the output: graphml.go, svg.go, table.go, save.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/weburl"
)

func main() { cmdline.Main(run) }

const about = `usage: graph -contact URL|MAIL [flags] URL

Crawls the site that URL is on and writes the graph of its links. A node is a URL that a page of the
site links to, whether it could be fetched or not; an edge is a page's link to another URL, or a
redirect. Standard output is a table of the pages with the most links to them. When the crawl is
interrupted or meets a limit, the graph is of what was seen, and standard error says so.

Exit code: 0 written, 1 not written or not finished, 2 wrong usage.

`

// maxDrawn limits the value of -nodes, because the layout compares all pairs of nodes.
const maxDrawn = 1000

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	maxEdges     int
	external     bool
	graphml, svg string
	drawn, rows  int
	seed         weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("graph", args, stderr, 1, parse, func(o options) (int, error) {
		return 0, draw(ctx, o, stdout, stderr, base)
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("graph", about, stderr)
	o.Who(f, "amble-graph")
	o.Bounds(f, 1000, "pages")
	f.IntVar(&o.maxEdges, "max-edges", 1_000_000, "edges kept at most; further ones are counted")
	f.BoolVar(&o.external, "external", false, "also show the other sites that pages link to, one node for each, without requests to them")
	f.StringVar(&o.graphml, "graphml", "", "`file` for the graph as GraphML")
	f.StringVar(&o.svg, "svg", "", "`file` for the picture")
	f.IntVar(&o.drawn, "nodes", 150, "nodes drawn at most: those with the most edges")
	f.IntVar(&o.rows, "rows", 20, "rows of the table")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() != 1 {
		return o, fmt.Errorf("want one URL, have %d arguments; see -help", f.NArg())
	}
	if err := errors.Join(o.Check(), o.check()); err != nil {
		return o, err
	}
	o.seed, err = weburl.Parse(f.Arg(0))
	return o, err
}

func (o options) check() error {
	switch {
	case o.maxEdges < 1:
		return fmt.Errorf("-max-edges %d: must be 1 or more", o.maxEdges)
	case o.drawn < 1 || o.drawn > maxDrawn:
		return fmt.Errorf("-nodes %d: must be 1 to %d", o.drawn, maxDrawn)
	case o.rows < 0:
		return fmt.Errorf("-rows %d: must not be negative", o.rows)
	}
	return nil
}

// draw crawls and writes the result.
func draw(ctx context.Context, o options, stdout, stderr io.Writer, cfg crawler.Config) error {
	g := newGraph(o.maxEdges)
	o.Set(&cfg)
	cfg.Limits.Depth = crawler.Unlimited
	cfg.Fetch.Wanted = isHTML
	cfg.Handler = &site{graph: g, external: o.external}
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	rep, err := c.Run(ctx, o.seed.String())
	if rep == nil {
		return err
	}
	if rep.Finish != crawler.FinishDone {
		fmt.Fprintf(stderr, "not the whole site: ended by %s with %d URLs left\n", rep.Finish, rep.Left)
	}
	return errors.Join(err, write(g, o, stdout, stderr))
}

func write(g *graph, o options, stdout, stderr io.Writer) error {
	g.countDegrees()
	fmt.Fprintf(stderr, "%d nodes, %d edges\n", len(g.nodes), len(g.edges))
	if g.dropped > 0 {
		fmt.Fprintf(stderr, "%d links left out: more edges than -max-edges\n", g.dropped)
	}
	err := table(stdout, g, o.rows)
	if o.graphml != "" {
		err = errors.Join(err, replace(o.graphml, func(w io.Writer) error { return graphML(w, g) }))
	}
	if o.svg != "" {
		err = errors.Join(err, replace(o.svg, func(w io.Writer) error { return picture(w, g, o.drawn) }))
	}
	return err
}
