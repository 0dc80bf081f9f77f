package frontier

import "github.com/amble-crawler/amble/weburl"

// Stats implements [Counter].
func (m *Memory) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(m.clock.Now())
	return Stats{
		Queued:   m.hosts.Queued(),
		Waiting:  m.hosts.Waiting(),
		Claimed:  m.hosts.Held(),
		Done:     m.done,
		Rejected: m.rejected,
		Hosts:    m.hosts.Busy(),
	}
}

// Room implements [Rationer]. There may be room for more bytes than it returns: URLs that resemble each
// other take less than their texts.
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
func (m *Memory) Known(keys []weburl.Key, depth int, priority int8, known []bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range keys {
		hash := m.hash(keys[i])
		mk := m.seen.find(hash)
		known[i] = mk != nil && mk.state() != stateRejected && m.seen.depth(hash, mk) <= depth &&
			(mk.state() != stateQueued || !m.ranks.below(hash, priority))
	}
}
