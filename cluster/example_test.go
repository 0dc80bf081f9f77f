package cluster_test

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
)

// A crawl in one process takes turns at hosts with all jobs of an engine. For an engine with servers, use cluster/nats.ConnectClocks.
func ExampleClocks() {
	ctx := context.Background()
	engine := mem.New().Connect()
	clocks := cluster.NewClocks(ctx, engine.Clocks(), "", 0)
	defer clocks.Close()
	var config crawler.Config
	config.Politeness.Shared = clocks
	fmt.Println("away:", clocks.Err())
	// Output: away: <nil>
}

// Create a job of eight shards, which all nodes on the engine can load.
func Example() {
	ctx := context.Background()
	engine := mem.New().Connect()
	if err := cluster.Create(ctx, engine, cluster.Job{Shards: 8, Limits: cluster.Limits{Pages: 1000}}); err != nil {
		fmt.Println(err)
		return
	}
	job, err := cluster.LoadJob(ctx, engine)
	fmt.Println(job.Shards, job.Limits.Pages, err)
	// Output: 8 1000 <nil>
}
