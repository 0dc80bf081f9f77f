package mem

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/enginetest"
)

func TestEngineConforms(t *testing.T) {
	enginetest.Run(t, func(*testing.T) enginetest.Job { return job(New()) }, enginetest.Options{Virtual: true})
}

func job(s *Server) enginetest.Job {
	seed := uint64(0)
	return enginetest.Job{
		Connect: func(*testing.T) cluster.Engine { return s.Connect() },
		Beside:  func(*testing.T) cluster.Engine { return s.NewJob().Connect() },
		Restart: func(*testing.T) {},
		GoBack:  func(_ *testing.T, shard int) { s.GoBack(shard, 1) },
		Flaky: func(*testing.T) cluster.Engine {
			seed++
			c := s.Connect()
			c.Misbehave(Faults{Seed: seed, Latency: 20 * time.Millisecond, Lost: 0.2, Unheard: 0.2})
			return c
		},
	}
}

// TestEngineConformsWithFaults runs the conformance suite on connections with slow answers.
func TestEngineConformsWithFaults(t *testing.T) {
	enginetest.Run(t, func(*testing.T) enginetest.Job {
		j := job(New())
		whole := j.Connect
		j.Connect = func(t *testing.T) cluster.Engine {
			c := whole(t).(*Conn)
			c.Misbehave(Faults{Seed: 7, Latency: 30 * time.Millisecond})
			return c
		}
		return j
	}, enginetest.Options{Virtual: true})
}

func TestRobotsFilesAreBounded(t *testing.T) {
	c := newClocks()
	c.limit = 100
	for i := range 20 {
		c.keep(string(rune('a'+i%15)), make([]byte, 30), time.Hour)
	}
	if len(c.files) != 3 || c.size != 90 || c.files["e"].value == nil {
		t.Errorf("%d files with %d bytes", len(c.files), c.size)
	}
}
