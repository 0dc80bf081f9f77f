package work

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/render"
)

// resourcesName is the directory, below a node's, for resources that rendered pages load. It can be deleted when the job is over.
const resourcesName = "resources"

// resourcesForPage is the number of resources per page of max-pages, for the default of max-resources.
const resourcesForPage = 20

// startBrowser starts the renderer of all shards, if the job renders pages, and returns a function that stops it.
func (n *Node) startBrowser(ctx context.Context) (end func(), err error) {
	c := &n.job.Config
	switch {
	case !c.Crawl.Render.Renders() || c.Crawl.Renderer != nil:
		return func() {}, nil
	case n.Browser == nil:
		return nil, &job.Error{Kind: job.Refused, Err: errors.New("the job renders pages, and this node has no browser: set Node.Browser")}
	}
	return n.Browser(ctx, c)
}

// openResources opens the store in which the crawls of all shards keep resources of pages. It is nil if the job does not render pages.
func (n *Node) openResources() (*render.Store, error) {
	if !n.job.crawl.Render.Renders() {
		return nil, nil
	}
	return render.OpenShared(filepath.Join(n.Dir, resourcesName))
}

// maxResources returns the limit on resources of rendered pages, which applies to each shard.
func maxResources(l *crawler.Limits) crawler.Limit {
	if l.Resources != 0 || l.Pages <= 0 {
		return l.Resources
	}
	return resourcesForPage * l.Pages
}

// withBrowser returns settings with which a job that renders pages is valid for nodes that have a browser.
func withBrowser(c job.Config) job.Config {
	if c.Crawl.Render.Renders() {
		c.Crawl.Renderer = cmp.Or[crawler.Renderer](c.Crawl.Renderer, remoteRenderers{})
	}
	return c
}

// remoteRenderers is a placeholder for the renderers of other nodes.
type remoteRenderers struct{}

// Round implements crawler.Renderer.
func (remoteRenderers) Round(context.Context, render.Task) (*render.Result, error) {
	return nil, errors.New("pages are rendered by the nodes of the job")
}
