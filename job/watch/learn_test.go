package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/job/recrawl"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

func newWatch() *Watch {
	return &Watch{
		cfg: Config{Budget: 100}, hosts: map[string]*host{}, pages: map[weburl.Key]*ref{}, maps: map[weburl.Key]*siteMap{}, granted: map[weburl.Key]bool{},
	}
}

// After a restart, a watch reads from the lines which changes signals missed or announced, whatever else programs have written there.
func TestSignalsAreRecalled(t *testing.T) {
	w, at := newWatch(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line := func(sum byte, data ...string) {
		at = at.Add(day)
		v := &sink.Record{URL: "https://a.test/x", Outcome: "fetched", Status: 200, Ended: at, SHA256: strings.Repeat(fmt.Sprintf("%02x", sum), 32)}
		for _, d := range data {
			v.Data = append(v.Data, json.RawMessage(d))
		}
		w.recall(v)
	}
	line(1)
	line(2, `"a program's"`, `{"announced":"yes","signal":7}`, `{"change":"changed","signal":"missed"}`)
	w.recall(&sink.Record{URL: "https://a.test/sitemap.xml", Via: "https://a.test/robots.txt", Outcome: "fetched", Status: 200, Data: []json.RawMessage{
		[]byte(`{"announced":{"https://a.test/x":"2026-01-05T00:00:00Z","https://a.test/unknown":"2026-01-05T00:00:00Z","%":"2026-01-05T00:00:00Z"}}`),
	}})
	line(3, `{"change":"changed","signal":"announced"}`)
	if s := w.order[0].sched.Signals(); len(w.pages) != 1 || s != (recrawl.Signals{Right: 1, Missed: 1}) {
		t.Errorf("%d pages, %+v", len(w.pages), s)
	}
}

// A page that is gone is reported once. It is then requested without a condition, and reported as back when it exists again.
func TestGoneAndBack(t *testing.T) {
	u, err := weburl.Parse("https://a.test/x")
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch()
	valid := fetcher.Validators{ETag: `"1"`}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, step := range []struct {
		status int
		to     string
		want   string
	}{
		{status: 200, want: New},
		{status: 200},
		{status: 404, want: Gone},
		{status: 404},
		{status: 500},
		{status: 200, want: Back},
		{status: 301, to: "https://a.test/y", want: Moved},
		{status: 301, to: "https://a.test/y"},
		{status: 410},
		{status: 200, want: Back},
	} {
		s := &seen{url: u, at: at.Add(time.Duration(i) * day), outcome: crawler.Fetched, status: step.status, whole: true, sha256: [32]byte{1}, to: step.to}
		switch step.status {
		case http.StatusOK:
			s.valid = valid
		case http.StatusMovedPermanently:
			s.outcome = crawler.Redirected
		case http.StatusInternalServerError:
			s.outcome = crawler.Failed
		}
		if c := w.note(s); c.Change != step.want {
			t.Errorf("visit %d, status %d: %+v, want %q", i, step.status, c, step.want)
		}
		past, known := (*past)(w).Past(u)
		if there := step.status == http.StatusOK; !known || there != (past.Validators == valid) {
			t.Errorf("visit %d, status %d: the next is on the condition of %+v", i, step.status, past)
		}
	}
}
