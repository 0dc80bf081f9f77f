package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Head is the state of a ledger's hash chain after some of its lines.
type Head struct {
	Hash  [sha256.Size]byte
	Lines int64 // number of lines that the hash covers; at least 0
	Time  time.Time
}

// headType is the header parameter typ of a signed head. With it, another kind of token that is signed with the same key cannot be taken
// for a head (RFC 8725 section 3.11).
const headType = "amble-ledger-head"

const maxHeadBytes = 2 << 10

type headHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

type headPayload struct {
	Hash  string    `json:"sha256"` // hash in hexadecimal digits
	Lines int64     `json:"lines"`
	Time  time.Time `json:"time"` // UTC, whole seconds
}

// Errors that [VerifyHead] wraps.
var (
	errHeadMalformed = errors.New("identity: not a signed ledger head")
	errHeadKey       = errors.New("identity: the ledger head is signed with an unknown key")
	errHeadSignature = errors.New("identity: the signature of the ledger head is wrong")
)

// SignHead signs a head as a JWS in compact form (RFC 7515 section 7.1, EdDSA by RFC 8037 section 3.1) of about 290 characters without
// blanks or quotes. The token contains the head, so that any JOSE library can check a line of a ledger. Its time is truncated to seconds.
func SignHead(k *Key, h Head) (string, error) {
	if h.Lines < 0 || h.Time.Unix() < 0 || h.Time.Unix() > maxUnix {
		return "", fmt.Errorf("identity: ledger head of %d lines at %v", h.Lines, h.Time)
	}
	header, err := json.Marshal(headHeader{"EdDSA", k.id, headType})
	if err != nil {
		return "", fmt.Errorf("identity: %w", err)
	}
	payload, err := json.Marshal(headPayload{hex.EncodeToString(h.Hash[:]), h.Lines, h.Time.UTC().Truncate(time.Second)})
	if err != nil {
		return "", fmt.Errorf("identity: %w", err)
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString(header) + "." + enc.EncodeToString(payload)
	return signed + "." + enc.EncodeToString(k.sign([]byte(signed))), nil
}

// VerifyHead checks a token made by [SignHead] and returns the head and the ID of the key. key returns the public key with an ID, or false
// if no such key is trusted: the caller knows the trusted keys from the operator's key directory and retired keys. The error says whether
// the head, its key or its signature is invalid.
func VerifyHead(token string, key func(id string) (ed25519.PublicKey, bool)) (Head, string, error) {
	header, payload, sig, err := splitHead(token)
	if err != nil {
		return Head{}, "", fmt.Errorf("%w: %w", errHeadMalformed, err)
	}
	public, ok := key(header.KeyID)
	if !ok || len(public) != ed25519.PublicKeySize {
		return Head{}, header.KeyID, fmt.Errorf("%w: %s", errHeadKey, printable(header.KeyID))
	}
	signed := token[:strings.LastIndexByte(token, '.')]
	if !ed25519.Verify(public, []byte(signed), sig) {
		return Head{}, header.KeyID, fmt.Errorf("%w: key %s", errHeadSignature, printable(header.KeyID))
	}
	h, err := parseHead(payload)
	if err != nil {
		return Head{}, header.KeyID, fmt.Errorf("%w: %w", errHeadMalformed, err)
	}
	return h, header.KeyID, nil
}

// Trusted returns a function for [VerifyHead] that looks up keys in a list.
func Trusted(keys []PublicKey) func(id string) (ed25519.PublicKey, bool) {
	return func(id string) (ed25519.PublicKey, bool) {
		for _, k := range keys {
			if k.ID == id {
				return k.Key, true
			}
		}
		return nil, false
	}
}

// splitHead parses a token but not its payload, which must not be read before the signature is verified.
func splitHead(token string) (h headHeader, payload, sig []byte, err error) {
	parts := strings.Split(token, ".")
	if len(token) > maxHeadBytes || len(parts) != 3 {
		return h, nil, nil, errors.New("not three parts with dots between")
	}
	var decoded [3][]byte
	for i, p := range parts {
		if decoded[i], err = base64.RawURLEncoding.Strict().DecodeString(p); err != nil {
			return h, nil, nil, fmt.Errorf("part %d is not base64url", i+1)
		}
	}
	var members map[string]string
	if json.Unmarshal(decoded[0], &members) != nil || len(members) != 3 {
		return h, nil, nil, errors.New("the header is not that of a ledger head")
	}
	h = headHeader{members["alg"], members["kid"], members["typ"]}
	if h.Algorithm != "EdDSA" || h.Type != headType {
		return h, nil, nil, errors.New("the header is not that of a ledger head")
	}
	return h, decoded[1], decoded[2], nil
}

func parseHead(payload []byte) (Head, error) {
	var p headPayload
	if err := json.Unmarshal(payload, &p); err != nil {
		return Head{}, errors.New("the payload is not that of a ledger head")
	}
	sum, err := hex.DecodeString(p.Hash)
	if err != nil || len(sum) != sha256.Size || p.Lines < 0 {
		return Head{}, errors.New("the payload is not that of a ledger head")
	}
	return Head{Hash: [sha256.Size]byte(sum), Lines: p.Lines, Time: p.Time}, nil
}
