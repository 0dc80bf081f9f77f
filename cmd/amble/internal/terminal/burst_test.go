package terminal

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// writes is a writer that records the text and the time of each write.
type writes struct {
	start time.Time
	all   []string
	err   error
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, fmt.Sprintf("%v %q", time.Since(w.start), b))
	return len(b), w.err
}

func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writes{start: time.Now()}
		b := NewBurst(w)
		for _, line := range []string{"a\n", "b\n", "c\n"} { // the first line is written at once, the others together
			fmt.Fprint(b, line)
		}
		time.Sleep(time.Second)
		fmt.Fprint(b, "d\n") // written alone
		fmt.Fprint(b, "e\n")
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		want := []string{`0s "a\n"`, `20ms "b\nc\n"`, `1s "d\n"`, `1s "e\n"`}
		if !slices.Equal(w.all, want) {
			t.Errorf("%q, want %q", w.all, want)
		}
	})
}

func TestBurstIsBounded(t *testing.T) {
	w := &writes{start: time.Now()}
	b := NewBurst(w)
	line := make([]byte, burstSize/4)
	for range 9 { // the first line is written alone, then four at a time
		fmt.Fprintf(b, "%s", line)
	}
	if len(w.all) != 3 {
		t.Errorf("%d writes", len(w.all))
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// If a write to the output fails, that line and all later calls return the error.
func TestBurstReturnsWriteError(t *testing.T) {
	full := errors.New("full")
	b := NewBurst(&writes{start: time.Now(), err: full})
	if _, err := b.Write([]byte("a\n")); !errors.Is(err, full) {
		t.Error(err)
	}
	if _, err := b.Write([]byte("b\n")); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := b.Close(); !errors.Is(err, full) {
		t.Error(err)
	}
}
