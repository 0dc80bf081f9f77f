package warc

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash"

	"github.com/amble-crawler/amble/sink"
)

// label returns a digest in the form of WARC fields. SHA-1 is in base 32, which needs no padding, and SHA-256 in
// lower-case base 16, as the IIPC recommends.
func (d Digest) label(sum []byte) string {
	if d == SHA256 {
		return "sha256:" + hex.EncodeToString(sum)
	}
	return "sha1:" + base32.StdEncoding.EncodeToString(sum)
}

func (d Digest) of(block ...[]byte) string {
	var h hash.Hash
	if d == SHA256 {
		h = sha256.New()
	} else {
		h = sha1.New()
	}
	for _, b := range block {
		_, _ = h.Write(b)
	}
	return d.label(h.Sum(nil))
}

// payload returns the digest of an exchange's payload.
func (d Digest) payload(x *sink.Exchange) string {
	if d == SHA256 {
		sum := x.SHA256()
		return d.label(sum[:])
	}
	sum := x.SHA1()
	return d.label(sum[:])
}
