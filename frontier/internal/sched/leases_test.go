package sched

import (
	"testing"
	"time"
)

func TestLeasesExpireInOrder(t *testing.T) {
	l := NewLeases[string](10*time.Nanosecond, 7)
	a, da := l.Grant("a", 0)
	b, _ := l.Grant("b", 3)
	c, _ := l.Grant("c", 3)
	if a != 8 || b != 9 || da != 10 {
		t.Fatalf("IDs %d and %d, deadline %d", a, b, da)
	}
	if _, ok := l.Expire(10); ok || l.Next() != 11 {
		t.Fatal("lost at its deadline, want after it")
	}
	if it, ok := l.End(b); !ok || it != "b" {
		t.Fatalf("End: %q, %t", it, ok)
	}
	if it, ok := l.Expire(11); !ok || it != "a" || l.Next() != 14 {
		t.Fatalf("Expire: %q, %t; next %d", it, ok, l.Next())
	}
	if _, ok := l.End(a); ok {
		t.Fatal("ended twice")
	}
	if it, ok := l.Expire(14); !ok || it != "c" || l.Next() != Never {
		t.Fatalf("Expire: %q, %t; next %d", it, ok, l.Next())
	}
	if _, ok := l.End(c); ok || l.newest != nil || l.oldest != nil || len(l.byID) != 0 {
		t.Fatal("not empty")
	}
}

func TestLeasesWithoutTimeout(t *testing.T) {
	l := NewLeases[int](0, 0)
	id, deadline := l.Grant(1, 5)
	if _, ok := l.Expire(Never - 1); ok || deadline != Never || l.Next() != Never {
		t.Fatal("a lease for ever is lost")
	}
	if it, ok := l.End(id); !ok || it != 1 {
		t.Fatalf("End: %d, %t", it, ok)
	}
}

// TestKeptLeasesNeverExpire checks that kept leases never expire, and that EndKept ends all given leases or none.
func TestKeptLeasesNeverExpire(t *testing.T) {
	l := NewLeases[string](10*time.Nanosecond, 0)
	a, _ := l.Grant("a", 0)
	b, _ := l.Grant("b", 0)
	c, _ := l.Grant("c", 0)
	for _, id := range []uint64{a, b} {
		if _, ok := l.Keep(id); !ok {
			t.Fatal("not kept")
		}
	}
	if _, ok := l.Keep(a); ok {
		t.Fatal("kept twice")
	}
	if _, ok := l.End(a); ok {
		t.Fatal("End ended a kept lease")
	}
	if it, ok := l.Expire(1000); !ok || it != "c" || l.Next() != Never {
		t.Fatalf("Expire: %q, %t; next %d", it, ok, l.Next())
	}
	for _, ids := range [][]uint64{{a, b, c}, {a, a}, {b, a, b}} {
		if items, ok := l.EndKept(ids); ok {
			t.Fatalf("%v ended as %v", ids, items)
		}
	}
	if items, ok := l.EndKept([]uint64{b, a}); !ok || len(items) != 2 || items[0] != "b" || items[1] != "a" {
		t.Fatalf("EndKept: %v, %t", items, ok)
	}
	if _, ok := l.EndKept([]uint64{a}); ok || len(l.kept) != 0 {
		t.Fatal("ended twice")
	}
}
