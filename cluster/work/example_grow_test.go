package work_test

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/weburl"
)

// A job that becomes larger than expected gets twice as many shards. Its nodes end after the order to drain the job. After the order to
// resume, they must be started again.
func ExampleOperator_Grow() {
	ctx := context.Background()
	engine := mem.New().Connect()
	seed, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := &work.Spec{Seeds: []weburl.URL{seed}, Shards: 2}
	spec.Config.Crawl.Contact = "https://lab.university.edu/crawl"
	if err := work.Create(ctx, engine, spec); err != nil {
		fmt.Println(err)
		return
	}
	operator := &work.Operator{Engine: engine, Name: "ops"}
	if _, err := operator.Order(ctx, "drain"); err != nil {
		fmt.Println(err)
		return
	}
	if err := operator.Grow(ctx, 4, func(done, of int) { fmt.Println("shard", done, "of", of) }); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := operator.Order(ctx, "resume"); err != nil {
		fmt.Println(err)
		return
	}
	grown, err := work.Load(ctx, engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grown.Shards, "shards")
	// Output:
	// shard 1 of 2
	// shard 2 of 2
	// 4 shards
}
