package disk

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/amble-crawler/amble/weburl"
)

// secret makes the hashes of one crawl. Nobody who does not know it can make them collide.
type secret struct {
	bytes []byte
	url   cipher.Block
}

const secretSize = 32

func newSecret() []byte {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b) // it never fails
	return b
}

// firstID returns the first ID of claims. It is random, so that a claim of an earlier process is not taken for one
// of this.
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

// urlKey identifies a URL in the store: a hash of its host, so that the URLs of a host lie together, and
// one of its Key.
type urlKey struct{ host, url uint64 }

// hashHost returns 64 bits of a keyed hash. Among ten million hosts, two share one with a probability of
// 3·10⁻⁶; they then share a queue, and are served as one host.
func (s secret) hashHost(name string) uint64 {
	h := sha256.New()
	h.Write(s.bytes[16:])
	h.Write([]byte(name))
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(sum[:0]))
}

// hashURL returns 64 bits of the encrypted key: of n URLs on a host n²/2⁶⁵ are lost on average.
func (s secret) hashURL(k weburl.Key) uint64 {
	var out [16]byte
	s.url.Encrypt(out[:], k[:])
	return binary.BigEndian.Uint64(out[:])
}
