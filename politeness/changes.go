package politeness

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Changes returns the parts of a [Gate.Snapshot] that have changed since the last call: values by name, nil for parts that
// were removed. The first call returns all parts. [Assemble] makes a snapshot of the latest value of each name. Changes is for
// a crawl that stores its snapshot with every commit: its result grows with the number of requests in between, not with the
// number of hosts. It waits like Snapshot, and treats times and Permits in the same way.
//
// A name consists of a letter, "/" and a host, an address or a domain; or it is "head", which every result contains.
func (g *Gate) Changes() map[string][]byte {
	now := time.Now()
	g.recording.Lock()
	defer g.recording.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.touched == nil
	if first {
		g.touched = newTouched()
	}
	all := g.touchedOnes()
	if first || g.touched.all {
		maps.Insert(all, g.everything())
	}
	g.touched = newTouched()
	all[headName] = g.head(now)
	g.changes = now
	return all
}

// LastChanges returns the time of the last call of Changes, zero if there was none. No result of Changes contains data that the
// Gate has learned later.
func (g *Gate) LastChanges() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes
}

// The names of changes. Each value begins with the version of its format.
const (
	headName    = "head"
	addrPrefix  = "a/"
	domPrefix   = "d/"
	hostPrefix  = "h/"
	filesPrefix = "r/"
)

// part begins the value of a part with its format's version and its name.
func part(name string) *writer {
	w := &writer{b: []byte{snapshotVersion}}
	w.string(name)
	return w
}

func (g *Gate) addrPart(a netip.Addr) (name string, value []byte) {
	name = addrPrefix + a.String()
	p := g.pacer.addrs[a]
	if p == nil {
		return name, nil
	}
	w := part(string(a.AsSlice()))
	w.pace(&p.pace)
	return name, w.b
}

func (g *Gate) domainPart(d string) (name string, value []byte) {
	name = domPrefix + d
	p := g.pacer.domains[d]
	if p == nil {
		return name, nil
	}
	w := part(d)
	w.pace(&p.pace)
	return name, w.b
}

func (g *Gate) hostPart(key string) (name string, value []byte) {
	name = hostPrefix + key
	h := g.hosts[key]
	if h == nil {
		return name, nil
	}
	w := part(key)
	w.host(h)
	return name, w.b
}

func (g *Gate) filesPart(key string) (name string, value []byte) {
	name = filesPrefix + key
	h := g.hosts[key]
	if h == nil || !h.hasFiles() {
		return name, nil
	}
	w := part(key)
	w.files(h)
	return name, w.b
}

// hasFiles reports whether the host has a robots.txt worth storing.
func (h *host) hasFiles() bool {
	for _, o := range h.origins {
		if o != nil && o.rules != nil && o.rules.body != "" {
			return true
		}
	}
	return false
}

// everything yields all parts of the snapshot except the head.
func (g *Gate) everything() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for a := range g.pacer.addrs {
			if !yield(g.addrPart(a)) {
				return
			}
		}
		for d := range g.pacer.domains {
			if !yield(g.domainPart(d)) {
				return
			}
		}
		for key, h := range g.hosts {
			if !yield(g.hostPart(key)) || h.hasFiles() && !yield(g.filesPart(key)) {
				return
			}
		}
	}
}

// touched records which state may have changed since the last call of Changes. nil: Changes is not used.
type touched struct {
	all     bool
	hosts   []string // keys of changed hosts; host.changed tells which parts
	gone    []string // keys of forgotten hosts, some of which may exist again
	addrs   map[netip.Addr]bool
	domains map[string]bool
}

func newTouched() *touched {
	return &touched{addrs: map[netip.Addr]bool{}, domains: map[string]bool{}}
}

// changed is the set of parts of a host's state that may have changed since the last call of Changes.
type changed uint8

const (
	changedHost changed = 1 << iota
	changedFiles
)

// touch records that a request began, ended or was taken back. Its clocks, its host and, for a robots.txt, the host that needs
// the file may have changed.
func (g *Gate) touch(p *permit) {
	if g.touched == nil {
		return
	}
	g.touchHost(p.url, 0)
	if p.purpose == Robots {
		g.touchHost(p.wanted, changedFiles)
	} else if p.wanted != p.url {
		g.touchHost(p.wanted, 0)
	}
	g.touchClocks(p)
}

