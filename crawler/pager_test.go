package crawler_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

func TestPagesAndBreak(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/1", "/2", "/3"))
		for i := range 3 {
			s.Page(fmt.Sprintf("/%d", i+1), "")
		}
		cr, err := crawler.New(config(w, crawler.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil || v.Outcome != crawler.Fetched {
				t.Fatal(v, err)
			}
			if n++; n == 2 {
				break
			}
		}
		if got := len(w.Requests()); got > 4 {
			t.Errorf("%d requests after a break at the second page", got)
		}
		for _, err := range cr.Pages(t.Context(), "no url") {
			var seed *crawler.SeedError
			if !errors.As(err, &seed) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestPagesIsAHandlerToo: the loop's body may add to a visit, but only during its iteration.
func TestPagesIsAHandlerToo(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", "")
		s.Page("/extra", "")
		var out bytes.Buffer
		c := config(w, crawler.Config{Sinks: []sink.Sink{sink.NewJSONL(&out)}})
		cr, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var last *crawler.Visit
		for v, err := range cr.Pages(t.Context(), s.URL("/")) {
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(v.Emit(v.Depth), v.Enqueue(crawler.Request{URL: "/extra"})); err != nil {
				t.Error(err)
			}
			last = v
		}
		same(t, recordLines(t, out.String()), "/ fetched 0", "/extra fetched 1")
		if err := last.Emit(1); !errors.Is(err, crawler.ErrOver) {
			t.Error(err)
		}
		if err := last.Enqueue(crawler.Request{URL: "/more"}); !errors.Is(err, crawler.ErrOver) {
			t.Error(err)
		}
	})
}
