package work

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

// TestStatusWhenOver checks that the status of a job whose nodes have ended says that collecting needs their directories, and does not say
// that no node has a page.
func TestStatusWhenOver(t *testing.T) {
	s := &cluster.Status{
		End: cluster.EndDone, Nodes: []cluster.NodeStatus{{Name: "n1"}, {Name: "n\x1b2"}},
		Shards: []cluster.ShardStatus{{Node: "n1", Epoch: 2, Closed: true}, {Number: 1, Node: "n\x1b2", Epoch: 1, Closed: true}},
	}
	const over = "job shop: 2 shards, done\n" +
		"No node works on it any more; the last were n\\x1b2, n1. Collecting needs the directories of all that ever worked on it\n"
	if got := Summarize(s, time.Now()).Text("shop"); got != over {
		t.Errorf("%q, want %q", got, over)
	}
	full := *s
	full.End, full.Unstored = "", errors.New("no room")
	full.Shards = []cluster.ShardStatus{{Node: "n1", Answered: true}}
	full.Nodes = []cluster.NodeStatus{{Name: "n1", Live: true, Waits: "a reason"}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := Summarize(&full, now).Text("shop")
	for _, want := range []string{"The engine stores nothing: no room.", "node n1 takes no shards: a reason\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	for name, change := range map[string]func(){
		"not over":      func() { s.End = "" },
		"one works yet": func() { s.Shards[0].Answered = true },
	} {
		before := *s
		s.Shards = append([]cluster.ShardStatus(nil), s.Shards...)
		change()
		if got := Summarize(s, time.Now()).Text("shop"); !strings.Contains(got, "not in the counts") || strings.Contains(got, "No node") {
			t.Errorf("%s: %q", name, got)
		}
		*s = before
	}
}
