package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/render/chromium"
)

// startBrowser starts the browser that renders pages, before anything is requested, if the crawl renders any, and returns what
// ends it.
func (j *crawlJob) startBrowser() (end func(), err error) {
	if !j.cfg.Render.Renders() || j.cfg.Renderer != nil {
		return func() {}, nil
	}
	b := &j.job.Browser
	r, err := chromium.New(context.Background(), chromium.Config{
		Browser: b.Path, Isolation: chromium.Isolation(b.Isolation), Tabs: b.Tabs,
	})
	var e *chromium.Error
	switch {
	case errors.As(err, &e):
		return nil, cli.Usage("--render %s: %w", j.cfg.Render.Mode, e)
	case err != nil:
		return nil, err
	}
	info := r.Info()
	b.Name, j.cfg.Renderer = info.Version, r
	if info.Isolation == chromium.Flags {
		j.view.Tell("the browser that renders pages is kept from the network by its own settings alone: --render-isolation flags")
	}
	return func() { j.endBrowser(r) }, nil
}

// endBrowser ends the browser, and says how often it tried to reach the network.
func (j *crawlJob) endBrowser(r *chromium.Renderer) {
	stopped := r.Info().Stopped
	if err := r.Close(); err != nil {
		j.view.Tell("%s", fmt.Sprintf("the browser did not end as it should: %v", err))
	}
	if stopped > 0 {
		j.view.Tell("the browser tried to connect %s; none was let through", cli.Plural(int(stopped), "time"))
	}
}
