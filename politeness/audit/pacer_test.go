package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// paced is what a Pacer finds in a ledger.
func paced(t *testing.T, lines string, c Config, body Body) []Violation {
	t.Helper()
	p := NewPacer(c, body)
	var all []Violation
	for b := range strings.Lines(lines) {
		if !strings.HasSuffix(b, "\n") {
			break
		}
		var l Line
		if err := json.Unmarshal([]byte(b), &l); err != nil {
			t.Fatal(err)
		}
		_, _, found := p.Add(&l)
		all = append(all, found...)
	}
	if p.Unjudged() > 0 {
		t.Errorf("%d requests were not judged", p.Unjudged())
	}
	return all
}

// early are the violations that a Pacer looks for, as texts.
func early(vs []Violation) (texts []string) {
	for _, v := range vs {
		switch v.Invariant {
		case "P3", "P4", "P5", "P6", "P7", "P12":
			texts = append(texts, fmt.Sprintln(v.Invariant, v.Host, v.Lines[0]))
		}
	}
	slices.Sort(texts)
	return texts
}

// samePaces checks that a Pacer finds what Check found. Where processes overlap, it is given the lines in the order in
// which they would have been written.
func samePaces(t *testing.T, lines string, c Config, body Body, found []Violation) {
	t.Helper()
	got, want := early(paced(t, lines, c, body)), early(found)
	if len(got) < len(want) {
		sorted := byTime(t, lines)
		rep, err := Check(strings.NewReader(sorted), c, body)
		if err != nil {
			t.Fatal(err)
		}
		if got = early(paced(t, sorted, c, body)); len(got) > 0 && len(rep.Violations) > 0 {
			return // it finds out when the first of two requests ends, and reports it once
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pacer found\n%v\nand the check\n%v", got, want)
	}
}

// byTime sorts the lines of a ledger by their times.
func byTime(t *testing.T, lines string) string {
	t.Helper()
	when := func(b string) time.Time {
		var l Line
		if err := json.Unmarshal([]byte(b), &l); err != nil {
			t.Fatal(err)
		}
		return timeOf(&l)
	}
	return strings.Join(slices.SortedStableFunc(strings.Lines(lines), func(a, b string) int { return when(a).Compare(when(b)) }), "")
}

// TestAPacerForgetsOnlyWhatNothingIsDueAfter goes through more hosts than are remembered, and returns to the first at once.
func TestAPacerForgetsOnlyWhatNothingIsDueAfter(t *testing.T) {
	p := NewPacer(config(), nil)
	visit := func(i int, at time.Time) int {
		host := fmt.Sprintf("h%d.test:80", i)
		l := Line{Event: "start", Run: "r", ID: uint64(at.Sub(base)) + 1}
		l.Host, l.URL, l.Allowed, l.Written = host, "http://"+host+"/", at, at
		_, _, found := p.Add(&l)
		n := len(found)
		l.Event, l.Ended, l.Status = "end", at.Add(time.Millisecond), 200
		_, _, found = p.Add(&l)
		return n + len(found)
	}
	at := base
	for i := range 3 * mostClocks {
		at = at.Add(2 * time.Millisecond)
		if visit(i, at) != 0 {
			t.Fatalf("host %d: too early", i)
		}
	}
	if len(p.clocks) > mostClocks || len(p.open) > 0 {
		t.Errorf("%d clocks, %d open", len(p.clocks), len(p.open))
	}
	unjudged := p.Unjudged()
	if unjudged == 0 {
		t.Error("more hosts than clocks within an hour, and all were judged")
	}
	if at = at.Add(2 * time.Hour); visit(1, at) != 0 || p.Unjudged() != unjudged {
		t.Error("nothing is due any more, and yet no clock is free")
	}
	if visit(1, at.Add(time.Second/2)) != 1 {
		t.Error("an early request was not noticed")
	}
}
