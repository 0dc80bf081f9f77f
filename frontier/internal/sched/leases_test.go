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
