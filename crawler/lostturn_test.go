package crawler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// losing is a Sharing that loses the turns for page "/" while they are in use.
type losing struct {
	politeness.Sharing
	lost int
}

// Take implements politeness.Sharing.
func (l *losing) Take(t *politeness.Turn) error {
	if t.URL.Path() == "/" && l.lost < 10 {
		l.lost++
		held, lose := context.WithTimeoutCause(context.Background(), time.Second, errors.New("nobody answers"))
		context.AfterFunc(held, lose)
		t.Held = held
	}
	return l.Sharing.Take(t)
}

// TestLostTurnLosesNoPage: a request aborted because its turn was lost is repeated, however often that happens, because
// the loss says nothing about the page.
func TestLostTurnLosesNoPage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("a.test").Latency(3*time.Second).Page("/", "")
		w.Expect(crawltest.Expect{AllowRepeats: true})
		var visits []*crawler.Visit
		l := &losing{Sharing: politeness.NewHosts(politeness.HostsLimits{})}
		c := config(w, crawler.Config{
			Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
				visits = append(visits, v)
				return nil
			}),
			Politeness: politeness.Config{Shared: l},
		})
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cr.Run(t.Context(), "http://a.test/"); err != nil {
			t.Fatal(err)
		}
		if len(visits) != 1 || visits[0].Outcome != crawler.Fetched || l.lost != 10 {
			t.Errorf("%d visits, %d requests broken off", len(visits), l.lost)
			for _, v := range visits {
				t.Errorf("%s %s %s %v", v.URL, v.Outcome, v.Reason, v.Err)
			}
		}
	})
}
