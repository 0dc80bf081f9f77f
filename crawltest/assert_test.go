package crawltest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAssertions(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example").Latency(2 * time.Second)
		w.Site("b.example")
		b := &browser{t, w, client(t, w)}
		b.slowly(aRobots, bRobots, aRoot)
		time.Sleep(time.Second)
		b.abreast(aPage, aPage+"2")
		good, bad := &notingTB{}, &notingTB{}
		w.tb = good
		w.MustRequest(aRobots, bRobots, aPage)
		w.MustNotRequest(bRoot)
		w.MustOrder(aRobots, aRoot, aPage)
		w.MustSpace("b.example", time.Hour)
		if len(good.errors) != 0 {
			t.Errorf("got %q", good.errors)
		}
		w.tb = bad
		w.MustRequest(bRoot)
		w.MustNotRequest(aRoot)
		w.MustOrder(aRoot, aRobots, bRoot)
		w.MustSpace("a.example:80", 2*time.Second)
		want := []string{
			"crawltest: http://b.example/ was not requested",
			"crawltest: http://a.example/ was requested: request 3, 5s after the start",
			"crawltest: http://a.example/robots.txt was requested before http://a.example/",
			"crawltest: http://b.example/ was not requested",
			"crawltest: request 3 to a.example:80 came 1s after the one before, want 2s",
			"crawltest: request 4 to a.example:80 came -2s after the one before, want 2s",
		}
		if !slices.Equal(bad.errors, want) {
			t.Errorf("got\n%s", strings.Join(bad.errors, "\n"))
		}
		if w.InFlight("a.example") != 2 || w.InFlight("b.example") != 1 || w.InFlight("c.example") != 0 {
			t.Errorf("in flight %d, %d", w.InFlight("a.example"), w.InFlight("b.example"))
		}
		if w.Count(aRoot) != 1 || w.Count(bRoot) != 0 {
			t.Error("miscounted")
		}
	})
}
