// Package simhash computes 64-bit fingerprints of pages and finds pages with similar fingerprints. The fingerprints of pages that differ
// in few words differ in few bits (Charikar 2002; Manku, Jain and Das Sarma 2007).
//
// Most pages that it finds are near-duplicates, and it finds near-duplicates if few words differ. Among pages of 800 words, 90 in 100 are
// within a distance of 3 when one word was replaced, 47 when four were, and 4 when sixteen were; among pages of 3,000 words 99, 86 and
// 44. That is a property of the method: the distance grows with the square root of the share of words that differ. If header
// and footer had at most half of each page's words, all pages found were versions of the same article; with three quarters, 95 in 100;
// with nine tenths, 15 in 100, or 30 within a distance of 1. The example of the package has the table, for a generated corpus.
package simhash

import (
	"bytes"
	"math/bits"
	"sync"
	"unicode"
	"unicode/utf8"
)

// shingle is the number of consecutive words that form a feature. With one word, pages in the same language are similar because of common
// words. With more than two, one changed word changes more features.
const shingle = 2

// Hasher computes fingerprints. It is safe for concurrent use.
type Hasher struct {
	spread [256]uint64 // for each byte: a word with one bit of the byte in each of its bytes
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher {
	h := &Hasher{}
	for v := range h.spread {
		for bit := range 8 {
			h.spread[v] |= uint64(v>>bit&1) << (8 * bit)
		}
	}
	return h
}

// HTML returns the fingerprint of a page's visible words, without markup, scripts and styles. words is the number of words; the
// fingerprint of a page with very few words is not reliable.
func (h *Hasher) HTML(page []byte) (fingerprint uint64, words int) {
	c := counter{h: h}
	var before uint64
	for w := range visibleWords(page) {
		f := hash(w)
		if words++; words >= shingle {
			c.add(mix(before, f))
		}
		before = f
	}
	return c.fingerprint(), words
}

// hash returns the FNV-1a hash.
func hash(w []byte) uint64 {
	f := uint64(14695981039346656037)
	for _, b := range w {
		f = (f ^ uint64(b)) * 1099511628211
	}
	return f
}

// mix returns a well-distributed hash of two words in their order (the finaliser of MurmurHash3).
func mix(a, b uint64) uint64 {
	m := a*31 + b
	m = (m ^ m>>33) * 0xff51afd7ed558ccd
	m = (m ^ m>>33) * 0xc4ceb9fe1a85ec53
	return m ^ m>>33
}

// counter counts, for each of the 64 bits, the features in which it is set. Each word has eight one-byte counters, which are emptied
// before they overflow.
type counter struct {
	h     *Hasher
	lanes [8]uint64
	full  int
	sum   [64]int
	n     int
}

func (c *counter) add(f uint64) {
	for i := range c.lanes {
		c.lanes[i] += c.h.spread[byte(f>>(8*i))]
	}
	if c.n++; c.n-c.full == 255 {
		c.empty()
	}
}

func (c *counter) empty() {
	for i := range c.sum {
		c.sum[i] += int(byte(c.lanes[i/8] >> (8 * (i % 8))))
	}
	c.lanes, c.full = [8]uint64{}, c.n
}

func (c *counter) fingerprint() (f uint64) {
	c.empty()
	for i, ones := range c.sum {
		if 2*ones > c.n {
			f |= 1 << i
		}
	}
	return f
}

// visibleWords yields the sequences of letters and digits outside of tags, scripts and styles.
func visibleWords(page []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(page) > 0 {
			if page[0] == '<' {
				page = afterTag(page)
				continue
			}
			n := wordLen(page)
			if n == 0 {
				_, size := utf8.DecodeRune(page)
				page = page[size:]
				continue
			}
			if !yield(page[:n]) {
				return
			}
			page = page[n:]
		}
	}
}

func wordLen(b []byte) (n int) {
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		n += size
	}
	return n
}

// afterTag returns the part of page after the tag, comment or raw-text element at its beginning.
func afterTag(page []byte) []byte {
	for _, raw := range []string{"script", "style"} {
		if len(page) > len(raw) && bytes.EqualFold(page[1:1+len(raw)], []byte(raw)) {
			for i := 1; i < len(page); i++ {
				if page[i] == '<' && i+2+len(raw) <= len(page) && page[i+1] == '/' && bytes.EqualFold(page[i+2:i+2+len(raw)], []byte(raw)) {
					page = page[i:]
					break
				}
			}
		}
	}
	end := bytes.IndexByte(page, '>')
	if end < 0 {
		return nil
	}
	return page[end+1:]
}

// Distance returns the number of bits in which two fingerprints differ.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// MaxDistance is the maximum distance of an Index: two fingerprints that differ in at most three bits agree in at least one of four
// blocks of 16 bits.
const MaxDistance = 3

// Index stores fingerprints, each with a name. It is safe for concurrent use. It stores at most the number of fingerprints that it was
// created for, and 16 MiB of names.
type Index struct {
	most, distance int

	mu     sync.Mutex
	size   int // total bytes of names
	names  []string
	prints []uint64
	blocks [4]map[uint16][]int32
}

// NewIndex returns an Index that finds fingerprints within a distance of 0 to MaxDistance.
func NewIndex(most, distance int) *Index {
	x := &Index{most: most, distance: min(distance, MaxDistance)}
	for i := range x.blocks {
		x.blocks[i] = make(map[uint16][]int32)
	}
	return x
}

const maxNames = 16 << 20 // total bytes of names

// maxBlock limits the number of pages that are compared because they agree in a block.
const maxBlock = 1000

// Meet adds a fingerprint and returns the name of an earlier one within the distance, or "".
func (x *Index) Meet(name string, f uint64) (near string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for b := range x.blocks {
		list := x.blocks[b][block(f, b)]
		for _, i := range list[:min(len(list), maxBlock)] {
			if Distance(x.prints[i], f) <= x.distance {
				return x.names[i]
			}
		}
	}
	if len(x.names) < x.most && x.size+len(name) <= maxNames {
		x.size += len(name)
		x.names, x.prints = append(x.names, name), append(x.prints, f)
		for b := range x.blocks {
			k := block(f, b)
			x.blocks[b][k] = append(x.blocks[b][k], int32(len(x.names)-1))
		}
	}
	return ""
}

func block(f uint64, b int) uint16 { return uint16(f >> (16 * b)) }
