package crawler

import (
	"fmt"
	"testing"
	"time"
)

func TestTrapPath(t *testing.T) {
	for path, trap := range map[string]bool{
		"/": false, "/a/b/c": false, "/a/a/b": false, "/a/a/a": true, "/a/b/a/b/a/b/a": false, "/a/b/a/b/a/b/a/b/a": true,
		"//////": false, "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25": false,
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26": true,
	} {
		if got := trapPath(path) != ""; got != trap {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestTrapCalendar(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for pq, trap := range map[string]bool{
		"/calendar/2029/12": false, "/calendar/2030/01": true, "/events/2031-05": true, "/show?month=3&year=2044": true,
		"/report/2044": false, "/calendar?id=20300101": false, "/calendar/1999": false, "/x?date=2026-05-01": false,
	} {
		if got := trapCalendar(pq, func() time.Time { return now }) != ""; got != trap {
			t.Errorf("%s: %v", pq, got)
		}
	}
}

func TestTrapCounts(t *testing.T) {
	c := newTrapCounts(Traps{Queries: 3, PerDir: 5, Sessions: Unlimited}, nil)
	enter := func(u string) bool { return c.enter(mustURL(t, u)) == "" }
	for i := range 4 {
		if got, want := enter(fmt.Sprintf("http://a.test/s/x?q=%d", i)), i < 3; got != want {
			t.Errorf("variant %d: %v", i, got)
		}
	}
	if !enter("http://b.test/s/x?q=9") || !enter("http://a.test/s/y?q=1") {
		t.Error("other hosts and paths have separate counts")
	}
	if !enter("http://a.test/s/z") || enter("http://a.test/s/zz") {
		t.Error("the sixth URL of a directory is one too many")
	}
	off := newTrapCounts(Traps{Queries: Unlimited, PerDir: Unlimited, Sessions: Unlimited}, nil)
	for i := range 10_000 {
		if off.enter(mustURL(t, fmt.Sprintf("http://a.test/?%d", i))) != "" {
			t.Fatal("None is no limit")
		}
	}
}

// URLs that differ only in their session count as one group; those that differ otherwise do not.
func TestSessionTrapCounts(t *testing.T) {
	c := newTrapCounts(Traps{Queries: Unlimited, PerDir: Unlimited, Sessions: 2}, nil)
	for i, u := range []string{"/x?PHPSESSID=1&a=1", "/x?a=1&PHPSESSID=2", "/x;jsessionid=3?a=1", "/x?PHPSESSID=4&a=2", "/x?a=1", "/x?a=1&sid=5"} {
		if got, want := c.enter(mustURL(t, "http://a.test"+u)), i == 2; (got != "") != want {
			t.Errorf("%s: %q", u, got)
		}
	}
}

// A table can be restored from the changes stored since it was loaded.
func TestTrapCountsOutliveTheProcess(t *testing.T) {
	c := newTrapCounts(Traps{Queries: 5, PerDir: Unlimited, Sessions: Unlimited}, nil)
	enter := func(c *trapCounts, i int) bool {
		return c.enter(mustURL(t, fmt.Sprintf("http://a.test/x?%d", i))) == ""
	}
	for i := range 3 {
		enter(c, i)
	}
	stored, seed, fresh := c.changes()
	if len(stored) != 1 || !fresh {
		t.Fatalf("%v %v", stored, fresh)
	}
	if more, _, fresh := c.changes(); len(more) != 0 || fresh {
		t.Errorf("unchanged, yet %v %v", more, fresh)
	}
	enter(c, 3)
	more, again, fresh := c.changes()
	if len(more) != 1 || fresh || again != seed {
		t.Errorf("%v %v %v", more, again, fresh)
	}
	for k, n := range more {
		stored[k] = n
	}
	d := newTrapCounts(Traps{Queries: 5, PerDir: Unlimited, Sessions: Unlimited}, nil)
	d.load(seed, func(group uint64) uint32 { return stored[group] })
	if !enter(d, 4) || enter(d, 5) {
		t.Error("the fifth variant is the last, also after a restart")
	}
	if more, again, fresh := d.changes(); len(more) != 1 || fresh || again != seed {
		t.Errorf("after a restart: %v %v %v", more, again, fresh)
	}
	d.restart()
	if !enter(d, 6) {
		t.Error("an emptied table remembers old entries")
	}
	c.restart()
	enter(c, 6)
	if more, _, fresh := c.changes(); !fresh || len(more) != 1 {
		t.Errorf("an emptied table gives %v %v", more, fresh)
	}
}

// A full table is emptied instead of growing.
func TestTrapCountsAreBounded(t *testing.T) {
	c := newTrapCounts(Traps{Queries: 5, PerDir: Unlimited, Sessions: Unlimited}, nil)
	for i := range uint64(maxTrapCounts) {
		c.counts[i] = 1
	}
	c.changes()
	if c.enter(mustURL(t, "http://a.test/x?1")) != "" || len(c.counts) > 2 {
		t.Errorf("%d counters", len(c.counts))
	}
	if more, _, fresh := c.changes(); !fresh || len(more) != 1 {
		t.Errorf("%d changed, fresh %v", len(more), fresh)
	}
}
