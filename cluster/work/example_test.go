package work_test

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// A job is created once. Each node then loads the job's settings and seeds from the engine.
func Example() {
	ctx := context.Background()
	engine := mem.New().Connect()
	seed, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	var config job.Config
	config.Crawl.Contact = "https://lab.university.edu/crawl"
	if err := work.Create(ctx, engine, &work.Spec{Config: config, Seeds: []weburl.URL{seed}, Shards: 12}); err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := work.Load(ctx, engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loaded.Shards, loaded.Seeds)
	// Output: 12 [https://site.example/]
}
