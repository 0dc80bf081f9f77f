package work

import (
	"context"
	"errors"
	"os"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
)

// Grow doubles the number of shards of a job that was drained, like cluster.Grow, whose errors it returns. It stores one queue at a time in
// the directory for temporary files. progress is called after each shard; it may be nil.
func (x *Operator) Grow(ctx context.Context, shards int, progress func(done, of int)) (err error) {
	j, err := Load(ctx, x.Engine)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "amble-grow-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return cluster.Grow(ctx, x.Engine, cluster.Growth{
		Shards: shards, By: x.Name, Dir: dir, Store: disk.Config{Key: j.Config.Crawl.Canonical.Key}, Inherit: crawler.Inherit, Progress: progress,
	})
}
