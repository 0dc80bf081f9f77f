package crawler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

func TestCancelIsAHardStop(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rep, err := cr.Run(ctx, s.URL("/"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 15*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if rep.Finish != crawler.FinishCanceled || rep.Left != 1 || len(rep.Outcomes) != 0 {
			t.Errorf("the URL in flight stays queued: %+v", rep)
		}
	})
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example").Latency(10 * time.Second)
		s.Page("/", links("/1"))
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(25*time.Second, cr.Drain)
		defer stop.Stop()
		rep, err := cr.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Finish != crawler.FinishDrained || rep.Pages != 1 || rep.Left != 1 {
			t.Errorf("%v %+v", err, rep)
		}
	})
}
