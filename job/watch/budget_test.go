package watch

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// TestTurnsWithoutRequestCostNoBudget: a crawl also takes turns for the total rate and for quiet hours, which make no request. Such turns
// do not count towards the budget.
func TestTurnsWithoutRequestCostNoBudget(t *testing.T) {
	b := newBudget(10)
	b.Sharing = politeness.NewHosts(politeness.HostsLimits{})
	u, _ := weburl.Parse("http://h.test/")
	for range 20 {
		rate := &politeness.Turn{Gate: "a", Total: true, Delay: time.Nanosecond}
		if err := b.Take(rate); err != nil {
			t.Fatal(err)
		}
		b.Done(rate, politeness.Owed{Ended: time.Now(), Total: time.Now()})
		_ = b.Take(&politeness.Turn{Gate: "a", Host: "h.test", URL: u, Quiet: time.Now().Add(time.Hour)}) // returns a *politeness.NotYet
	}
	if n := b.used(u.Host()) + b.used(""); n > 0 {
		t.Errorf("%d requests were counted", n)
	}
}
