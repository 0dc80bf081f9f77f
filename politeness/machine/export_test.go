package machine

import "fmt"

// Kill releases what the operating system releases for a killed process.
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

// OnePage returns the names of n hosts whose clocks share a page.
func OnePage(n int) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("h%d.test", i)
		if uint64(idOf("host", name, "80"))%(pageCount-1) == 7 {
			if n == 0 {
				return name
			}
			n--
		}
	}
}
