package sched

import "testing"

func TestRestingHostIsKeptUntilReadyThenForgotten(t *testing.T) {
	s := New[string, int]()
	h := s.Open("a:80", 1)
	s.Offer(h, 1, 10)
	if got := s.Take(10); got != h {
		t.Fatalf("took %v", got)
	}
	s.Release(h, Gone, 50, 20)
	if s.Forget(49) != nil || s.Find("a:80") != h || s.Len() != 1 {
		t.Fatal("forgotten before its ready time: the wait is lost")
	}
	if s.Forget(50) != h || s.Find("a:80") != nil || s.Len() != 0 {
		t.Fatal("not forgotten at its ready time")
	}
	if s.Open("b:80", 1); len(s.numbers) != 1 {
		t.Fatal("a forgotten host keeps its number")
	}
	if s.Pending() != 0 || s.Busy() != 0 {
		t.Fatalf("%d pending, %d busy", s.Pending(), s.Busy())
	}
}

func TestRestingHostComesBack(t *testing.T) {
	s := New[string, int]()
	h := s.Open("a:80", 1)
	s.Offer(h, 1, 10)
	s.Take(10)
	s.Release(h, Gone, 50, 20)
	s.Delay(h, 60, 21)
	s.Offer(h, 1, 30)
	if s.Next() != 60 || s.Take(59) != nil || s.Take(60) != h {
		t.Fatal("the ready time is lost while the host had no work")
	}
	if s.Forget(100) != nil {
		t.Fatal("a host with a holder is forgotten")
	}
}

// TestReadyIsNeverShortened checks that, if several workers hold a host, the longest of their waits decides.
func TestReadyIsNeverShortened(t *testing.T) {
	s := New[string, int]()
	h := s.Open("a:80", 3)
	s.Offer(h, 3, 0)
	for range 3 {
		s.Take(0)
	}
	s.Release(h, Gone, 100, 1)
	s.Release(h, Gone, Always, 2)
	s.Release(h, Gone, 40, 3)
	s.Offer(h, 3, 4)
	if s.Take(99) != nil || s.Take(100) != h {
		t.Fatalf("ready at %d, want 100", h.Ready())
	}
	s.Release(h, Gone, 200, 101) // the host is already due for its next item
	if s.Take(199) != nil || s.Take(200) != h {
		t.Fatalf("ready at %d, want 200", h.Ready())
	}
	s.Take(200)
	s.Offer(h, 1, 200)
	s.Release(h, Gone, 300, 201) // another worker still holds the host
	if s.Take(299) != nil || s.Take(300) != h {
		t.Fatalf("ready at %d, want 300", h.Ready())
	}
}

// TestWideHostLinesUp checks that a host with free slots goes behind the others after each turn.
func TestWideHostLinesUp(t *testing.T) {
	s := New[string, int]()
	wide, other := s.Open("wide", 4), s.Open("o", 1)
	s.Offer(wide, 9, 0)
	s.Offer(other, 1, 1)
	if s.Take(5) != wide || s.Take(5) != other || s.Take(5) != wide {
		t.Fatal("a wide host takes all turns")
	}
}

func TestCounts(t *testing.T) {
	s := New[string, int]()
	a, b := s.Open("a", 0), s.Open("b", 1) // values below 1 mean 1
	s.Offer(a, 2, 0)
	s.Park(b, 2, 0)
	want := func(queued, waiting, held, busy int) {
		t.Helper()
		if s.Queued() != queued || s.Waiting() != waiting || s.Held() != held || s.Busy() != busy ||
			s.Pending() != queued+waiting+held {
			t.Fatalf("queued %d waiting %d held %d busy %d, want %d %d %d %d",
				s.Queued(), s.Waiting(), s.Held(), s.Busy(), queued, waiting, held, busy)
		}
	}
	want(2, 2, 0, 2)
	s.Take(0)
	want(1, 2, 1, 2)
	if s.Take(0) != nil {
		t.Fatal("a second holder")
	}
	s.Release(a, Later, Always, 0)
	want(1, 3, 0, 2)
	s.Take(0)
	s.Release(a, Back, Always, 0)
	want(1, 3, 0, 2)
	s.Take(0)
	s.Release(a, Gone, Always, 0)
	s.Unpark(a, 1, 0)
	s.Unpark(b, 2, 0)
	want(3, 0, 0, 2)
	for range 3 {
		s.Release(s.Take(0), Gone, Always, 0)
	}
	want(0, 0, 0, 0)
	if a.Pending() != 0 || a.Queued() != 0 || b.Waiting() != 0 {
		t.Fatal("hosts count differently")
	}
}

// TestPinnedHostIsNotForgotten checks that a host about to get work is kept.
func TestPinnedHostIsNotForgotten(t *testing.T) {
	s := New[string, int]()
	fresh, rested := s.Open("a:80", 1), s.Open("b:80", 1)
	s.Delay(rested, 10, 0)
	s.Pin(fresh)
	s.Pin(rested)
	s.Pin(rested)
	s.Unpin(rested, 5)
	if h := s.Forget(100); h != nil {
		t.Fatalf("%s is forgotten", h.Name)
	}
	s.Offer(rested, 1, 20)
	s.Unpin(rested, 20)
	if s.Take(20) != rested {
		t.Fatal("work given to a pinned host is not served")
	}
	s.Unpin(fresh, 20)
	if s.Forget(20) != fresh {
		t.Fatal("an unpinned host without work is not forgotten")
	}
}

// TestFreedPlaceIsUsedWhileItsURLIsHeld checks that a host whose slot was freed early can be served, is not forgotten and counts as busy.
func TestFreedPlaceIsUsedWhileItsURLIsHeld(t *testing.T) {
	s := New[string, int]()
	h := s.Open("a:80", 1)
	s.Offer(h, 2, 0)
	s.Take(0)
	s.Free(h, 50, 1)
	if s.Take(49) != nil || s.Take(50) != h || s.Held() != 2 || h.Pending() != 2 {
		t.Fatalf("not taken at its ready time: %d held, %d pending", s.Held(), h.Pending())
	}
	s.Finish(h, Back, 70, 60)
	if s.Take(100) != nil {
		t.Fatal("a slot was freed twice")
	}
	s.Free(h, Always, 61)
	if s.Next() != 70 || s.Held() != 1 {
		t.Fatalf("due at %d, %d held", s.Next(), s.Held())
	}
	s.Take(70)
	s.Free(h, Always, 71)
	if s.Forget(1000) != nil || s.Busy() != 1 || s.Pending() != 2 {
		t.Fatal("forgotten while a URL is held")
	}
	s.Finish(h, Gone, Always, 72)
	s.Finish(h, Gone, 90, 73)
	if s.Pending() != 0 || s.Busy() != 0 || s.Forget(89) != nil || s.Forget(90) != h {
		t.Fatal("not forgotten at its ready time")
	}
}
