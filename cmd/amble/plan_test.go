package main

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
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
		{"one host", []hostPlan{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 9}}, 0, 64, 10 * s, 10 * s, "host a"},
		{"the slowest decides", []hostPlan{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 9}, {Host: "b", Addr: "127.0.0.2", Delay: 5 * s, Pages: 3}}, 0, 64, 15400 * time.Millisecond, 15400 * time.Millisecond, "host b"},
		{"an address is shared", []hostPlan{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 4}, {Host: "b", Addr: "127.0.0.1", Delay: s, Pages: 4}}, 0, 64, 10 * s, 10 * s, "address 127.0.0.1"},
		{"a rate in all", []hostPlan{{Host: "a", Addr: "127.0.0.1", Delay: s, Pages: 4}, {Host: "b", Addr: "127.0.0.2", Delay: s, Pages: 4}}, 0.5, 64, 20 * s, 18100 * time.Millisecond, "--rate 0.5"},
		{"too few workers", []hostPlan{{Host: "a", Addr: "127.0.0.1", Pages: 9}, {Host: "b", Addr: "127.0.0.2", Pages: 9}}, 0, 1, s, 2 * s, "host a"},
	} {
		p := &plan{Hosts: c.hosts, Rate: c.rate}
		p.bound(100 * time.Millisecond)
		if p.Bound.Round(100*time.Millisecond) != c.bound.Round(100*time.Millisecond) || p.DecidedBy != c.by {
			t.Errorf("%s: bound %v by %s, want %v by %s", c.name, p.Bound, p.DecidedBy, c.bound, c.by)
		}
		sim := simulation{Hosts: c.hosts, Service: 100 * time.Millisecond, Concurrency: c.concurrency, Delay: crawler.None, DelayFactor: crawler.None, Rate: c.rate}
		res, err := sim.play(t)
		if err != nil || res.Took.Round(100*time.Millisecond) != c.took.Round(100*time.Millisecond) {
			t.Errorf("%s: played through in %v, want %v, %v", c.name, res.Took, c.took, err)
		}
	}
}
