package crawler_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

// TestInherit: a successor that takes over some hosts of a crawl counts nothing that belongs to other hosts, and knows
// every pause.
func TestInherit(t *testing.T) {
	ours := func(host string) bool { return host == "a.test" }
	for name, kept := range map[string]bool{
		"crawler/host/a.test": true, "crawler/host/b.test": false, "crawler/used/b.test": false, "crawler/gate/h/b.test": true,
		"crawler/pin/b.test": true, "job/segment/00000001": false, "job/extent/00000001/visits.jsonl": false,
	} {
		if got := crawler.Inherit(name, []byte("x"), ours); kept != (string(got) == "x") || !kept && got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	b := crawler.Inherit(crawler.StoredReport, []byte(`{"Report":{"pages":7,"requests":9,"runs":2,"started":"2026-01-02T03:04:05Z"},"Elapsed":5}`), ours)
	r, err := crawler.ParseStored(b)
	if err != nil || r.Pages != 0 || r.Requests != 0 || r.Elapsed.Duration != 0 || r.Started.Year() != 2026 || r.Outcomes == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if b := crawler.Inherit(crawler.StoredReport, []byte("rubbish"), ours); !strings.Contains(string(b), "rubbish") {
		t.Errorf("an unreadable entry was dropped: %q", b)
	}
}
