package crawler

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
)

// bound computes a lower bound of the time for the requests made so far: for every host and every server address, the time that its
// requests take if they are made one at a time, each followed by the required pause. It does not depend on the number and speed of the
// workers.
type bound struct {
	mu      sync.Mutex
	needs   map[bottleneck]*need
	changed map[bottleneck]bool // bottlenecks changed since the last call of changes; nil in a crawl that is not durable
}

// bottleneck is a host, or the address of a server. Requests to it are made one at a time.
type bottleneck struct {
	host string
	addr netip.Addr
}

const partyHost, partyAddr = "host ", "address "

// String returns the name of the host or address in reports and in stored state.
func (p bottleneck) String() string {
	if p.host != "" {
		return partyHost + p.host
	}
	return partyAddr + p.addr.String()
}

// parseBottleneck parses the result of String. It returns the zero bottleneck if the name is not valid.
func parseBottleneck(name string) bottleneck {
	if host, ok := strings.CutPrefix(name, partyHost); ok {
		return bottleneck{host: host}
	}
	addr, _ := netip.ParseAddr(strings.TrimPrefix(name, partyAddr))
	return bottleneck{addr: addr}
}

type need struct {
	total time.Duration
	last  time.Duration // the pause after the last request; the crawl can end without waiting for it
	slots int
}

func newBound() *bound { return &bound{needs: map[bottleneck]*need{}} }

// answer adds a request to the needs of its host and, unless the operator owns the host, of its address.
func (b *bound) answer(a *fetcher.Answer, own func(host string) int) {
	var took time.Duration
	var ended time.Time
	if page := a.Page; page != nil {
		took, ended = page.Ended.Sub(page.Written), page.Ended
	} else if failed := failure(a.Err); failed != nil && !failed.Written.IsZero() {
		took, ended = failed.Ended.Sub(failed.Written), failed.Ended
	} else {
		return
	}
	host, rest := a.Permit.URL().Host(), a.Ready.Sub(ended)
	slots := 0
	if own != nil {
		slots = own(host)
	}
	b.add(bottleneck{host: host}, slots, took, rest)
	if slots == 0 {
		b.add(bottleneck{addr: a.Addr}, 1, took, rest)
	}
}

// failure returns the *fetcher.Error in err, or nil.
func failure(err error) *fetcher.Error {
	var failed *fetcher.Error
	errors.As(err, &failed)
	return failed
}

// add adds a request to the need of a host or address: the duration of the request and the pause after it.
func (b *bound) add(who bottleneck, slots int, took, rest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.needs[who]
	if n == nil {
		n = &need{slots: max(1, slots)}
		b.needs[who] = n
	}
	n.last = max(0, rest)
	n.total += max(0, took) + n.last
	if b.changed != nil {
		b.changed[who] = true
	}
}

// changes returns the needs that changed since the last call.
func (b *bound) changes() map[string]need {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]need, len(b.changed))
	for who := range b.changed {
		all[who.String()] = *b.needs[who]
	}
	clear(b.changed)
	return all
}

// recall restores a need returned by b.changes.
func (b *bound) recall(who string, n need) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.needs[parseBottleneck(who)] = &n
}

// least returns the minimum time and the host or address that determines it.
func (b *bound) least() (time.Duration, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var most time.Duration
	var by string
	for who, n := range b.needs {
		if t := (n.total - n.last) / time.Duration(n.slots); t > most || t == most && who.String() < by {
			most, by = t, who.String()
		}
	}
	return most, by
}
