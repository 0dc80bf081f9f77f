package fetcher

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// names caches a limited number of look-ups. It makes one look-up of a name at a time.
type names struct {
	resolver Resolver
	pins     *pins
	makeRoom func() // closes idle connections
	timeout  time.Duration
	ttl      time.Duration
	negative time.Duration
	size     int
	running  sync.WaitGroup // look-ups in progress

	mu      sync.Mutex
	entries map[string]*list.Element // elements hold *name
	recent  *list.List               // names, most recently used first
	flights map[string]*flight
	closed  bool
}

// name is the cache entry of one host name.
type name struct {
	host    string
	addrs   []netip.Addr // addresses of the name, with the address in use first
	err     *Error       // set if the name does not exist; addrs is empty then
	expires time.Time
}

// flight is a look-up in progress.
type flight struct {
	done   chan struct{}
	cancel context.CancelFunc
	addrs  []netip.Addr
	err    *Error
}

func newNames(c *Config, p *pins, makeRoom func()) *names {
	return &names{
		resolver: c.Resolver, pins: p, makeRoom: makeRoom, timeout: c.DNSTimeout, ttl: c.DNSTTL, negative: c.DNSNegativeTTL, size: c.DNSCacheSize,
		entries: make(map[string]*list.Element), recent: list.New(), flights: make(map[string]*flight),
	}
}

// Resolve returns the address for which to request a Permit and to which to connect: the host's IP literal, or an address of its name,
// IPv4 before IPv6, otherwise in the resolver's order. The address stays the same while the look-up is cached, unless a connection to it
// fails; then the name's next address is used. The guard rejects addresses that are not public, unless the host is exempt
// ([Config].AllowHosts). Errors are of type *[Error].
func (f *Fetcher) Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	if u.IsZero() {
		return netip.Addr{}, &Error{Phase: phaseDNS, Reason: reasonURL, Err: errors.New("no URL"), Ended: time.Now()}
	}
	if err := f.cfg.checkPort(u); err != nil {
		return netip.Addr{}, &Error{Phase: phaseConnect, Reason: ReasonPort, Err: err, Ended: time.Now()}
	}
	addr, err := f.resolve(ctx, u.Hostname())
	if err != nil {
		e := *err // a copy, because the cached error is shared
		e.Ended = time.Now()
		return netip.Addr{}, &e
	}
	if err := f.cfg.checkListeners(addr, u); err != nil {
		return netip.Addr{}, &Error{Phase: phaseDNS, Reason: ReasonAddress, Err: err, Ended: time.Now()}
	}
	return addr, nil
}

func (f *Fetcher) resolve(ctx context.Context, host string) (netip.Addr, *Error) {
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{literal}
	} else {
		var failed *Error
		if addrs, failed = f.names.lookup(ctx, host); failed != nil {
			return netip.Addr{}, failed
		}
	}
	return f.choose(host, addrs)
}

// choose returns the first address that the guard and the local address allow. Addresses to which the name is pinned are used only
// if the look-up returned no public address.
func (f *Fetcher) choose(host string, addrs []netip.Addr) (netip.Addr, *Error) {
	check := f.check
	if f.guard.anyPublic(addrs) {
		check = func(_ string, a netip.Addr) error { return f.guard.check(a) }
	}
	var refusal error
	for _, a := range addrs {
		if f.cfg.LocalAddr.IsValid() && f.cfg.LocalAddr.Unmap().Is4() != a.Unmap().Is4() {
			continue
		}
		err := check(host, a)
		if err == nil {
			return a.Unmap(), nil
		}
		refusal = errors.Join(refusal, err)
	}
	if refusal == nil {
		return netip.Addr{}, &Error{Phase: phaseDNS, Reason: reasonNXDomain, Err: errors.New("no address of the local address's family")}
	}
	return netip.Addr{}, &Error{Phase: phaseDNS, Reason: ReasonAddress, Err: refusal}
}

