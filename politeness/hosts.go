package politeness

import (
	"bytes"

	"github.com/amble-crawler/amble/weburl"
)

// hosts holds the state of all known hosts, by host:port.
type hosts map[string]*host

// of returns the state of u's host, creating it if needed.
func (m hosts) of(c *Config, u weburl.URL) *host {
	h := m.find(u)
	if h == nil {
		key := u.Host()
		h = newHost(c, key)
		m[key] = h
	}
	return h
}

// find returns the state of u's host, nil if there is none. It looks up u.Host() without building that string.
func (m hosts) find(u weburl.URL) *host {
	var buf [128]byte
	key := append(buf[:0], u.Authority()...)
	if colon := bytes.LastIndexByte(key, ':'); colon < 0 || colon < bytes.LastIndexByte(key, ']') {
		key = append(append(key, ':'), u.Port()...)
	}
	return m[string(key)]
}

// origins yields all origins with known state.
func (m hosts) origins(yield func(*origin) bool) {
	for _, h := range m {
		for _, o := range h.origins {
			if o != nil && !yield(o) {
				return
			}
		}
	}
}

// paces yields the clocks of all hosts.
func (m hosts) paces(yield func(*pace) bool) {
	for _, h := range m {
		for p := range h.slots {
			if !yield(p) {
				return
			}
		}
	}
}
