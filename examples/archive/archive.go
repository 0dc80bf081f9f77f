package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/amble-crawler/amble/crawler"
)

// config is the crawl: the whole host, and every body to its end.
func (o options) config(c crawler.Config) crawler.Config {
	c.Agent, c.Contact = o.agent, o.contact
	c.Limits.Depth, c.Limits.Pages, c.Limits.Time = crawler.None, o.maxPages, o.maxTime
	c.Follow.Resources, c.KeepBodies = o.resources, true
	c.Politeness.Delay = cmp.Or(o.delay, crawler.None)
	return c
}

// archive makes the archive. whole tells whether nothing of the site was left; with an error there may
// be a directory with what was kept before.
func archive(ctx context.Context, o options, out io.Writer, base crawler.Config) (whole bool, err error) {
	cfg := o.config(base)
	if err := cfg.Validate(); err != nil {
		return false, err // before a directory is made
	}
	s, err := open(o)
	if err != nil {
		return false, err
	}
	s.attach(&cfg)
	rep, err := crawl(ctx, cfg, o.seed.String())
	if err = errors.Join(err, s.close()); rep == nil {
		return false, errors.Join(err, os.RemoveAll(o.dir)) // it was made above and has nothing in it
	}
	err = errors.Join(err, o.promise(o.dir), newManifest(o, rep, s.robots.all()).save(o.dir))
	if err == nil && rep.Pages == 0 {
		err = fmt.Errorf("no page of %s could be fetched; %s says why", o.seed.Origin(), o.dir)
	}
	fmt.Fprintf(out, "%s: %d pages in %d requests, %d URLs left (%s)\n", o.dir, rep.Pages, rep.Requests, rep.Left, rep.Finish)
	return rep.Finish == crawler.FinishDone, err
}

// crawl runs a crawl that drains when ctx ends, so that what was asked for is archived.
func crawl(ctx context.Context, cfg crawler.Config, seed string) (*crawler.Report, error) {
	c, err := crawler.New(cfg)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, c.Drain)()
	return c.Run(context.WithoutCancel(ctx), seed)
}
