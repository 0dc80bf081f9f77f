package warc

import "hash/maphash"

// maxRevisitURI is the maximum length of the URI of a payload that is remembered.
const maxRevisitURI = 1024

// original is the first capture of a payload.
type original struct{ id, uri, date string }

// payloadKey is the digest that the records contain, and a second one, keyed with a secret: somebody who makes two
// payloads with the same SHA-1, which is possible, cannot make them agree in the second digest, too, and have the
// wrong one replayed.
type payloadKey struct {
	digest string
	mark   uint64
	length int
}

// payloads remembers the payloads that were stored last, in bounded memory.
type payloads struct {
	max   int
	byKey map[payloadKey]original
	ring  []payloadKey // in the order they were added; once it is full, the oldest is at next
	next  int
	seed  maphash.Seed
}

func newPayloads(n int) *payloads {
	return &payloads{max: n, byKey: make(map[payloadKey]original), seed: maphash.MakeSeed()}
}

// key returns the key of a capture's payload; ok is false if the payload must be stored in any case.
func (p *payloads) key(c *capture) (k payloadKey, ok bool) {
	payload := c.x.Payload()
	if p.max == 0 || len(payload) == 0 || c.x.Truncated != "" {
		return k, false
	}
	return payloadKey{c.digest, maphash.Bytes(p.seed, payload), len(payload)}, true
}

func (p *payloads) find(k payloadKey) *original {
	if o, ok := p.byKey[k]; ok {
		return &o
	}
	return nil
}

// add remembers a payload and forgets the oldest if there are too many.
func (p *payloads) add(k payloadKey, o original) {
	if len(o.uri) > maxRevisitURI {
		return
	}
	if len(p.ring) < p.max {
		p.ring = append(p.ring, k)
	} else {
		delete(p.byKey, p.ring[p.next])
		p.ring[p.next] = k
		p.next = (p.next + 1) % p.max
	}
	p.byKey[k] = o
}
