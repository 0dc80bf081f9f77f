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
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/robots"
)

// Exit codes.
const (
	exitWhole  = 0
	exitPart   = 1
	exitUsage  = 2
	exitFailed = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{})
	stop()
	os.Exit(code)
}

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
	agent, contact string
	delay          time.Duration
	maxPages       int
	refuse         []string
	minWords       int
	lang, markdown string
	seeds          []string
}

// uses are the values of -refuse.
var uses = []string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitWhole
	case err != nil:
		fmt.Fprintln(stderr, "corpus:", err)
		return exitUsage
	}
	whole, err := collect(ctx, o, stdout, stderr, base)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "corpus:", err)
		return exitFailed
	case !whole:
		return exitPart
	}
	return exitWhole
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("corpus", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, about)
		f.PrintDefaults()
	}
	f.StringVar(&o.contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&o.agent, "agent", "amble-corpus", "`NAME/VERSION` in the User-Agent; NAME is what robots.txt may name")
	f.DurationVar(&o.delay, "delay", time.Second, "least pause between two requests to a host; a longer one that the site asks for is kept")
	f.IntVar(&o.maxPages, "max-pages", 10_000, "pages fetched at most")
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
	case o.maxPages < 1 || o.minWords < 0:
		return o, errors.New("-max-pages must be 1 or more, and -min-words not negative")
	case slices.ContainsFunc(o.refuse, func(use string) bool { return !slices.Contains(uses, use) }):
		return o, fmt.Errorf("-refuse %s: want some of %s, or none", *refuse, strings.Join(uses, ", "))
	}
	return o, nil
}
