package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// BenchmarkNextHost picks the next of a million hosts and puts it back with a random ready time between those of the other
// hosts. It touches no URLs.
func BenchmarkNextHost(b *testing.B) {
	const hosts = 1_000_000
	m := NewMemory(MemoryConfig{})
	for i := range hosts {
		u, err := weburl.Parse(fmt.Sprintf("http://%d.test/", i))
		if err == nil {
			_, err = m.Add(b.Context(), Request{URL: u})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	now := m.clock.Now()
	b.ReportAllocs()
	for b.Loop() {
		m.advance(now)
		h := m.hosts.Take(now)
		if h == nil {
			b.Fatal("no host is ready")
		}
		m.hosts.Release(h, sched.Back, now-r.Int64N(hosts), now)
		now++
	}
}
