package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink/warc"
)

// config returns the configuration of the crawl: the whole host, with an archive of all exchanges.
func (o options) config(base crawler.Config) job.Config {
	c := job.Config{Crawl: base, Archive: true, WARC: warc.Options{Info: warc.Info{
		Software: "amble-archive (amble/" + crawler.Version + ")", Operator: o.operator, IsPartOf: o.name,
		Description: "the site of " + o.seed.String(),
	}}}
	if o.zstd {
		c.WARC.Compression = warc.Zstd
	}
	o.Set(&c.Crawl)
	c.Crawl.Limits.Depth, c.Crawl.Limits.Time = crawler.Unlimited, o.maxTime
	c.Crawl.Follow.Resources = o.resources
	return c
}

// archive makes the archive. whole reports whether no URLs of the site were left.
func archive(ctx context.Context, o options, out io.Writer, base crawler.Config) (whole bool, err error) {
	j, err := job.Create(o.dir, o.config(base), o.seed.String())
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, j.Crawler().Drain)() // requests in flight end normally, and are archived
	rep, err := j.Run(context.WithoutCancel(ctx))
	if err = errors.Join(err, j.Close()); rep == nil {
		return false, err
	}
	if err == nil && rep.Pages == 0 {
		err = fmt.Errorf("no page of %s could be fetched; %s says why", o.seed.Origin(), o.dir)
	}
	fmt.Fprintf(out, "%s: %d pages in %d requests, %d URLs left (%s)\n", o.dir, rep.Pages, rep.Requests, rep.Left, rep.Finish)
	return rep.Finish == crawler.FinishDone, err
}

// check reports every difference between an archive and the crawl's record, and every request that broke a rule.
func check(dir string, out io.Writer) (same bool, err error) {
	r, err := job.Read(dir)
	if err != nil {
		return false, err
	}
	defer r.Close() //nolint:errcheck // opened only for reading
	v, err := r.Verify()
	if err != nil {
		return false, err
	}
	for _, f := range v.Files {
		if f.Damage != "" {
			fmt.Fprintf(out, "damaged %q: %s\n", f.File, f.Damage)
		}
	}
	requests, impolite := 0, 0
	if v.Report != nil {
		requests, impolite = v.Requests, len(v.Violations)
		for _, violation := range v.Violations {
			fmt.Fprintf(out, "impolite: %s\n", violation)
		}
	}
	fmt.Fprintf(out, "%s: %d files, %d damaged; %d requests, %d violations\n", dir, len(v.Files), v.Damaged(), requests, impolite)
	return v.Damaged()+impolite == 0 && v.QueueError == nil, v.QueueError
}
