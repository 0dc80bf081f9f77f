package fetcher

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// pins records for which addresses the hosts that the operator named (Config.AllowHosts) are exempt from the guard. An address literal is
// exempt. The first look-up of a name pins it: to the addresses found, if the guard rejects all of them; otherwise to none, because
// anyone who controls a public name could later direct the crawl into the operator's own network.
type pins struct {
	guard *addressGuard
	named func(hostname string) bool
	keep  func(ctx context.Context, hostname string, private []netip.Addr) ([]netip.Addr, error)

	mu    sync.Mutex
	first map[string][]netip.Addr // keyed by name, after its first look-up; an empty list exempts no address
}

func newPins(c *Config, g *addressGuard) *pins {
	return &pins{guard: g, named: c.AllowHosts, keep: c.Pin, first: map[string][]netip.Addr{}}
}

// meet pins a name to addresses if this is its first look-up. It must not be called concurrently for one name.
func (p *pins) meet(ctx context.Context, host string, found []netip.Addr) error {
	if p.named == nil || !p.named(host) {
		return nil
	}
	if _, known := p.of(host); known {
		return nil
	}
	private := p.private(found)
	if p.keep != nil {
		var err error
		if private, err = p.keep(ctx, host, private); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first[host] = private
	return nil
}

// private returns the addresses to which a name can be pinned: all that were found, or none if one of them is public.
func (p *pins) private(found []netip.Addr) []netip.Addr {
	if p.guard.anyPublic(found) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(found), func(a netip.Addr) bool { return !plain(a) })
}

func (p *pins) of(host string) (pinned []netip.Addr, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pinned, known = p.first[host]
	return pinned, known
}

// exempt reports whether the guard does not apply to this host at this address.
func (p *pins) exempt(host string, addr netip.Addr) bool {
	addr = addr.Unmap()
	if pinned, known := p.of(host); known {
		return slices.Contains(pinned, addr)
	}
	literal, err := netip.ParseAddr(host)
	return err == nil && literal.Unmap() == addr && p.named != nil && p.named(host)
}

// explain adds to an error about a rejected address the addresses to which the host was pinned.
func (p *pins) explain(host string, refusal error) error {
	pinned, known := p.of(host)
	if !known {
		return refusal
	}
	first := "a public address"
	if len(pinned) > 0 {
		text := make([]string, len(pinned))
		for i, a := range pinned {
			text[i] = a.String()
		}
		first = strings.Join(text, ", ")
	}
	return fmt.Errorf("%w; %s was first found at %s and is exempt for no other", refusal, host, first)
}
