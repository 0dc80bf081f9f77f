package machine

import "fmt"

// Kill releases only what the operating system would release if it killed the process.
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

// OnePage returns the name of the nth of several hosts whose clocks are on the same page of the file.
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
