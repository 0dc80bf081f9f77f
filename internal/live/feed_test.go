package live

import (
	"fmt"
	"testing"
)

// TestABufferGivesEachLineOnce: what is taken stays as it is while more is written, memory is used again, and that of a burst is
// not kept.
func TestABufferGivesEachLineOnce(t *testing.T) {
	var b Buffer
	write := func(text string) {
		if n, err := b.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	for i := range 100 {
		want := fmt.Sprintf("line %d\nanother\n", i)
		write(want)
		got := b.take()
		write("later\n")
		if string(got) != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if later := b.take(); string(later) != "later\n" {
			t.Fatalf("%q", later)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		write("x\n")
		_ = b.take()
	}); n > 1 { // write makes the slice
		t.Errorf("%v allocations", n)
	}
	write(string(make([]byte, 2*mostSpare)))
	for range 3 {
		_ = b.take()
	}
	if cap(b.b)+cap(b.taken) > mostSpare {
		t.Errorf("%d bytes are kept", cap(b.b)+cap(b.taken))
	}
}
