package sink

import "crypto/sha256"

// Extent is how far a file that only grows had come, with the hash of all of it: whoever keeps it can tell later
// whether the file still begins so.
type Extent struct {
	File   string            // its name in the output's directory
	Bytes  int64             // how many it had
	SHA256 [sha256.Size]byte // of these
	// State is that of the hash, in the form of encoding.BinaryMarshaler: with it the hash of a longer part
	// takes no reading of this one.
	State []byte
}
