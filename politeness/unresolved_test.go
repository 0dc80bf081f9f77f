package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOneFailedLookUpIsOneAttempt: if two pages of a host need its robots.txt at the same moment, and the host's name has no address, this
// counts as one attempt at robots.txt, in the ledger as well. The test does that for many hosts.
func TestOneFailedLookUpIsOneAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		const hosts = 200
		var both sync.WaitGroup
		for i := range hosts {
			for n := range 2 {
				u := b.url(fmt.Sprintf("http://h%d.test/%d", i, n))
				both.Go(func() { b.gate.Failed(u, u.RobotsURL(), errors.New("no address")) })
			}
		}
		both.Wait()
		if lines := strings.Count(out.String(), "\n"); lines != hosts {
			t.Errorf("%d lines for %d attempts", lines, hosts)
		}
		time.Sleep(time.Second) // the pause after one failed attempt
		for i := range hosts {
			b.mustAt(fmt.Sprintf("http://h%d.test/", i), fmt.Sprintf("192.0.2.%d", i+1))
		}
	})
}
