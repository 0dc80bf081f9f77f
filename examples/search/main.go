// Command search makes a full-text index of sites and answers queries from it.
//
// The index is an SQLite database with a table of the module FTS5. Among maintained embedded indexes, modernc.org/sqlite is the lightest:
// it is SQLite itself, translated to Go, so it needs only Go to build, and every program that supports SQLite can read the file. A program
// that only opens an index links eight modules and has 10 MB; with bleve v2 it links 28 and has 22 MB.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
)

// Exit codes.
const (
	exitOK      = 0
	exitNothing = 1
	exitUsage   = cmdline.ExitUsage
	exitFailed  = 3
)

func main() { cmdline.Main(run) }

const about = `usage: search index -contact URL|MAIL [flags] DIR URL…
       search query [flags] DIR WORD…

index crawls the sites that the URLs are on and puts their pages into the full-text index in DIR, which
is made when missing. Pages that are in it already are replaced, and those that are gone (404 or 410)
or forbidden by now are taken out. Left out is what says noindex, or that it is not for search
(Content-Signal: search=no and the like), and what has the same text as another page.

query prints the pages that have all of the words, the best first: a word in the title counts for five
in the text. "several words" in quotes are a phrase, and wor* is any word that begins so. Case and
accents make no difference.

Exit code: 0 done, 1 nothing found or not all read, 2 wrong usage, 3 failed.

"search index -help" and "search query -help" list the flags.
`

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	p := program{stdout: stdout, stderr: stderr, base: base}
	code, err := p.command(ctx, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "search:", err)
	}
	return code
}

// program is the input and output of a run.
type program struct {
	stdout, stderr io.Writer
	base           crawler.Config
}

// command runs the subcommand named by args.
func (p program) command(ctx context.Context, args []string) (code int, err error) {
	if len(args) == 0 {
		return exitUsage, errors.New("want index or query; see -help")
	}
	switch name, args := args[0], args[1:]; name {
	case "index":
		return p.index(ctx, args)
	case "query":
		return p.query(ctx, args)
	case "-help", "--help", "-h", "help":
		fmt.Fprint(p.stderr, about)
		return exitOK, nil
	default:
		return exitUsage, fmt.Errorf("%q is no command: want index or query; see -help", name)
	}
}

// flags returns a FlagSet for a subcommand.
func (p program) flags(name string) *flag.FlagSet {
	return cmdline.Flags("search "+name, about+"\n", p.stderr)
}

func (p program) index(ctx context.Context, args []string) (int, error) {
	var o crawlOptions
	f := p.flags("index")
	o.Who(f, "amble-search")
	o.Bounds(f, 10_000, "pages")
	f.IntVar(&o.maxDepth, "max-depth", 0, "links followed from the URLs given at most (default no limit)")
	if err := f.Parse(args); err != nil {
		return exitUsage, err
	}
	switch {
	case f.NArg() < 2:
		return exitUsage, errors.New("index: want a directory and a URL; see -help")
	case o.Pages < 1 || o.maxDepth < 0:
		return exitUsage, errors.New("index: -max-pages must be 1 or more, and -max-depth not negative")
	}
	whole, err := p.fill(ctx, f.Arg(0), f.Args()[1:], o)
	switch {
	case err != nil:
		return exitFailed, err
	case !whole:
		return exitNothing, nil
	}
	return exitOK, nil
}

func (p program) query(ctx context.Context, args []string) (int, error) {
	f := p.flags("query")
	most := f.Int("n", 10, "results at most")
	asJSON := f.Bool("json", false, "print one JSON object a line")
	if err := f.Parse(args); err != nil {
		return exitUsage, err
	}
	if f.NArg() < 2 || *most < 1 {
		return exitUsage, errors.New("query: want a directory and words, and -n 1 or more; see -help")
	}
	found, err := p.find(ctx, f.Arg(0), f.Args()[1:], *most, *asJSON)
	switch {
	case err != nil:
		return exitFailed, err
	case found == 0:
		return exitNothing, nil
	}
	return exitOK, nil
}
