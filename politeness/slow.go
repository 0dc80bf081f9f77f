package politeness

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// ErrShorter is wrapped by the error of [Gate.Slow] for a delay that is shorter than the one in force.
var ErrShorter = errors.New("a delay can only be lengthened")

// Slow lengthens the operator's delay for a host (host:port, weburl.URL.Host) from now on, as if it had been the first entry
// of Config.HostDelays: also for the pause after its last request. Nothing shortens it again, and a shorter one than is in
// force is an error. The Gate forgets it with the process.
func (g *Gate) Slow(key string, d time.Duration) error {
	u, err := weburl.Parse("https://" + key)
	if err != nil || u.Host() != key {
		return fmt.Errorf("politeness: %q is not host:port", key)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.host(u)
	if least, _ := g.cfg.leastDelay(h.state(&g.cfg, h.local)); d < least {
		return fmt.Errorf("politeness: the delay of %s is %v, and %v would be shorter: %w", key, least, d, ErrShorter)
	}
	if err := g.cfg.slow(key, d, g.hosts); err != nil {
		return err
	}
	delay, clause := g.cfg.delayFor(h.state(&g.cfg, h.local))
	for p := range h.slots {
		if p.ended != 0 {
			p.hold(p.ended.time().Add(delay), delay, clause)
		}
	}
	return nil
}

// slow makes a delay the first entry of HostDelays. The entries of all hosts move with it.
func (c *Config) slow(key string, d time.Duration, all hosts) error {
	old := c.HostDelays
	if len(old) >= math.MaxUint16-1 {
		return fmt.Errorf("politeness: %d hosts have delays of their own: no more are possible", len(old))
	}
	now := []HostDelay{{Match: key, Delay: d}}
	moved := make([]uint16, len(old)+1) // by the number that an entry had
	for i := range old {
		if old[i].Match == key {
			moved[i+1] = 1
			continue
		}
		now = append(now, old[i])
		moved[i+1] = uint16(len(now))
	}
	changed := *c
	changed.HostDelays = slices.Clip(now)
	table, err := changed.hostTable()
	if err != nil {
		return err
	}
	c.HostDelays, c.hosts = changed.HostDelays, table
	for host, h := range all {
		h.entry = moved[h.entry]
		if host == key {
			h.entry = 1
		}
	}
	return nil
}
