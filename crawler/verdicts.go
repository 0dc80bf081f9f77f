package crawler

import (
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/weburl"
)

// recentLinks is the number of links whose verdict is remembered: the pages of a site share the few links
// that lead to each other and out of the site.
const recentLinks = 1024

// verdicts caches recent verdicts about links. An entry takes 24 bytes per link, so that the cache fits
// into that of a processor; there are few different verdicts. It is not safe for concurrent use.
type verdicts struct {
	recent [recentLinks]recentLink
	all    []verdict
	at     map[verdict]uint16
}

type recentLink struct {
	key  weburl.Key
	kind extract.Kind
	at   uint16 // index in all, from 1; 0: nothing is remembered
}

// maxVerdicts is the number of different verdicts that are remembered. Scopes have few rules; one that
// gives every URL its own rule is called more often.
const maxVerdicts = 4096

func newVerdicts() *verdicts { return &verdicts{at: map[verdict]uint16{}} }

// of returns judge's verdict about a link, or the one that is cached.
func (m *verdicts) of(key weburl.Key, kind extract.Kind, judge func() verdict) verdict {
	slot := &m.recent[(int(key[0])|int(key[1])<<8)%recentLinks]
	if slot.at != 0 && slot.key == key && slot.kind == kind {
		return m.all[slot.at-1]
	}
	v := judge()
	*slot = recentLink{key, kind, m.intern(v)}
	return v
}

// intern returns the index of v in all, from 1.
func (m *verdicts) intern(v verdict) uint16 {
	if at, ok := m.at[v]; ok {
		return at
	}
	if len(m.all) == maxVerdicts {
		m.recent, m.all = [recentLinks]recentLink{}, m.all[:0]
		clear(m.at)
	}
	m.all = append(m.all, v)
	m.at[v] = uint16(len(m.all))
	return m.at[v]
}