// touchHost records that u's host may have changed, and which parts besides its clocks. It builds no key for a host
// already recorded.
func (g *Gate) touchHost(u weburl.URL, what changed) {
	if g.touched == nil {
		return
	}
	h := g.hosts.find(u)
	if h == nil {
		return // the host was forgotten, and is listed in gone
	}
	if h.changed == 0 {
		g.touched.hosts = append(g.touched.hosts, u.Host())
	}
	h.changed |= changedHost | what
}

// touchFiles records that the robots.txt files of a host may have changed.
func (g *Gate) touchFiles(key string, h *host) {
	if g.touched == nil {
		return
	}
	if h.changed == 0 {
		g.touched.hosts = append(g.touched.hosts, key)
	}
	h.changed |= changedHost | changedFiles
}

// touchClocks records the clocks that a request shares with other hosts.
func (g *Gate) touchClocks(p *permit) {
	g.touched.addr(clockAddr(p.addr))
	if g.cfg.PerDomain {
		g.touched.domain(p.url.Domain())
	}
}

func (t *touched) addr(a netip.Addr) {
	if t != nil {
		t.addrs[a] = true
	}
}

func (t *touched) domain(d string) {
	if t != nil {
		t.domains[d] = true
	}
}

// forgotten records that a host was forgotten.
func (t *touched) forgotten(key string) {
	if t != nil {
		t.gone = append(t.gone, key)
	}
}

// everything records that all parts may have changed.
func (t *touched) everything() {
	if t != nil {
		t.all = true
	}
}

// touchedOnes returns the parts that may have changed, and resets the marks of their hosts.
func (g *Gate) touchedOnes() map[string][]byte {
	all := make(map[string][]byte, 2*len(g.touched.hosts))
	put := func(name string, value []byte) { all[name] = value }
	for _, key := range g.touched.gone {
		put(g.hostPart(key))
		put(g.filesPart(key))
	}
	for _, key := range g.touched.hosts {
		h := g.hosts[key]
		if h == nil {
			continue // the host was forgotten, and is listed in gone
		}
		put(g.hostPart(key))
		if h.changed&changedFiles != 0 {
			put(g.filesPart(key))
		}
		h.changed = 0
		g.touchHolders(h)
	}
	for a := range g.touched.addrs {
		put(g.addrPart(a))
	}
	for d := range g.touched.domains {
		put(g.domainPart(d))
	}
	return all
}

// touchHolders records the clocks held by requests to a host: the pause due after them depends on the host.
func (g *Gate) touchHolders(h *host) {
	for p := range h.slots {
		if p.holder != nil {
			g.touchClocks(p.holder)
		}
	}
}

// Assemble makes a snapshot from the latest values that [Gate.Changes] returned, in any order, or nil if there are none.
// It iterates over them twice, and keeps none. It returns an error if they are not a complete snapshot.
func Assemble(values iter.Seq2[string, []byte]) ([]byte, error) {
	var head []byte
	for name, value := range values {
		if name == headName {
			head = bytes.Clone(value)
			break
		}
	}
	if head == nil {
		return nil, nil
	}
	r := &reader{b: head}
	if r.take(len(snapshotMagic)) != snapshotMagic || r.err != nil || len(r.b) == 0 {
		return nil, fmt.Errorf("%w: its parts have no beginning", errSnapshot)
	}
	version := r.b[0]
	prefixes := []string{addrPrefix, domPrefix, hostPrefix, filesPrefix}
	bodies, counts := make([][]byte, len(prefixes)), make([]uint64, len(prefixes))
	for name, value := range values {
		for i, prefix := range prefixes { // parts in the format of another version are outdated: no Gate has used them since
			if strings.HasPrefix(name, prefix) && len(value) > 0 && value[0] == version {
				bodies[i], counts[i] = append(bodies[i], value[1:]...), counts[i]+1
			}
		}
	}
	w := &writer{b: head}
	for i, body := range bodies {
		w.uint(counts[i])
		w.b = append(w.b, body...)
	}
	return w.b, nil
}