// lookup returns the cached result of a look-up, or waits for a look-up that is in progress or that it starts.
func (n *names) lookup(ctx context.Context, host string) ([]netip.Addr, *Error) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil, &Error{Phase: phaseDNS, Reason: reasonClosed, Err: errClosed}
	}
	if known := n.get(host, time.Now()); known != nil {
		addrs, err := known.addrs, known.err
		n.mu.Unlock()
		return addrs, err
	}
	fl := n.flights[host]
	if fl == nil {
		fl = n.take(ctx, host)
	}
	n.mu.Unlock()
	select {
	case <-fl.done:
		return fl.addrs, fl.err
	case <-ctx.Done():
		return nil, &Error{Phase: phaseDNS, Reason: ReasonCanceled, Err: context.Cause(ctx)}
	}
}

// take starts a look-up. It has its own time limit, so callers that wait for it may stop waiting. The caller holds n.mu.
func (n *names) take(ctx context.Context, host string) *flight {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.timeout)
	fl := &flight{done: make(chan struct{}), cancel: cancel}
	n.flights[host] = fl
	n.running.Go(func() { n.fly(ctx, host, fl) })
	return fl
}

// fly makes the look-up and wakes the callers that wait for it.
func (n *names) fly(ctx context.Context, host string, fl *flight) {
	defer fl.cancel()
	addrs, err := n.ask(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if err != nil {
		if over := ctx.Err(); over != nil && !full(err) {
			err = over
		}
		fl.err = failure(phaseDNS, err)
	} else {
		fl.addrs = byFamily(addrs)
		if err := n.pins.meet(ctx, host, fl.addrs); err != nil {
			fl.err = &Error{Phase: phaseDNS, Reason: ReasonPin, Err: err}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.flights, host)
	n.put(host, fl, time.Now())
	close(fl.done)
}

// ask queries the resolver. It tries again as long as no file descriptor is available.
func (n *names) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	var waited error
	for {
		addrs, err := n.resolver.LookupNetIP(ctx, "ip", host)
		switch {
		case waited != nil && err != nil && ctx.Err() != nil:
			return nil, waited // the time limit ended while waiting for a file descriptor; the resolver was not slow
		case !full(err):
			return addrs, err
		}
		waited = err
		n.makeRoom()
		if !sleep(ctx, descriptorPause) {
			return nil, err
		}
	}
}

// byFamily returns addrs with IPv4 first, otherwise in the resolver's order.
func byFamily(addrs []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		out[i] = a.Unmap()
	}
	slices.SortStableFunc(out, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return out
}

// get returns the cache entry of host at the time now, or nil if it must be looked up. The caller holds n.mu.
func (n *names) get(host string, now time.Time) *name {
	el := n.entries[host]
	if el == nil {
		return nil
	}
	known := el.Value.(*name)
	if !now.Before(known.expires) {
		n.recent.Remove(el)
		delete(n.entries, host)
		return nil
	}
	n.recent.MoveToFront(el)
	return known
}

// put caches the result of a look-up. It caches that a name does not exist only if that is certain. The caller holds n.mu.
func (n *names) put(host string, fl *flight, now time.Time) {
	known := &name{host: host, addrs: fl.addrs, err: fl.err, expires: now.Add(n.ttl)}
	switch {
	case fl.err != nil && fl.err.Reason != reasonNXDomain:
		return
	case fl.err != nil:
		known.expires = now.Add(n.negative)
	}
	for n.recent.Len() >= n.size {
		oldest := n.recent.Back()
		n.recent.Remove(oldest)
		delete(n.entries, oldest.Value.(*name).host)
	}
	n.entries[host] = n.recent.PushFront(known)
}

// failed moves an address after all others of the name, because a connection to it failed.
func (n *names) failed(host string, addr netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	el := n.entries[host]
	if el == nil {
		return
	}
	known := el.Value.(*name)
	if i := slices.Index(known.addrs, addr); i >= 0 && len(known.addrs) > 1 {
		rest := slices.Delete(slices.Clone(known.addrs), i, i+1) // a copy, because readers may use the original slice
		known.addrs = append(rest, addr)
	}
}

// close cancels the look-ups in progress and waits for them.
func (n *names) close() {
	n.mu.Lock()
	n.closed = true
	for _, fl := range n.flights {
		fl.cancel()
	}
	n.mu.Unlock()
	n.running.Wait()
}
