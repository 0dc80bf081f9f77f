package politeness

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// ErrShorter is wrapped by the error of [Gate.Slow] for a delay that is shorter than the one in force.
var ErrShorter = errors.New("a delay can only be lengthened")

// Slow lengthens the operator's delay for a host from now on, as if it were the first entry of Config.HostDelays. It applies
// to the pause after the last request, too. The host is host:port (weburl.URL.Host), or a name or address alone, which means
// all its ports; ports with a longer delay keep it. A delay cannot be shortened again: a shorter one than that in force is an
// error. The delay is not kept beyond the end of the process.
func (g *Gate) Slow(host string, d time.Duration) error {
	u, err := weburl.Parse("https://" + host)
	if err != nil || u.Host() != host && u.Authority() != host {
		return fmt.Errorf("politeness: %q is neither host:port nor a host", host)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if host == u.Host() {
		g.host(u) // creates the host if needed, because the loop below covers only known hosts
	}
	slowed := g.hosts.named(host)
	least, _ := g.cfg.minimumDelay(newHost(&g.cfg, host).state(&g.cfg, isLoopback(u.Host())))
	for key, h := range slowed {
		if g.cfg.keepsLonger(h.entry, host, d) {
			delete(slowed, key)
			continue
		}
		now, _ := g.cfg.minimumDelay(h.state(&g.cfg, h.local))
		least = max(least, now)
	}
	if d < least {
		return fmt.Errorf("politeness: the delay of %s is %v, and %v would be shorter: %w", host, least, d, ErrShorter)
	}
	if err := g.cfg.slow(host, d, g.hosts); err != nil {
		return err
	}
	for _, h := range slowed {
		delay, clause := g.cfg.delayFor(h.state(&g.cfg, h.local))
		for p := range h.slots {
			if p.ended != 0 {
				p.hold(p.ended.time().Add(delay), delay, clause)
			}
		}
	}
	return nil
}

// named returns the hosts that a host:port, or a name for all its ports, refers to.
func (m hosts) named(host string) hosts {
	some := hosts{}
	for key, h := range m {
		if covers(host, key) {
			some[key] = h
		}
	}
	return some
}

// covers reports whether a host:port, or a name for all its ports, includes another host:port or name.
func covers(host, other string) bool {
	if host == other {
		return true
	}
	colon := strings.LastIndexByte(other, ':')
	if colon <= strings.LastIndexByte(other, ']') {
		return false
	}
	return strings.TrimSuffix(host, ".") == strings.TrimSuffix(other[:colon], ".")
}

// keepsLonger reports whether an entry of HostDelays applies to just one port of host and is longer than d.
func (c *Config) keepsLonger(entry uint16, host string, d time.Duration) bool {
	if entry == 0 {
		return false
	}
	e := &c.HostDelays[entry-1]
	name := hostmatch.Name(e.Match)
	return e.Delay > d && name != host && covers(host, name)
}

// slow makes a delay the first entry of HostDelays, after longer ones for a single port of the host. It updates the entry
// numbers of all hosts.
func (c *Config) slow(host string, d time.Duration, all hosts) error {
	old := c.HostDelays
	if len(old) >= math.MaxUint16-1 {
		return fmt.Errorf("politeness: %d hosts have delays of their own: no more are possible", len(old))
	}
	var now []HostDelay
	moved := make([]uint16, len(old)+1) // maps the old number of each entry to its new one
	move := func(which func(i int) bool) {
		for i := range old {
			if which(i) {
				now = append(now, old[i])
				moved[i+1] = uint16(len(now))
			}
		}
	}
	longer := func(i int) bool { return c.keepsLonger(uint16(i+1), host, d) }
	move(longer)
	now = append(now, HostDelay{Match: hostmatch.Exactly(host), Delay: d})
	entry := uint16(len(now))
	move(func(i int) bool { return !longer(i) && !covers(host, hostmatch.Name(old[i].Match)) })
	changed := *c
	changed.HostDelays = slices.Clip(now)
	table, err := changed.hostTable()
	if err != nil {
		return err
	}
	c.HostDelays, c.hosts = changed.HostDelays, table
	for key, h := range all {
		if h.entry = moved[h.entry]; covers(host, key) && (h.entry == 0 || h.entry >= entry) {
			h.entry, h.ranged = entry, nil
		}
	}
	return nil
}
