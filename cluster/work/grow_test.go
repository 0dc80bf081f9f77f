package work

import (
	"errors"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
)

// TestGrow doubles the shards of a job that is half crawled. Other nodes crawl the rest. The collected job has each page once, and verify
// finds no violation, so no pause was cut short by the doubling.
func TestGrow(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLabOf(t, w, mem.New(), 2, []string{"http://h0.test/0"}, limit("max-pages", "1000"))
		l.begin("a")
		l.begin("b")
		x := &Operator{Engine: l.server.Connect(), Name: "me"}
		if err := x.Grow(t.Context(), 4, nil); !errors.Is(err, cluster.ErrAtWork) {
			t.Errorf("while nodes work: %v", err)
		}
		for len(w.Requests()) < 20 {
			time.Sleep(time.Second)
		}
		left := l.grow(x, 4)
		before := len(w.Requests())
		l.begin("c")
		l.begin("d")
		l.wait()
		l.nodes = append(l.nodes, left...)
		if after := len(w.Requests()) - before; before < 15 || after < 15 {
			t.Errorf("%d requests before the doubling, and %d after it", before, after)
		}
		res, seen := l.collect()
		for u := range l.pages {
			if seen[u] != 1 {
				t.Errorf("%s is there %d times", u, seen[u])
			}
		}
		if len(seen) != len(l.pages) || res.Report.Pages != len(l.pages) || res.Report.Left != 0 {
			t.Errorf("%d URLs, the report has %d pages and %d left; want %d", len(seen), res.Report.Pages, res.Report.Left, len(l.pages))
		}
	})
}

// grow stops the nodes, doubles the shards, and resumes the job. It returns the stopped nodes, whose directories new nodes may use.
func (l *lab) grow(x *Operator, shards int) (ended []*labNode) {
	l.t.Helper()
	if _, err := x.Order(l.t.Context(), "drain"); err != nil {
		l.t.Fatal(err)
	}
	if err := x.Grow(l.t.Context(), shards, nil); err != nil { // Grow waits until the nodes have ended
		l.t.Fatal(err)
	}
	l.wait()
	if _, err := x.Order(l.t.Context(), "resume"); err != nil {
		l.t.Fatal(err)
	}
	ended, l.nodes = l.nodes, nil
	return ended
}
