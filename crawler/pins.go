package crawler

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/frontier"
)

// pins are the first look-ups of the seeds' names, for all Runs of a Crawler: what the gate knows of a site, such as
// its robots.txt, outlives a Run, and must not be turned into a permission to ask another machine.
type pins struct {
	mu    sync.Mutex
	first map[string][]netip.Addr
}

// set remembers a first look-up and returns the one that holds: another Run may have been quicker.
func (p *pins) set(host string, private []netip.Addr) []netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, known := p.first[host]; known {
		return was
	}
	if p.first == nil {
		p.first = map[string][]netip.Addr{}
	}
	p.first[host] = private
	return private
}

// pin is fetcher.Config.Pin. In a crawl that outlives the process the look-up is durable before anything is asked of
// what it found: a restart is no second first look-up.
func (r *run) pin(ctx context.Context, host string, private []netip.Addr) ([]netip.Addr, error) {
	if r.store != nil {
		var err error
		if private, err = r.keepPin(context.WithoutCancel(ctx), host, private); err != nil {
			return nil, fmt.Errorf("crawler: the first look-up of %s: %w", host, err)
		}
	}
	return r.pins.set(host, private), nil
}

// keepPin stores a first look-up in the frontier, or returns the one that is stored there.
func (r *run) keepPin(ctx context.Context, host string, private []netip.Addr) ([]netip.Addr, error) {
	b, err := r.store.Value(ctx, "", keyPin+host)
	switch {
	case err != nil:
		return nil, err
	case b != nil:
		return parsePin(string(b))
	}
	return private, r.store.Commit(ctx, nil, frontier.Checkpoint{Values: map[string][]byte{keyPin + host: pinText(private)}})
}

// pinPublic stands for the first look-up of a name that had a public address.
const pinPublic = "public"

func pinText(private []netip.Addr) []byte {
	if len(private) == 0 {
		return []byte(pinPublic)
	}
	text := make([]string, len(private))
	for i, a := range private {
		text[i] = a.String()
	}
	return []byte(strings.Join(text, " "))
}

func parsePin(text string) ([]netip.Addr, error) {
	if text == pinPublic {
		return nil, nil
	}
	var private []netip.Addr
	for s := range strings.FieldsSeq(text) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, err
		}
		private = append(private, a)
	}
	return private, nil
}
