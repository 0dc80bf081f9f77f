package main

import (
	"context"
	"errors"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/render/chromium"
)

// startBrowser starts the browser, before anything is requested, if the crawl renders pages. It returns a function that stops it.
func (j *crawlJob) startBrowser() (end func(), err error) {
	if !j.cfg.Render.Renders() || j.cfg.Renderer != nil {
		return func() {}, nil
	}
	end, err = startBrowser(context.Background(), &j.cfg, &j.job.Browser, j.view.Tell)
	if errors.As(err, new(*chromium.Error)) {
		err = cli.Usage("--render %s: %w", j.cfg.Render.Mode, err)
	}
	return end, err
}

// startBrowser starts a browser for a crawl, and returns a function that stops it.
func startBrowser(ctx context.Context, c *crawler.Config, b *job.Browser, tell func(format string, args ...any)) (end func(), err error) {
	r, err := chromium.New(ctx, chromium.Config{
		Browser: b.Path, Isolation: chromium.Isolation(b.Isolation), Tabs: b.Tabs,
	})
	if err != nil {
		return nil, err
	}
	info := r.Info()
	b.Name, c.Renderer = info.Version, r
	if info.Isolation == chromium.Flags {
		tell("only its own settings keep the browser that renders pages off the network: --render-isolation flags")
	}
	return func() { endBrowser(r, tell) }, nil
}

// endBrowser stops the browser, and reports how often it tried to reach the network.
func endBrowser(r *chromium.Renderer, tell func(format string, args ...any)) {
	stopped := r.Info().Stopped
	if err := r.Close(); err != nil {
		tell("the browser did not end as it should: %v", err)
	}
	if stopped > 0 {
		tell("the browser tried to connect %s; none was let through", cli.Plural(int(stopped), "time"))
	}
}
