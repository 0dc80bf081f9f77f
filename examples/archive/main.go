// Command archive keeps a site as a web archive: WARC files that players of web archives read, in a job directory with a line for every
// URL, every robots.txt that was obeyed, and a manifest that documents the crawl.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/weburl"
)

// Exit codes.
const (
	exitWhole  = 0
	exitPart   = 1
	exitUsage  = cmdline.ExitUsage
	exitFailed = 3
)

func main() { cmdline.Main(run) }

const about = `usage: archive -contact URL|MAIL -o DIR [flags] URL
       archive -check DIR

Crawls the site that URL is on, with what its pages load from the same host, and keeps it in the new
directory DIR: the requests and answers as they went over the wire in warc/ (WARC 1.1, with CDXJ
indexes), a line for every URL in visits.jsonl, each robots.txt as it was received, a ledger of every
request, and a manifest that says who made this, how and when. It is a job directory: the command amble
resumes, explains, reports and verifies it.

An interrupt (Ctrl-C) lets the requests in flight end and closes the archive, which then says so.
-check compares the files with their hashes, and the ledger with the robots.txt files and the delays in
force, as "amble verify DIR" does.

Exit code: 0 the whole site, or nothing found by -check; 1 a part of the site, or something found,
2 wrong usage, 3 nothing usable came of it.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	dir, check      string
	name, operator  string
	maxTime         time.Duration
	resources, zstd bool
	seed            weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("archive", args, stderr, exitFailed, parse, func(o options) (int, error) {
		var whole bool
		var err error
		if o.check != "" {
			whole, err = check(o.check, stdout) //nolint:contextcheck // nothing is requested
		} else {
			whole, err = archive(ctx, o, stdout, base)
		}
		if !whole {
			return exitPart, err
		}
		return exitWhole, err
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("archive", about, stderr)
	o.Who(f, "amble-archive")
	f.StringVar(&o.dir, "o", "", "`directory` to make, or an empty one")
	f.StringVar(&o.check, "check", "", "verify this `directory`, and do nothing else")
	f.StringVar(&o.name, "name", "", "what the archive is called (default the site's host)")
	f.StringVar(&o.operator, "operator", "", "`person or institution` that makes the archive (default the contact)")
	o.Bounds(f, 10_000, "URLs, images and the like included,")
	f.DurationVar(&o.maxTime, "max-time", 0, "end after this `time` (default no limit)")
	f.BoolVar(&o.resources, "resources", true, "also keep images, style sheets, scripts and the like")
	f.BoolVar(&o.zstd, "zstd", false, "compress by Zstandard, which is smaller and not read by every player")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.check != "" && f.NArg() == 0:
		return o, nil
	case o.check != "" || f.NArg() != 1:
		return o, fmt.Errorf("want one URL, or -check DIR alone; have %d arguments; see -help", f.NArg())
	case o.dir == "":
		return o, errors.New("-o is missing; see -help")
	case o.Pages < 1 || o.maxTime < 0:
		return o, errors.New("-max-pages must be 1 or more, and -max-time not negative")
	}
	o.seed, err = weburl.Parse(f.Arg(0))
	o.name, o.operator = cmp.Or(o.name, o.seed.Hostname()), cmp.Or(o.operator, o.Contact)
	return o, err
}
