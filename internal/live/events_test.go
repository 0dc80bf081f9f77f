package live

import (
	"testing"

	"github.com/amble-crawler/amble/sink"
)

// TestDeferredIsNoTrouble: URLs over the budget of their site are neither refused nor failed, and do not hide those that are.
func TestDeferredIsNoTrouble(t *testing.T) {
	r := newRecent()
	for _, v := range []sink.Record{
		{URL: "http://a.test/1", Outcome: "refused", Rule: "Disallow: /"},
		{URL: "http://a.test/2", Outcome: "failed", Error: "timeout"},
		{URL: "http://a.test/3", Outcome: "fetched", Status: 404},
	} {
		r.visit(&v)
	}
	for range 2 * mostEvents {
		r.visit(&sink.Record{URL: "http://a.test/4", Outcome: "deferred", Reason: "host_budget"})
	}
	if len(r.events) != 3 || r.events[0].what != "refused" || r.events[1].what != "failed" || r.events[2].what != "404" {
		t.Errorf("%+v", r.events)
	}
}
