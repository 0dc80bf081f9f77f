package frontier_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func requests(t testing.TB, format string, from, to int) []frontier.Request {
	t.Helper()
	var rs []frontier.Request
	for i := from; i < to; i++ {
		u, err := weburl.Parse(fmt.Sprintf(format, i))
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, frontier.Request{URL: u})
	}
	return rs
}

func add(t *testing.T, m *frontier.Memory, want int, rs ...frontier.Request) {
	t.Helper()
	if n, err := m.Add(t.Context(), rs...); n != want || err != nil {
		t.Fatalf("Add: %d, %v; want %d", n, err, want)
	}
}

func rejected(t *testing.T, m *frontier.Memory, want int) {
	t.Helper()
	if s := m.Stats(); s.Rejected != want {
		t.Fatalf("%+v, want %d rejected", s, want)
	}
}

// serve claims and settles the next URL.
func serve(t *testing.T, m *frontier.Memory, links ...frontier.Request) frontier.Claim {
	t.Helper()
	c, err := m.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Settle(t.Context(), c, frontier.Settlement{Links: links}); err != nil {
		t.Fatal(err)
	}
	return c
}

// long returns n URLs with 1.9 kB of random digits each.
func long(t *testing.T, n int) []frontier.Request {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	rs := requests(t, "http://a.test/%d/", 0, n)
	for i := range rs {
		text := rs[i].URL.String()
		for len(text) < 1900 {
			text += fmt.Sprintf("%016x", r.Uint64())
		}
		u, err := weburl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		rs[i].URL, rs[i].Via = u, u
	}
	return rs
}
