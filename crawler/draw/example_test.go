package draw_test

import (
	"fmt"

	"github.com/amble-crawler/amble/crawler/draw"
)

// Two machines read one list each. The merged sample is that of both lists together, whatever the order.
func Example() {
	here := draw.Bottom{N: 2, Seed: "2026"}
	there := here
	for _, url := range []string{"https://a.example/", "https://b.example/", "https://c.example/"} {
		here.Add(url, url, "here.txt")
	}
	for _, url := range []string{"https://c.example/", "https://d.example/"} {
		there.Add(url, url, "there.txt")
	}
	if err := here.Merge(&there); err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range here.Drawn() {
		fmt.Println(item.URL, item.Ticket == draw.Ticket("2026", item.URL))
	}
	fmt.Println(here.Listed, "listed")
	// Output:
	// https://d.example/ true
	// https://a.example/ true
	// 5 listed
}
