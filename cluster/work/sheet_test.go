package work

import (
	"context"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
)

// The owners of all shards report their sites and requests. If an owner is cut off, its shards are missing from the view.
func TestView(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w)
		l.begin("a")
		b := l.begin("b")
		time.Sleep(20 * time.Second)
		watcher := &Watcher{Engine: l.server.Connect()}
		v, err := watcher.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		marks, sites, nodes := 0, 0, map[string]bool{}
		for _, s := range v.Sheets {
			nodes[s.Node] = true
			for _, m := range s.Marks {
				if marks++; l.host(m.Host) != s.Shard || m.End.Before(m.Start) || m.Ready.Before(m.End.Add(time.Second)) {
					t.Errorf("shard %d: %+v", s.Shard, m)
				}
			}
			for _, x := range s.Sites {
				if sites++; l.host(x.Host) != s.Shard || x.URLs == 0 || x.Least < 0 {
					t.Errorf("shard %d: %+v", s.Shard, x)
				}
			}
		}
		if len(v.Sheets) != 4 || marks < 10 || sites == 0 || !nodes["a"] || !nodes["b"] || v.Outcomes()["fetched"] == 0 {
			t.Errorf("%d sheets, %d requests, %d sites of %v: %v", len(v.Sheets), marks, sites, nodes, v.Outcomes())
		}
		b.conn.Cut(true)
		v, err = watcher.View(context.Background())
		if err != nil || len(v.Sheets) == 0 || len(v.Sheets) == 4 {
			t.Errorf("%d sheets while a node is cut off, %v", len(v.Sheets), err)
		}
		b.conn.Cut(false)
		l.wait()
	})
}

// host returns the number of the shard of a host.
func (l *lab) host(name string) int {
	l.t.Helper()
	j, err := Load(l.t.Context(), l.server.Connect())
	if err != nil {
		l.t.Fatal(err)
	}
	return j.Shard(name)
}
