package live

import (
	"fmt"
	"testing"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// TestAFeedGivesEachOnce checks that each event is delivered once and in order, as a copy of the crawl's data. Memory is reused, but the
// memory for a burst of events is released.
func TestAFeedGivesEachOnce(t *testing.T) {
	full := 0
	f := Feed{Full: func() { full++ }}
	clauses, usage := []ledger.Clause{{Name: ledger.ClauseDelay}}, []sink.Usage{{Use: "search"}}
	give := func(i int) {
		clauses[0].Delay, usage[0].Signal = ledger.Duration(i), fmt.Sprint(i)
		if err := f.Record(&ledger.Entry{Event: ledger.Start, ID: uint64(i), Clauses: clauses}); err != nil {
			t.Fatal(err)
		}
		if err := f.Append(t.Context(), &sink.Record{URL: fmt.Sprint(i), Usage: usage, Links: &sink.LinkCount{}}); err != nil {
			t.Fatal(err)
		}
	}
	lines, visits := 0, 0
	poll := func() {
		err := f.Poll(func(e *ledger.Entry) {
			if e.ID != uint64(lines) || len(e.Clauses) != 1 || e.Clauses[0].Delay != ledger.Duration(lines) {
				t.Fatalf("line %d: %+v", lines, e)
			}
			lines++
		}, func(v *sink.Record) {
			if v.URL != fmt.Sprint(visits) || len(v.Usage) != 1 || v.Usage[0].Signal != v.URL || v.Links != nil {
				t.Fatalf("visit %d: %+v", visits, v)
			}
			visits++
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * enough {
		if give(i); i%100 == 0 {
			poll()
		}
	}
	for i := range 3 * maxSpare {
		give(3*enough + i)
	}
	poll()
	if most := 3*enough + 3*maxSpare; lines != most || visits != most {
		t.Errorf("%d lines and %d visits of %d", lines, visits, most)
	}
	if full != 3*maxSpare/enough+3*maxSpare/many {
		t.Errorf("it was full %d times", full)
	}
	poll()
	poll()
	if n := cap(f.lines.given) + cap(f.lines.taken) + cap(f.visits.given) + cap(f.visits.taken); n > 2*maxSpare {
		t.Errorf("room for %d is kept", n)
	}
	e := ledger.Entry{Event: ledger.End}
	fill := func() {
		for range enough {
			_ = f.Record(&e)
		}
		_ = f.Poll(func(*ledger.Entry) {}, func(*sink.Record) {})
	}
	fill() // the burst released both halves of a batch: this call grows one half, and AllocsPerRun first makes a call that grows the other
	if n := testing.AllocsPerRun(100, fill); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
