package crawler

import (
	"net/netip"
	"strings"
	"sync"
)

// pins holds the first look-ups of the seeds' names, for all Runs of a Crawler: what the gate knows of a
// site, such as its robots.txt, outlives a Run, and must not become a permission to make requests to
// another machine.
type pins struct {
	mu    sync.Mutex
	first map[string][]netip.Addr
}

// set remembers a first look-up and returns the one that applies: another Run may have been faster.
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

// pinPublic is stored for the first look-up of a name that had a public address.
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
