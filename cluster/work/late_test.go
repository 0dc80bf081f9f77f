package work

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawltest"
)

// TestLateCommitsAreCollectedAgain checks that if a job was collected while its nodes were ending, and nodes have committed pages since,
// the job does not count as collected.
func TestLateCommitsAreCollectedAgain(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w)
		a := l.begin("a")
		time.Sleep(8 * time.Second)
		e := l.server.Connect()
		if _, err := (&Operator{Engine: l.server.Connect(), Name: "me"}).Order(t.Context(), cluster.OrderDrain); err != nil {
			t.Fatal(err)
		}
		collect := func(out string) int {
			orders, err := cluster.LoadOrders(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			res, err := (&Collecting{Engine: e, Name: "test", Nodes: []string{a.Dir}}).Into(t.Context(), filepath.Join(l.dir, out))
			if err != nil || res.End == "" || len(res.Missing) > 0 {
				t.Fatal(res, err)
			}
			if err := cluster.NoteCollected(t.Context(), e, len(orders), res.Commits); err != nil {
				t.Fatal(err)
			}
			return res.Report.Pages
		}
		early := collect("early")
		l.wait()
		is, err := cluster.IsCollected(t.Context(), e)
		late := collect("late")
		if err != nil || is != (early == late) {
			t.Errorf("%d pages were collected, and there are %d: counts as collected: %v, %v", early, late, is, err)
		}
		if is, err := cluster.IsCollected(t.Context(), e); !is || err != nil {
			t.Errorf("collected again: %v, %v", is, err)
		}
	})
}
