package extsort

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 10, 5000} {
		for _, memory := range []int{1, 100, 10_000, 0} { // 1: a run for each record, so that runs are merged more than once
			dir := t.TempDir()
			s := New(dir, memory)
			r := rand.New(rand.NewPCG(1, uint64(n)))
			var want []string
			for range n {
				text := fmt.Sprint(r.IntN(n*2), "\n\x00", r.IntN(3))
				want = append(want, text)
				if err := s.Add([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(want)
			var got []string
			for b, err := range s.All() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(b))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d records in %d bytes: not in order", n, memory)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s is left", left[0].Name())
			}
		}
	}
}

// A consumer may stop early.
func TestStop(t *testing.T) {
	s := New(t.TempDir(), 10)
	defer s.Close()
	for i := range 100 {
		if err := s.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for b, err := range s.All() {
		if err != nil || string(b) != "0" {
			t.Fatal(string(b), err)
		}
		break
	}
}

func TestFullDisk(t *testing.T) {
	s := New(t.TempDir()+"/gone", 10)
	defer s.Close()
	var err error
	for i := 0; i < 10 && err == nil; i++ {
		err = s.Add([]byte("12345"))
	}
	if err == nil {
		t.Fatal("records are nowhere")
	}
	for _, again := range s.All() {
		if again == nil {
			t.Error("the error is forgotten")
		}
	}
}
