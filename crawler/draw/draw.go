// Package draw takes random samples of URLs that depend only on a seed and the URLs, not on their order, on timing, or on the
// number of machines.
//
// Every URL has a [Ticket], a keyed hash. The sample of n URLs from a list consists of those with the n smallest tickets (bottom-k
// sampling), which a [Bottom] finds in one pass, in memory for n+1 URLs. Bottoms can be merged: the sample of two lists together is the
// sample of their two samples.
//
// The package does not depend on crawls. crawler.Config.Sample uses it to draw from sitemaps, and crawler.Config.Order uses the
// tickets for the order in which pages are requested.
package draw

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Ticket returns the ticket of a URL: the first eight bytes, as a big-endian number, of HMAC-SHA256 (RFC 2104) with the seed as the
// key and the URL as the message. Anyone who knows the seed can compute it, and nobody else can predict it:
//
//	printf %s https://site.example/a | openssl dgst -sha256 -hmac SEED
func Ticket(seed, url string) uint64 {
	h := hmac.New(sha256.New, []byte(seed))
	h.Write([]byte(url))
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(sum[:0]))
}

// Item is a URL with its ticket.
type Item struct {
	Ticket uint64 `json:"ticket"`
	URL    string `json:"url"`
	From   string `json:"from,omitempty"` // the list that contains URL
}

// Bottom collects the URLs with the N+1 smallest tickets of all that were added, each URL once. Its methods may not be called
// concurrently.
type Bottom struct {
	N     int    `json:"n"`
	Seed  string `json:"seed"`
	Items []Item `json:"items"` // the smallest ticket first; at most N+1
	// Listed counts the calls of Add; a URL that was added twice counts twice.
	Listed int `json:"listed"`
}

// ErrOther is returned by Bottom.Merge for samples that differ in size or seed.
var ErrOther = errors.New("draw: samples of different sizes or seeds cannot be merged")

// Add adds a URL of the list with the name from. The ticket is computed from text, which must be the same for all spellings of the URL.
func (b *Bottom) Add(text, url, from string) {
	b.Listed++
	b.add(Item{Ticket(b.Seed, text), url, from})
}

func (b *Bottom) add(it Item) {
	i, found := slices.BinarySearchFunc(b.Items, it.Ticket, func(have Item, t uint64) int { return cmp.Compare(have.Ticket, t) })
	switch {
	case found: // the same ticket: keep the smaller URL and list, whatever the order of calls
		if have := &b.Items[i]; cmp.Or(cmp.Compare(it.URL, have.URL), cmp.Compare(it.From, have.From)) < 0 {
			*have = it
		}
	case i <= b.N:
		b.Items = slices.Insert(b.Items, i, it)
		b.Items = b.Items[:min(len(b.Items), b.N+1)]
	}
}

// Merge adds the URLs that another Bottom has collected, as if all had been added to b. The only error is [ErrOther].
func (b *Bottom) Merge(o *Bottom) error {
	if b.N != o.N || b.Seed != o.Seed {
		return fmt.Errorf("%w: %d of seed %q, and %d of seed %q", ErrOther, b.N, b.Seed, o.N, o.Seed)
	}
	b.Listed += o.Listed
	for _, it := range o.Items {
		b.add(it)
	}
	return nil
}

// Drawn returns the sample: at most N URLs, the smallest ticket first.
func (b *Bottom) Drawn() []Item { return b.Items[:min(len(b.Items), b.N)] }

// Bound returns the ticket that separates the sample from the other URLs: a URL is in the sample if its ticket is below it. all is true
// if every URL is in the sample.
func (b *Bottom) Bound() (below uint64, all bool) {
	if len(b.Items) <= b.N {
		return 0, true
	}
	return b.Items[b.N].Ticket, false
}

// Probability returns the probability with which each URL of the lists is in the sample, given the tickets of all others: the share of
// tickets below [Bottom.Bound], or 1. Totals over the sample in which each item has the weight 1/Probability are unbiased, however often
// the lists repeat a URL. N/Probability estimates the number of different URLs, with a relative error of about 1/√N.
func (b *Bottom) Probability() float64 {
	below, all := b.Bound()
	if all {
		return 1
	}
	return float64(below) / math.Exp2(64)
}
