package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/render/chromium"
)

// browserFlags select the browser of a node, for a job that renders pages.
type browserFlags struct {
	Browser         string `placeholder:"PATH" help:"Browser that renders, as a path or a name in PATH; without it chromium-headless-shell, chromium or another of the usual ones."`
	RenderIsolation string `enum:"namespace,flags" default:"namespace" placeholder:"HOW" help:"How the browser is kept from the network: namespace, which needs Linux, or flags, its own settings, which are weaker (${default})."`
}

// browser returns a function that starts the browser of a node.
func (f *browserFlags) browser(name string, tell func(string)) func(context.Context, *job.Config) (func(), error) {
	return func(ctx context.Context, c *job.Config) (end func(), err error) {
		c.Browser.Path, c.Browser.Isolation = f.Browser, job.Isolation(f.RenderIsolation)
		end, err = startBrowser(ctx, &c.Crawl, &c.Browser, func(format string, args ...any) { tell(fmt.Sprintf(format, args...)) })
		if errors.As(err, new(*chromium.Error)) {
			err = cli.Usage("job %s renders pages, and this node cannot: %w (--browser, --render-isolation)", name, err)
		}
		return end, err
	}
}
