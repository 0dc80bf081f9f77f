package frontier

import "github.com/amble-crawler/amble/weburl"

// Knower is implemented by Frontiers that can tell cheaply for which links Add would change nothing,
// so that a crawler need not make a Request of each. It is a shortcut, never a decision: a link that
// is not told to be known still goes through Add.
type Knower interface {
	// Known sets known[i] to whether adding the URL with keys[i] at depth would change nothing. The
	// keys are made as the store makes them. It allocates nothing.
	Known(keys []weburl.Key, depth int, known []bool)
}

// HostCounter is implemented by Frontiers that can tell what is left of a host.
type HostCounter interface {
	// HostPending is how many URLs of a host (weburl.URL.Host) are queued, waiting or claimed.
	HostPending(host string) int
}

// HostPending implements [HostCounter].
func (m *Memory) HostPending(host string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.hosts.Find(host); h != nil {
		return h.Pending()
	}
	return 0
}

// Known implements [Knower], for keys made by MemoryConfig.Key.
func (m *Memory) Known(keys []weburl.Key, depth int, known []bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range keys {
		hash := m.hash(keys[i])
		mk := m.seen.find(hash)
		known[i] = mk != nil && mk.state() != Rejected && m.seen.depth(hash, mk) <= depth
	}
}
