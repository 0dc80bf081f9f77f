// Command quickstart crawls the given sites and prints the outcome of every URL.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/amble-crawler/amble/crawler"
)

func main() {
	contact := flag.String("contact", "", "`URL or mail address` at which site owners reach you")
	flag.Parse()
	c, err := crawler.New(crawler.Config{Contact: *contact})
	if err != nil {
		log.Fatal(err)
	}
	for visit, err := range c.Pages(context.Background(), flag.Args()...) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(visit.Outcome, visit.Status(), visit.URL)
	}
}
