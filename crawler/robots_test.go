package crawler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// A robots.txt that changes during a crawl applies to URLs already queued.
func TestChangedRulesApplyToQueuedURLs(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow:\n").Header("Cache-Control", "max-age=300")
		s.Robots("User-agent: *\nDisallow: /p\n").Header("Cache-Control", "max-age=300").At(10 * time.Minute).Forbids("/p*")
		var refs []string
		for i := range 40 {
			refs = append(refs, fmt.Sprintf("/p%d", i))
			s.Page(refs[i], "")
		}
		s.Page("/", links(refs...))
		rep, _ := crawl(t, w, crawler.Config{Politeness: politeness.Config{Delay: time.Minute}}, s.URL("/"))
		if n := rep.Reasons[politeness.ReasonRobots]; n < 20 || n > 36 || rep.Pages+n != 41 {
			t.Errorf("report %+v", rep)
		}
	})
}
