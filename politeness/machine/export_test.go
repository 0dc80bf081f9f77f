package machine

// Kill ends what a process that is killed has.
func (m *Hosts) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for gate := range m.crawls {
		m.end(gate)
	}
	if m.err == nil {
		_ = m.file.Close()
	}
}
