package plan_test

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/crawler/plan"
)

// One host with a long delay determines the duration of a polite crawl, however many other hosts there are.
func ExampleLeast() {
	loads := []plan.Load{
		{Host: "a.example", Requests: 100, Delay: 10 * time.Second},
		{Host: "b.example", Requests: 500, Delay: time.Second},
	}
	least, by := plan.Least(loads, 200*time.Millisecond, 0)
	fmt.Println(least, "by", by)
	// Output:
	// 16m50s by host a.example
}
