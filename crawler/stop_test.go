package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestStopBecause(t *testing.T) {
	long := strings.Repeat("é", 200)
	for name, c := range map[string]struct {
		answer  error
		finish  crawler.Finish
		stopped string
		left    int
	}{
		"reason":             {crawler.StopBecause("the list is complete"), crawler.FinishDrained, "the list is complete", 1},
		"with skipped links": {errors.Join(crawler.SkipLinks, crawler.StopBecause("enough")), crawler.FinishDrained, "enough", 0},
		"none":               {crawler.Stop, crawler.FinishDrained, "", 1},
		"long":               {crawler.StopBecause("x" + long), crawler.FinishDrained, "x" + strings.Repeat("é", 149), 1},
		"with another error": {errors.Join(errors.New("no"), crawler.StopBecause("enough")), crawler.FinishDone, "", 0},
		"not stopped":        {nil, crawler.FinishDone, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/a"))
				s.Page("/a", "")
				h := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
					if v.URL.Path() == "/" {
						return c.answer
					}
					return nil
				})
				rep, _ := crawl(t, w, crawler.Config{Handler: h}, s.URL("/"))
				if rep.Finish != c.finish || rep.Stopped != c.stopped || rep.Left != c.left {
					t.Errorf("%s, stopped because %q, %d left", rep.Finish, rep.Stopped, rep.Left)
				}
				text, err := json.Marshal(rep)
				if err != nil || strings.Contains(string(text), `"stopped":`) != (c.stopped != "") {
					t.Errorf("%s, %v", text, err)
				}
			})
		})
	}
}

// If there are several reasons to stop, the report has the first one.
func TestTheFirstReasonToStopStands(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		var cr *crawler.Crawler
		h := crawler.HandlerFunc(func(context.Context, *crawler.Visit) error {
			cr.Drain()
			return crawler.StopBecause("too late")
		})
		cr = newCrawler(t, w, crawler.Config{Handler: h})
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDrained || rep.Stopped != "" {
			t.Errorf("%v: %s because %q", err, rep.Finish, rep.Stopped)
		}
	})
}
