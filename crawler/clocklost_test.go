package crawler_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// TestLostClockLosesNoPage: a request that is broken off because a clock was lost which other processes share is made again,
// however often that happens. It says nothing about the page.
func TestLostClockLosesNoPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("a.test").Latency(3*time.Second).Page("/", "")
		w.Expect(crawltest.Expect{AllowRepeats: true})
		var visits []*crawler.Visit
		lost := 0
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
				visits = append(visits, v)
				return nil
			}),
			Clocks: func(ctx context.Context, u weburl.URL, _ netip.Addr) (*fetcher.Clock, error) {
				held, lose := context.WithCancelCause(ctx)
				if u.Path() == "/" && lost < 10 {
					lost++
					time.AfterFunc(time.Second, func() { lose(errors.New("nobody answers")) })
				}
				return &fetcher.Clock{Context: held, Done: func(time.Duration) { lose(nil) }}, nil
			},
		})
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), "http://a.test/"); err != nil {
			t.Fatal(err)
		}
		if len(visits) != 1 || visits[0].Outcome != crawler.Fetched || lost != 10 {
			t.Errorf("%d visits, %d requests broken off", len(visits), lost)
			for _, v := range visits {
				t.Errorf("%s %s %s %v", v.URL, v.Outcome, v.Reason, v.Err)
			}
		}
	})
}
