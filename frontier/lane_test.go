package frontier

import (
	"fmt"
	"slices"
	"testing"
)

// TestLaneDropsWhatIsRead checks that a lane that always has a few items does not grow.
func TestLaneDropsWhatIsRead(t *testing.T) {
	var l lane
	var d deltas
	text := func(i int) record { return fmt.Appendf(nil, "/section/%d/article-about-%d.html", i*7919, i) }
	for i := range 10_000 {
		l.push(text(i), &d)
		if i < 20 {
			continue
		}
		if got := l.pop(); !slices.Equal(got, text(i-20)) {
			t.Fatalf("popped %q, want %q", got, text(i-20))
		}
		if cap(l.head) > 4000 || len(l.rest) > 0 {
			t.Fatalf("%d bytes for 20 records after %d", cap(l.head), i)
		}
	}
}
