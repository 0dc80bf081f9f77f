package work_test

import (
	"context"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// A program handles the pages of this job. Each node runs the program; a node without the program refuses the job. For an engine with
// servers, use package nats.
func ExampleNode() {
	program := func(c *job.Config) {
		c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			fmt.Println(v.Outcome, v.URL)
			return nil
		})
	}
	ctx := context.Background()
	engine := mem.New().Connect()
	seed, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := &work.Spec{Seeds: []weburl.URL{seed}, Shards: 12}
	spec.Config.Crawl.Contact = "https://lab.university.edu/crawl"
	program(&spec.Config)
	if err := work.Create(ctx, engine, spec); err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	without := &work.Node{Engine: engine, Name: "n1", Dir: dir, JobName: "shops"}
	fmt.Println(without.Run(ctx))
	if _, err := cluster.Give(ctx, engine, cluster.Order{What: cluster.OrderDrain}); err != nil { // so that this example makes no requests
		fmt.Println(err)
	}
	with := &work.Node{Engine: engine, Name: "n1", Dir: dir, JobName: "shops", Program: program}
	fmt.Println(with.Run(ctx))
	// Output:
	// the job needs its own program: the job was made by a program that sets Handler, which no setting can say: work on it with that program
	// <nil>
}
