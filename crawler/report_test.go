package crawler

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestReportJSON(t *testing.T) {
	was := Report{
		Elapsed: Duration{1500 * time.Millisecond}, Runs: 2, Same: 3, Near: 4, Bound: Duration{time.Second}, BoundBy: "a.example",
		Outcomes: map[Outcome]int{Fetched: 1}, Links: map[Fate]int{FateFollow: 2}, Statuses: map[int]int{200: 1},
	}
	b, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	var is Report
	if err := json.Unmarshal(b, &fields); err != nil || fields["seconds"] != 1.5 || fields["same_body"] != 3.0 || fields["bound_s"] != 1.0 {
		t.Errorf("%s, %v", b, err)
	}
	if err := json.Unmarshal(b, &is); err != nil || !reflect.DeepEqual(was, is) {
		t.Errorf("%+v, %v", is, err)
	}
}

// Counts stored before Report had JSON tags can still be read.
func TestCountsOfEarlierVersionsAreRead(t *testing.T) {
	const old = `{"Report":{"Started":"2026-01-02T03:04:05Z","Ended":"0001-01-01T00:00:00Z","Runs":2,"Elapsed":0,"Finish":"",` +
		`"Pages":7,"Requests":9,"Retries":1,"Connections":2,"Bytes":12345,"Outcomes":{"fetched":7},"Reasons":{},"Statuses":{"200":7},` +
		`"Types":{"text/html":7},"Links":{"follow":5},"Hosts":0,"Left":0,"Rejected":0,"Sitemaps":["http://a.example/s.xml"],` +
		`"Same":3,"Near":4,"Noncanonical":1,"Bound":0,"BoundBy":"","Overrides":null},"Elapsed":9000000000}`
	want := kept{Elapsed: 9 * time.Second, Report: Report{
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Runs: 2, Pages: 7, Requests: 9, Retries: 1, Connections: 2, Bytes: 12345,
		Outcomes: map[Outcome]int{"fetched": 7}, Reasons: map[string]int{}, Statuses: map[int]int{200: 7}, Types: map[string]int{"text/html": 7},
		Links: map[Fate]int{"follow": 5}, Sitemaps: []string{"http://a.example/s.xml"}, Same: 3, Near: 4, Noncanonical: 1,
	}}
	var k kept
	if err := json.Unmarshal([]byte(old), &k); err != nil || !reflect.DeepEqual(k, want) {
		t.Errorf("%+v, %v", k, err)
	}
	b, err := json.Marshal(want)
	if k = (kept{}); err != nil || json.Unmarshal(b, &k) != nil || !reflect.DeepEqual(k, want) {
		t.Errorf("%s: %+v", b, k)
	}
}
