package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/sink"
)

// TestDeferredIsNoTrouble checks that URLs over the budget of their host count neither as refused nor as failed, and do not hide refused
// and failed ones.
func TestDeferredIsNoTrouble(t *testing.T) {
	r := newRecent()
	for _, v := range []sink.Record{
		{URL: "http://a.test/1", Outcome: "refused", Rule: "Disallow: /"},
		{URL: "http://a.test/2", Outcome: "failed", Error: "timeout"},
		{URL: "http://a.test/3", Outcome: "fetched", Status: 404},
	} {
		r.visit(&v)
	}
	for range 2 * maxEvents {
		r.visit(&sink.Record{URL: "http://a.test/4", Outcome: "deferred", Reason: "host_budget"})
	}
	if len(r.events) != 3 || troubleText(&r.events[0]) != "refused" || troubleText(&r.events[1]) != "failed" || troubleText(&r.events[2]) != "404" {
		t.Errorf("%+v", r.events)
	}
}

// TestTheLastEventsAreShown checks that events are shown newest first, and that text from sites is harmless and limited in length.
func TestTheLastEventsAreShown(t *testing.T) {
	r, now := newRecent(), time.Now()
	for i := range 5*maxEvents + 7 {
		r.visit(&sink.Record{URL: fmt.Sprint("http://a.test/", i), Outcome: "failed", Status: 200, Error: "\x1b[2J" + strings.Repeat("ä", 1000), Ended: now})
		shown := eventsOf(r.events, now.Add(time.Second))
		if len(shown) != min(i+1, maxEvents) {
			t.Fatalf("%d of %d are shown", len(shown), i+1)
		}
		for j, e := range shown {
			if e.URL != fmt.Sprint("http://a.test/", i-j) || e.What != "failed" || e.Ago != "1.0 s ago" {
				t.Fatalf("event %d of %d: %+v", j, i, e)
			}
		}
	}
	if why := eventsOf(r.events, now)[0].Why; strings.Contains(why, "\x1b") || !strings.HasSuffix(why, "ä…") || len([]rune(why)) != 161 {
		t.Errorf("%q", why)
	}
	if len(r.events) > 2*maxEvents {
		t.Errorf("%d are kept", len(r.events))
	}
}
