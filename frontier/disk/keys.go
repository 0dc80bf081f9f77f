package disk

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
	"github.com/amble-crawler/amble/weburl"
)

var errCorrupt = errors.New("a stored record is corrupt")

// The keys. Numbers are big-endian, so that they sort by value:
//
//	s host url                what is known of a URL
//	q host rank number        a queued Request; written once, deleted once; a retry gets another number
//	d due host rank number    a queued Request that waits until due
//	h host                    a host: ready time, counts, name
//	m ...                     the store's own: counters, secret, time of the last write, checkpoints
//
// Keys are deleted by Delete. SingleDelete would suffice for q, but is no faster, and a compaction that drops such a deletion and finds
// the next block damaged panics (Pebble 2.1.7).
const (
	tagSeen  = 's'
	tagQueue = 'q'
	tagDue   = 'd'
	tagHost  = 'h'

	tagOffset      = "mo" // name
	tagValue       = "mk" // name
	tagOwnedOffset = "mO" // owner, name
	tagOwnedValue  = "mK" // owner, name
)

var (
	keyCounters = []byte("mc")
	keySecret   = []byte("ms")
	keyMark     = []byte("mj") // only in a store with a journal
	keyTime     = []byte("mt")
)

// place is the place of a URL in its host's queue. Places are ordered by rank, 0 for the highest priority; then by fine, which is
// packed.Fine of the score; then by number, which increases with each arrival. On disk fine is the upper 24 bits of the number; versions
// without scores wrote 0 there.
type place struct {
	rank   uint8
	fine   uint32
	number uint64
}

// end returns a place that comes after all others.
func end() place { return place{math.MaxUint8, 1<<24 - 1, 1<<numberBits - 1} }

// numberBits is the number of bits of the number in a stored place.
const numberBits = 40

func (a place) before(b place) bool {
	switch {
	case a.rank != b.rank:
		return a.rank < b.rank
	case a.fine != b.fine:
		return a.fine < b.fine
	}
	return a.number < b.number
}

// placeOf returns the place of a newly added Request.
func placeOf(r *frontier.Request, number uint64) place {
	return place{rankOf(r.Priority), packed.Fine(packed.Rank(r.Score)), number}
}

func (a place) score() float64 { return packed.Score(packed.RankOf(a.fine)) }

// level returns the order of a place without its number; higher is served earlier.
func (a place) level() int64 { return -(int64(a.rank)<<24 | int64(a.fine)) }

func rankOf(priority int8) uint8 { return uint8(math.MaxInt8 - int(priority)) }

func (a place) priority() int8 { return int8(math.MaxInt8 - int(a.rank)) }

func appendHost(dst []byte, tag byte, host uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tag), host)
}

func appendSeen(dst []byte, k urlKey) []byte {
	return binary.BigEndian.AppendUint64(appendHost(dst, tagSeen, k.host), k.url)
}

func appendPlace(dst []byte, p place) []byte {
	return binary.BigEndian.AppendUint64(append(dst, p.rank), uint64(p.fine)<<numberBits|p.number)
}

// readPlace decodes the 9 bytes that appendPlace wrote.
func readPlace(b []byte) place {
	n := binary.BigEndian.Uint64(b[1:])
	return place{b[0], uint32(n >> numberBits), n & (1<<numberBits - 1)}
}

func appendQueue(dst []byte, host uint64, p place) []byte {
	return appendPlace(appendHost(dst, tagQueue, host), p)
}

func appendDue(dst []byte, due int64, host uint64, p place) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, tagDue), uint64(due))
	return appendPlace(binary.BigEndian.AppendUint64(dst, host), p)
}

// hostHash returns the host's hash in an h key.
func hostHash(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// queuePlace returns the place in a q key.
func queuePlace(key []byte) (place, error) {
	if len(key) != 18 {
		return place{}, errCorrupt
	}
	return readPlace(key[9:]), nil
}

func readDue(key []byte) (due int64, host uint64, p place, err error) {
	if len(key) != 26 {
		return 0, 0, place{}, errCorrupt
	}
	return int64(binary.BigEndian.Uint64(key[1:])), binary.BigEndian.Uint64(key[9:]),
		readPlace(key[17:]), nil
}

// secret is the key for the hashes of one crawl. Without it, nobody can construct URLs whose hashes collide.
type secret struct {
	bytes []byte
	url   cipher.Block
}

const secretSize = 32

func newSecret() []byte {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b) // Read never returns an error
	return b
}

// firstID returns the first ID of claims. It is random, so that claims of an earlier process are not taken for claims of this process.
func firstID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:]) >> 1
}

func secretOf(b []byte) (secret, error) {
	if len(b) != secretSize {
		return secret{}, errCorrupt
	}
	block, err := aes.NewCipher(b[:16])
	return secret{b, block}, err
}

// urlKey identifies a URL in the store by a hash of its host, so that the URLs of a host are adjacent, and a hash of its Key.
type urlKey struct{ host, url uint64 }

// hashHost returns 64 bits of a keyed hash. Among ten million hosts, two have the same hash with a probability of 3·10⁻⁶. They then share
// a queue, and are served as one host.
func (s secret) hashHost(name string) uint64 {
	h := sha256.New()
	h.Write(s.bytes[16:])
	h.Write([]byte(name))
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(sum[:0]))
}

// hashURL returns 64 bits of the encrypted key. Of n URLs on a host, an expected number of n²/2⁶⁵ are lost because their hashes are equal
// to others.
func (s secret) hashURL(k weburl.Key) uint64 {
	var out [16]byte
	s.url.Encrypt(out[:], k[:])
	return binary.BigEndian.Uint64(out[:])
}
