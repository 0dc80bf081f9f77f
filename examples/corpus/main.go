// Command corpus makes a corpus of texts from sites, for training language models: as JSON lines and Parquet, with data sheet and metadata.
// It does not request pages of sites that forbid this use. If only the page itself forbids it, the page is left out.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/corpus"
	"github.com/amble-crawler/amble/job/export/text"
)

func main() { cmdline.Main(run) }

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	var c cmdline.Crawl
	f := cmdline.Flags("corpus", "usage: corpus -contact URL|MAIL -o DIR [flags] URL…\n\nCrawls into DIR and makes the corpus DIR-corpus.\n\n", stderr)
	c.Who(f, "amble-corpus")
	c.Bounds(f, 10_000, "pages")
	dir := f.String("o", "", "`directory` of the crawl, with the pages as they were received")
	return cmdline.Run("corpus", args, stderr, 1, func(args []string, _ io.Writer) ([]string, error) {
		err := f.Parse(args)
		if err == nil && (*dir == "" || f.NArg() == 0) {
			err = errors.New("want -o and a URL; see -help")
		}
		return f.Args(), errors.Join(err, c.Check())
	}, func(seeds []string) (int, error) {
		config := job.Config{Crawl: base, Archive: true}
		config.Crawl.Politeness.Purposes = []consent.Purpose{consent.TrainAI}
		c.Set(&config.Crawl)
		return 0, collect(ctx, *dir, config, seeds, stdout)
	})
}

// collect crawls into a directory. When the crawl is over or interrupted, it makes a corpus of the pages fetched until then.
func collect(ctx context.Context, dir string, config job.Config, seeds []string, out io.Writer) error {
	j, err := job.Create(dir, config, seeds...)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, j.Crawler().Drain)()
	_, err = j.Run(context.WithoutCancel(ctx))
	r, readErr := job.Read(dir)
	if err = errors.Join(err, j.Close(), readErr); err != nil {
		return err
	}
	kind := corpus.Kind(text.Options{Refuse: []string{consent.TrainAI.String()}})
	_, err = export.Write(context.WithoutCancel(ctx), r, kind, dir+"-corpus", nil)
	fmt.Fprintf(out, "%s-corpus\n", dir)
	return errors.Join(err, r.Close())
}
