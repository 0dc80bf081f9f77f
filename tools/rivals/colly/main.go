// Command colly crawls hosts with colly v2, configured as in its documentation, for the comparison in tools/rivals.
package main

import (
	"flag"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	delay := flag.Duration("delay", 0, "between requests to a host; 0: none, and 64 requests at once")
	flag.Parse()
	b, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	c := colly.NewCollector(colly.Async(true))
	c.IgnoreRobotsTxt = false
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: 64})
	limit := colly.LimitRule{DomainGlob: "*", Parallelism: 64}
	for seed := range strings.FieldsSeq(string(b)) {
		if *delay > 0 { // colly keeps a separate delay for each rule
			u, err := url.Parse(seed)
			if err != nil {
				log.Fatal(err)
			}
			limit = colly.LimitRule{DomainGlob: u.Host, Parallelism: 1, Delay: *delay}
		}
		if err := c.Limit(&limit); err != nil {
			log.Fatal(err)
		}
	}
	c.SetRequestTimeout(time.Minute)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) }) // an error means: already visited, or forbidden
	for seed := range strings.FieldsSeq(string(b)) {
		_ = c.Visit(seed)
	}
	c.Wait()
}
