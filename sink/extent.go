package sink

import "crypto/sha256"

// Extent is the length of a file that only grows, with the hash of its content. With it one can check later that the
// file still begins with this content.
type Extent struct {
	File   string            // its name in the output's directory
	Bytes  int64             // its length
	SHA256 [sha256.Size]byte // of these bytes
	// State is the state of the hash, in the form of encoding.BinaryMarshaler: with it the hash of a longer prefix
	// can be computed without reading these bytes again.
	State []byte
}
