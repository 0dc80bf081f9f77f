package crawler

import (
	"testing"

	"github.com/amble-crawler/amble/render"
)

// TestAnswersAreKeptOnceCommitted: responses added during a commit belong to the next commit, and the last commit has all
// remaining responses.
func TestAnswersAreKeptOnceCommitted(t *testing.T) {
	f := &sharedRenders{}
	add := func(key string) { f.add([]render.Record{{Key: key}}) }
	for i, c := range []struct {
		add  string
		last bool
		want string
	}{{"a", false, ""}, {"b", false, "a"}, {"", false, "b"}, {"c", false, ""}, {"d", true, "cd"}} {
		if c.add != "" {
			add(c.add)
		}
		got := ""
		for _, r := range f.committed(c.last) {
			got += r.Key
		}
		if got != c.want {
			t.Errorf("commit %d keeps %q, want %q", i, got, c.want)
		}
	}
}
