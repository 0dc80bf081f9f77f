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

// Counter is implemented by Frontiers that count their URLs.
type Counter interface {
	// Stats returns the counts of all URLs, in constant time.
	Stats() Stats
	// HostPending returns how many URLs of a host (weburl.URL.Host) are queued, waiting or claimed.
	HostPending(host string) int
}

// Rationer is implemented by Frontiers whose queue is bounded, so that a crawler can tell what becomes of a
// link for which there is no room.
type Rationer interface {
	// Room is how much more may be queued of a host (weburl.URL.Host) at present: so many URLs, whose
	// texts may have so many bytes. What is added beyond is rejected.
	Room(host string) (urls int, bytes int64)
}

// Room implements [Rationer]. What it says of bytes is the least that there is room for: URLs that
// resemble each other take less than their texts.
func (m *Memory) Room(host string) (urls int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.room(m.hosts.Find(host))
}

// HostPending implements [Counter].
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
		known[i] = mk != nil && mk.state() != stateRejected && m.seen.depth(hash, mk) <= depth
	}
}
