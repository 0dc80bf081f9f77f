// Command corpus makes a corpus of texts from sites, for work on language: the main text of each page as Markdown, a
// JSON line for each with its source, and nothing that its site does not want to be used in this way.
//
// content.go decides which part of a page is its main text, and markdown.go writes it as Markdown. Both can be read
// in a few minutes, and take time linear in the size of the page. Trained or tuned extractors find more, and are
// harder to describe in a paper.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/robots"
)

// Exit codes.
const (
	exitWhole  = 0
	exitPart   = 1
	exitUsage  = cmdline.ExitUsage
	exitFailed = 3
)

func main() { cmdline.Main(run) }

const about = `usage: corpus -contact URL|MAIL [flags] URL… >corpus.jsonl

Crawls the sites that the URLs are on and writes a JSON line for each page that has a text: the main text
as Markdown, and where it comes from: address, time, hash of the page, language, licence as the page
names it, what the site says of uses. Links and pictures are left out of the text, their words are not.

Left out is a page that

  - robots.txt forbids, or whose site or itself disallows a use that -refuse names: by Content-Signal
    or Content-Usage in robots.txt or a header, tdm-reservation, noai, noml
  - says noindex or noarchive
  - has the same text as an earlier page, or nearly the same (up to 3 of 64 bits of a similarity hash)
  - has less than -min-words words, or is not in the language that -lang names

Standard error tells how many were left out, and why. That a page may be used is not said by that: no
signal is no permission. The licence fields are there to be looked at.

Exit code: 0 the whole sites, 1 a part of them, 2 wrong usage, 3 failed.

`

// options is the command line.
type options struct {
	cmdline.Crawl
	refuse         []string
	minWords       int
	lang, markdown string
	seeds          []string
}

// uses are the values of -refuse.
var uses = []string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("corpus", args, stderr, exitFailed, parse, func(o options) (int, error) {
		whole, err := collect(ctx, o, stdout, stderr, base)
		if !whole {
			return exitPart, err
		}
		return exitWhole, err
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("corpus", about, stderr)
	o.Who(f, "amble-corpus")
	o.Bounds(f, 10_000, "pages")
	refuse := f.String("refuse", robots.UseTrainAI, "`uses`, separated by commas, that a page must not disallow: "+strings.Join(uses, ", ")+"; none for none")
	f.IntVar(&o.minWords, "min-words", 50, "words that a text must have")
	f.StringVar(&o.lang, "lang", "", "only pages that say they are in this `language`, as de or pt-BR")
	f.StringVar(&o.markdown, "md", "", "`directory` for the texts as files, too")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *refuse != "none" {
		o.refuse = strings.Split(*refuse, ",")
	}
	o.seeds = f.Args()
	switch {
	case f.NArg() == 0:
		return o, errors.New("no URL; see -help")
	case o.Pages < 1 || o.minWords < 0:
		return o, errors.New("-max-pages must be 1 or more, and -min-words not negative")
	case slices.ContainsFunc(o.refuse, func(use string) bool { return !slices.Contains(uses, use) }):
		return o, fmt.Errorf("-refuse %s: want some of %s, or none", *refuse, strings.Join(uses, ", "))
	}
	return o, nil
}
