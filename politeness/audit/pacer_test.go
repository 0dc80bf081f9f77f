package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// paced returns the violations that a Pacer finds in a ledger.
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

// early returns, as texts, those violations that a Pacer can find.
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

// samePaces checks that Pacer and Check agree. If processes overlap, the lines are first sorted by the time at which they were written.
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
			return // both found violations; their numbers may differ: a Pacer reports an overlap once, at the end of the first request
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pacer found\n%v\nand the check\n%v", got, want)
	}
}

// byTime sorts ledger lines by time.
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

// TestPacerForgetsOnlyHostsWithoutPause visits more hosts than a Pacer remembers, and then returns to the first one at
// once.
func TestPacerForgetsOnlyHostsWithoutPause(t *testing.T) {
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
	for i := range 3 * maxClocks {
		at = at.Add(2 * time.Millisecond)
		if visit(i, at) != 0 {
			t.Fatalf("host %d: too early", i)
		}
	}
	if len(p.clocks) > maxClocks || len(p.open) > 0 {
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

// TestPacerForgetsAttemptsOfAKilledProcess checks that a robots.txt request without an end resets the number of failed attempts, even if
// the next process first requests another host at the same address, and even if the request is that for the target of a redirect, at a
// host that the next process does not request.
func TestPacerForgetsAttemptsOfAKilledProcess(t *testing.T) {
	p := NewPacer(config(), nil)
	id := uint64(0)
	request := func(run, host, of string, at, status int) {
		t.Helper()
		id++
		when := base.Add(time.Duration(at) * time.Second)
		l := Line{Event: "start", Run: run, ID: id}
		l.Host, l.URL, l.For, l.Addr, l.Purpose = host+":80", "http://"+host+"/robots.txt", "http://"+of+"/", "192.0.2.1", "robots"
		l.Allowed, l.Written = when, when
		_, _, found := p.Add(&l)
		if status != 0 {
			l = Line{Event: "end", Run: run, ID: id}
			l.Ended, l.Status = when, status
			if status == 301 {
				l.Location = "http://target.test/robots.txt"
			}
			_, _, more := p.Add(&l)
			found = append(found, more...)
		}
		if len(found) > 0 {
			t.Errorf("%s after %d s: %v", host, at, found)
		}
	}
	robots := func(run, host string, at, status int) {
		t.Helper()
		request(run, host, host, at, status)
	}
	robots("killed", "a.test", 0, 503)
	robots("killed", "a.test", 10, 0)
	robots("next", "b.test", 20, 404)
	robots("next", "a.test", 30, 503)
	robots("next", "a.test", 32, 200)

	robots("next", "c.test", 40, 503)
	robots("next", "c.test", 50, 301)
	request("next", "target.test", "c.test", 60, 0)
	robots("third", "c.test", 70, 503)
	robots("third", "c.test", 72, 200)
}

// TestPacerReusesMemory compares a Pacer that reuses request structs with one that does not.
func TestPacerReusesMemory(t *testing.T) {
	reused := 0
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.PerDomain, c.MaxRetryAfter = rapid.Bool().Draw(t, "domains"), 0.5
		if rapid.Bool().Draw(t, "own") {
			c.OwnHosts = map[string]int{"h0.test:80": 2}
		}
		one, other := NewPacer(c, nil), NewPacer(c, nil)
		at, open := base, []Line{}
		for i := range rapid.IntRange(1, 300).Draw(t, "lines") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 900 * time.Millisecond, time.Second, time.Second, 3 * time.Second}).Draw(t, "pause"))
			var l Line
			if n := rapid.IntRange(-2, len(open)-1).Draw(t, "end"); n < 0 {
				host := fmt.Sprintf("h%d.test:80", rapid.IntRange(0, 2).Draw(t, "host"))
				l = Line{Event: "start", Run: rapid.SampledFrom([]string{"r", "r", "r", "s"}).Draw(t, "run"), ID: uint64(rapid.SampledFrom([]int{i + 1, i + 1, i + 1, i}).Draw(t, "id"))}
				l.Host, l.URL, l.Allowed, l.Written = host, "http://"+host+"/", at, at
				l.Domain = rapid.SampledFrom([]string{"test", "test", host[:7]}).Draw(t, "name")
				l.Addr = rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}).Draw(t, "addr")
				if rapid.IntRange(0, 4).Draw(t, "robots") == 0 {
					l.Purpose, l.For, l.URL = "robots", l.URL, l.URL+"robots.txt"
				}
				open = append(open, l)
			} else {
				l = Line{Event: "end", Run: open[n].Run, ID: open[n].ID}
				l.Ended, l.Status = at, rapid.SampledFrom([]int{200, 200, 200, 503, 0}).Draw(t, "status")
				if l.Status == 503 && rapid.Bool().Draw(t, "wait") {
					l.RetryAfter = rapid.SampledFrom([]string{"1", "2", "4"}).Draw(t, "seconds")
				}
				open = slices.Delete(open, n, n+1)
			}
			same := l
			pause, paused, found := one.Add(&l)
			wantPause, wantPaused, want := other.Add(&same)
			if pause != wantPause || paused != wantPaused || !reflect.DeepEqual(slices.Clone(found), slices.Clone(want)) {
				t.Fatalf("line %d: %v %v %v, want %v %v %v", i, pause, paused, found, wantPause, wantPaused, want)
			}
			for _, r := range one.spare {
				reused++
				*r = request{line: 999, run: "gone", epoch: 7, before: time.Hour, after: time.Hour, alive: at.Add(time.Hour)}
				r.close(&EndLine{Ended: at.Add(time.Hour), Status: 503, RetryAfter: "9999"}, 999)
			}
			other.spare = nil
		}
	})
	if reused == 0 {
		t.Error("no request was reused")
	}
}
