package politeness

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// HostDelay is the operator's delay for the hosts that Match describes.
type HostDelay struct {
	// Match is a host name ("www.site.test", at any port, or "www.site.test:8080"), a domain with all names below it
	// ("*.site.test", which includes site.test), or a range of addresses ("192.0.2.0/24" or a single one). A range is for
	// hosts that are requested at one of its addresses and that no entry matches by name; ranges come after all names. A host
	// whose name is an IP address is matched by name with its port ("192.0.2.7:8080") or, at any port, "192.0.2.7:*".
	Match string
	// Delay is the minimum time between the end of one request to a host and the start of the next, instead of
	// Config.Delay. Only hosts in Config.OwnHosts can have a shorter delay, or NoDelay; others keep Config.Delay. 0:
	// Config.Delay.
	Delay time.Duration
}

// hostTable compiles HostDelays; it returns nil if there are none.
func (c *Config) hostTable() (*hostmatch.Table, error) {
	if len(c.HostDelays) == 0 {
		return nil, nil
	}
	patterns := make([]string, len(c.HostDelays))
	for i, d := range c.HostDelays {
		patterns[i] = d.Match
	}
	return hostmatch.Compile(patterns)
}

// HostDelayError reports an invalid entry of Config.HostDelays.
type HostDelayError struct {
	Index   int
	Match   string
	Problem string
}

func (e *HostDelayError) Error() string {
	return fmt.Sprintf("politeness: HostDelays[%d] (%s): %s", e.Index, e.Match, e.Problem)
}

func (c *Config) validateHostDelays() error {
	var errs []error
	bad := func(i int, format string, args ...any) {
		errs = append(errs, &HostDelayError{i, c.HostDelays[i].Match, fmt.Sprintf(format, args...)})
	}
	if len(c.HostDelays) >= math.MaxUint16 {
		return fmt.Errorf("politeness: HostDelays has %d entries: at most %d are possible", len(c.HostDelays), math.MaxUint16-1)
	}
	_, err := c.hostTable()
	for err := range unjoined(err) {
		var wrong *hostmatch.Error
		if errors.As(err, &wrong) {
			bad(wrong.Index, "%s", wrong.Reason)
		}
	}
	least := or(c.Delay, DefaultDelay)
	for i, d := range c.HostDelays {
		switch {
		case d.Delay < 0 && d.Delay != NoDelay:
			bad(i, "Delay is %v: must not be negative", d.Delay)
		case d.Delay != 0 && d.Delay < least && !c.mayOwn(d.Match):
			bad(i, "Delay is %v, which would shorten the delay of %v: that is only for hosts of your own", max(0, d.Delay), least)
		}
	}
	return errors.Join(errs...)
}

// unjoined yields the errors joined in err.
func unjoined(err error) func(yield func(error) bool) {
	return func(yield func(error) bool) {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return
		}
		for _, e := range joined.Unwrap() {
			if !yield(e) {
				return
			}
		}
	}
}

// mayOwn reports whether a pattern might match an own host, as far as this can be determined without a list of hosts.
func (c *Config) mayOwn(pattern string) bool {
	if c.OwnHosts == nil {
		return false
	}
	name, port, err := net.SplitHostPort(pattern)
	return err != nil || c.OwnHosts(net.JoinHostPort(name, port)) > 0
}

// operatorDelay returns the effective delay of the entry of HostDelays with this number, which counts from 1, and the entry's
// Match.
func (c *Config) operatorDelay(entry uint16, own bool) (d time.Duration, match string) {
	if entry == 0 {
		return 0, ""
	}
	e := &c.HostDelays[entry-1]
	if own || e.Delay > c.Delay {
		return e.Delay, e.Match
	}
	return 0, e.Match
}

// entryOf returns the number, from 1, of the entry that matches a host by name; 0 if none does.
func (c *Config) entryOf(key string) uint16 { return uint16(c.hosts.Host(key) + 1) }

// entryAt returns the number of the entry that applies to h at an address.
func (h *host) entryAt(c *Config, addr netip.Addr) uint16 {
	if !c.hosts.Ranges() || c.hosts.ByName(int(h.entry)-1) {
		return h.entry
	}
	return uint16(c.hosts.Addr(addr) + 1)
}

// meet records the address at which h was requested.
func (h *host) meet(c *Config, addr netip.Addr) {
	entry := h.entryAt(c, addr)
	if entry == h.entry {
		return
	}
	if h.entry, h.ranged = entry, nil; entry != 0 {
		kept := addr // the copy escapes to the heap; &addr would make every call allocate memory
		h.ranged = &kept
	}
}

// rested returns a *NotYet if another of c.HostDelays applies to h at addr than at its last address, and the pause since the slot's last
// request is still shorter than that one requires. The last request may have been to another address and under another Config.
func (h *host) rested(c *Config, now time.Time, slot *pace, addr netip.Addr) error {
	entry := h.entryAt(c, addr)
	if entry == h.entry || slot.ended == 0 {
		return nil
	}
	d, clause := c.delayFor(h.stateBy(c, entry, addr.IsLoopback()))
	if until := slot.ended.time().Add(d); until.After(now) {
		return notYet(ledger.Clause{Name: clause, Until: until, Delay: ledger.Duration(d)})
	}
	return nil
}

// opens returns when h may be requested at addr after a restart, if other hosts may be requested at t: a connection may have
// been open, and h's longer delay counts from its end.
func (h *host) opens(c *Config, t time.Time, addr netip.Addr) time.Time {
	entry := h.entryAt(c, addr)
	if entry == 0 || t.IsZero() {
		return t
	}
	d, _ := c.minimumDelay(h.stateBy(c, entry, false))
	return t.Add(max(0, d-c.usualDelay()))
}
