package main

import (
	"testing"
	"time"
)

func TestBoundAndSimulation(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name        string
		hosts       []hostPlan
		rate        float64
		concurrency int
		bound, took time.Duration
		by          string
	}{
		{"one host", []hostPlan{{Host: "a", Addr: "1", Delay: s, Pages: 9}}, 0, 64, 10 * s, 10 * s, "host a"},
		{"the slowest decides", []hostPlan{{Host: "a", Addr: "1", Delay: s, Pages: 9}, {Host: "b", Addr: "2", Delay: 5 * s, Pages: 3}}, 0, 64, 15400 * time.Millisecond, 15400 * time.Millisecond, "host b"},
		{"an address is shared", []hostPlan{{Host: "a", Addr: "1", Delay: s, Pages: 4}, {Host: "b", Addr: "1", Delay: s, Pages: 4}}, 0, 64, 10 * s, 10 * s, "address 1"},
		{"a rate in all", []hostPlan{{Host: "a", Addr: "1", Delay: s, Pages: 4}, {Host: "b", Addr: "2", Delay: s, Pages: 4}}, 0.5, 64, 20 * s, 18100 * time.Millisecond, "--rate 0.5"},
		{"too few workers", []hostPlan{{Host: "a", Addr: "1", Pages: 9}, {Host: "b", Addr: "2", Pages: 9}}, 0, 1, s, 2 * s, "host a"},
	} {
		p := &plan{Hosts: c.hosts, Rate: c.rate}
		p.bound(100 * time.Millisecond)
		if p.Bound.Round(100*time.Millisecond) != c.bound.Round(100*time.Millisecond) || p.DecidedBy != c.by {
			t.Errorf("%s: bound %v by %s, want %v by %s", c.name, p.Bound, p.DecidedBy, c.bound, c.by)
		}
		if took := p.simulate(100*time.Millisecond, c.concurrency); took.Round(100*time.Millisecond) != c.took.Round(100*time.Millisecond) {
			t.Errorf("%s: played through in %v, want %v", c.name, took, c.took)
		}
	}
}
