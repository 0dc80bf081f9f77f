package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/politeness"
)

// Collect the metrics of a crawl, and serve them to Prometheus.
func Example() {
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	m := metrics.New()
	config := crawler.Config{Trace: m.Trace()}
	config.Politeness.Delay = politeness.NoDelay // the site is on loopback
	c, err := crawler.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Watch(c, nil)
	if _, err := c.Run(context.Background(), site.URL+"/"); err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, `amble_requests_total{class="4xx"`) && !strings.HasSuffix(line, " 0\n") {
			fmt.Print(line)
		}
	}
	// Output:
	// amble_requests_total{class="4xx",purpose="page"} 1
	// amble_requests_total{class="4xx",purpose="robots"} 1
}
