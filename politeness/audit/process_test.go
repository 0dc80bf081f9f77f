package audit

import (
	"strings"
	"testing"
)

// TestProcesses checks requests of two machines whose clocks differ. A pause that is too short is a violation, or counted separately
// if the possible error of the clocks explains it. So is a request that a process begins after another process has taken over its
// shard.
func TestProcesses(t *testing.T) {
	const robots = "http://a.test/robots.txt"
	ledger := func(second float64, host string) *book {
		b := newBook()
		b.add(req{url: robots, purpose: "robots", at: 0, end: 0.1, status: 404})
		b.add(req{url: "http://a.test/1", at: 2, end: 3, status: 200})
		b.run, b.id = "r2", 0
		if host == "b.test:80" {
			b.add(req{url: "http://b.test/robots.txt", host: host, purpose: "robots", at: second, end: second + 0.1, status: 404})
			return b
		}
		return b.add(req{url: "http://a.test/2", at: second, end: second + 1, status: 200})
	}
	for _, c := range []struct {
		name      string
		second    float64 // start of the second process's request, by its own clock; the request may begin at 4
		host      string
		first     Process // clock of the first process
		ahead     float64 // how far the second process's clock is ahead
		wrong     float64
		invariant string // name of the violated invariant; "": none
		unproven  int
	}{
		{name: "in time", second: 4.2},
		{name: "short", second: 3.7, invariant: "P4"},
		{name: "short by less than the clocks may be wrong", second: 3.7, wrong: 0.3, unproven: 1},
		{name: "short by more", second: 3.7, wrong: 0.1, invariant: "P4"},
		{name: "in time by a clock that is behind", second: 3.2, ahead: -1},
		{name: "short by a clock that is ahead", second: 4.5, ahead: 1, invariant: "P4"},
		{name: "an address, short", second: 3.7, host: "b.test:80", invariant: "P6"},
		{name: "an address, not proven", second: 3.7, host: "b.test:80", wrong: 0.3, unproven: 1},
		{name: "at once", second: 2.5, wrong: 0.1, invariant: "P3"},
		{name: "begun when it was overtaken", second: 9, first: Process{Until: base.Add(secs(1))}, invariant: "P12"},
		{name: "begun about when it was overtaken", second: 9, first: Process{Until: base.Add(secs(1.9)), Error: 0.2}, unproven: 1},
		{name: "under way when it was overtaken", second: 4, first: Process{Until: base.Add(secs(2.5))}},
	} {
		cfg := Config{Product: "bot", UserAgent: "bot/1 (+https://lab.university.edu)", Delay: 1}
		c.first.Run, c.first.Name, c.first.Error = "r1", "node n1", c.first.Error+c.wrong/2
		cfg.Processes = []Process{c.first, {Run: "r2", Name: "node n2", Ahead: c.ahead, Error: c.wrong/2 + 0.05}}
		b := ledger(c.second, c.host)
		rep, err := Check(strings.NewReader(b.b.String()), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := first(rep.Violations); got != c.invariant || rep.Unproven != c.unproven {
			t.Errorf("%s: %v and %d not proven, want %q and %d", c.name, rep.Violations, rep.Unproven, c.invariant, c.unproven)
		}
		if c.invariant == "P3" {
			continue // such lines were not written concurrently
		}
		if got := first(paced(t, b.b.String(), cfg, nil)); got != c.invariant {
			t.Errorf("%s: line by line %q, want %q", c.name, got, c.invariant)
		}
	}
}

func first(vs []Violation) string {
	for _, v := range vs {
		if v.Invariant != "P12" || len(vs) == 1 {
			return v.Invariant
		}
	}
	return ""
}

// TestAnswerAfterTakeover: nobody else knows the response to the last request of a process whose shard was taken over. Neither its latency,
// which may include the time for which the process was stopped, nor a pause that it requests counts for the next owner.
func TestAnswerAfterTakeover(t *testing.T) {
	cfg := Config{Product: "bot", UserAgent: "bot/1 (+https://lab.university.edu)", Delay: 1, DelayFactor: 1, MaxDelay: 60}
	for _, c := range []struct {
		name         string
		answered     float64
		stored       float64 // 0: unknown, as in ledgers of an earlier version
		answer, want string
		unknown      int
	}{
		{name: "answered before", answered: 5, want: "P5"},
		{name: "answered after", answered: 14},
		{name: "a pause requested before", answered: 5, answer: `,"retry_after":"600"`, want: "P7"},
		{name: "a pause requested after", answered: 14, answer: `,"retry_after":"600"`},
		{name: "answered after the last commit", answered: 5, stored: 4, unknown: 1},
		{name: "answered before the last commit", answered: 5, stored: 5.5, want: "P5"},
		{name: "a pause requested after the last commit", answered: 5, stored: 4, answer: `,"retry_after":"600"`, unknown: 1},
		{name: "a pause requested before the last commit", answered: 5, stored: 5.5, answer: `,"retry_after":"600"`, want: "P7"},
	} {
		b := newBook()
		b.add(req{url: "http://a.test/robots.txt", purpose: "robots", at: 0, end: 0.1, status: 404})
		status := 200
		if c.answer != "" {
			status = 503
		}
		b.add(req{url: "http://a.test/1", at: 2, end: c.answered, status: status, extra: c.answer})
		b.run, b.id = "r2", 0
		b.add(req{url: "http://a.test/2", at: 7.1, end: 7.2, status: 200})
		cfg.Processes = []Process{{Run: "r1", Name: "node n1", Until: base.Add(secs(6))}, {Run: "r2", Name: "node n2"}}
		if c.stored > 0 {
			cfg.Processes[0].Stored = base.Add(secs(c.stored))
		}
		rep, err := Check(strings.NewReader(b.b.String()), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := first(rep.Violations); got != c.want || rep.Unknown < c.unknown || c.unknown == 0 && rep.Unknown > 0 {
			t.Errorf("%s: %v and %d unknown, want %q and %d", c.name, rep.Violations, rep.Unknown, c.want, c.unknown)
		}
		if got := first(paced(t, b.b.String(), cfg, nil)); got != c.want {
			t.Errorf("%s: line by line %q, want %q", c.name, got, c.want)
		}
	}
}
