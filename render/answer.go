package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// address is the SHA-256 of an answer in its stored form, by which the answer is found.
type address [sha256.Size]byte

// String returns the hexadecimal digits.
func (r address) String() string { return hex.EncodeToString(r[:]) }

// MarshalText is String.
func (r address) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *address) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(r)) {
		return fmt.Errorf("render: a reference of %d digits instead of %d", len(b), hex.EncodedLen(len(r)))
	}
	_, err := hex.Decode(r[:], b)
	return err
}

// maxStoredHead bounds the header of a stored answer.
const maxStoredHead = 256 << 10

var errStored = errors.New("render: a stored answer is damaged")

// head is the first line of a stored answer; the body follows.
type head struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"`
	Truncated string      `json:"truncated,omitempty"`
}

// encode is the stored form of an answer and its name.
func encode(a *Answer) ([]byte, address, error) {
	h, err := json.Marshal(head{a.Status, a.Header, a.Truncated})
	if err != nil {
		return nil, address{}, fmt.Errorf("render: storing an answer: %w", err)
	}
	if len(h) > maxStoredHead {
		return nil, address{}, fmt.Errorf("render: storing an answer: its header has %d bytes, more than %d", len(h), maxStoredHead)
	}
	b := make([]byte, 0, len(h)+1+len(a.Body))
	b = append(append(append(b, h...), '\n'), a.Body...)
	return b, sha256.Sum256(b), nil
}

// decode reads a stored answer. The body shares the memory of b.
func decode(b []byte, r address) (*Answer, error) {
	first, body, ok := bytes.Cut(b, []byte{'\n'})
	if !ok || sha256.Sum256(b) != r {
		return nil, errStored
	}
	var h head
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, errStored
	}
	return &Answer{Status: h.Status, Header: h.Header, Body: body, Truncated: h.Truncated}, nil
}
