package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// PublicKey is an entry of a key directory.
type PublicKey struct {
	ID        string // thumbprint of Key
	Key       ed25519.PublicKey
	NotBefore time.Time // zero: no limit
	Expires   time.Time // zero: no limit
}

// valid reports whether the key may sign at the time now.
func (p *PublicKey) valid(now time.Time) bool {
	return !now.Before(p.NotBefore) && (p.Expires.IsZero() || now.Before(p.Expires))
}

// Limits on key directories (httpsig-protocol-01 section 6.7).
const (
	maxDirectoryBytes = 64 << 10
	maxDirectoryKeys  = 32
)

// jwk is a JSON Web Key in its JSON form (RFC 7517 section 4, RFC 8037 section 2). Its fields are in the order of the draft's example.
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	ID        string `json:"kid"`
	X         string `json:"x"`
	Use       string `json:"use"`
	NotBefore int64  `json:"nbf,omitempty"` // Unix seconds
	Expires   int64  `json:"exp,omitempty"` // Unix seconds
}

// marshalDirectory returns keys as a JWK Set (RFC 7517 section 5).
func marshalDirectory(keys []PublicKey) []byte {
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: []jwk{}}
	for _, k := range keys {
		j := jwk{Type: "OKP", Curve: "Ed25519", ID: k.ID, X: base64.RawURLEncoding.EncodeToString(k.Key), Use: "sig"}
		if !k.NotBefore.IsZero() {
			j.NotBefore = k.NotBefore.Unix()
		}
		if !k.Expires.IsZero() {
			j.Expires = k.Expires.Unix()
		}
		set.Keys = append(set.Keys, j)
	}
	b, err := json.Marshal(set)
	if err != nil {
		panic(err) // marshalling of strings and numbers cannot fail
	}
	return b
}

// ParseDirectory parses the Ed25519 keys of a JWK Set. It leaves out keys of other kinds, and malformed ones. It returns an error if the
// text is not a JWK Set, is longer than 64 KiB, or has more than 32 entries.
func ParseDirectory(text []byte) ([]PublicKey, error) {
	entries, err := directoryEntries(text)
	if err != nil {
		return nil, err
	}
	var keys []PublicKey
	for _, e := range entries {
		if k, err := parseJWK(e); err == nil {
			keys = append(keys, *k)
		}
	}
	return keys, nil
}

// directoryEntries returns the entries of a JWK Set. It compares names exactly, as JSON requires; encoding/json does that only for maps.
func directoryEntries(text []byte) ([]map[string]json.RawMessage, error) {
	if len(text) > maxDirectoryBytes {
		return nil, fmt.Errorf("identity: key directory: longer than %d bytes", maxDirectoryBytes)
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("identity: key directory: not a JSON object: %s", jsonFault(err))
	}
	list, ok := set["keys"]
	if !ok {
		return nil, errors.New("identity: key directory: no member \"keys\": not a JWK Set (RFC 7517 section 5)")
	}
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, errors.New("identity: key directory: \"keys\" is not an array of objects")
	}
	if len(entries) > maxDirectoryKeys {
		return nil, fmt.Errorf("identity: key directory: %d keys; at most %d are read", len(entries), maxDirectoryKeys)
	}
	return entries, nil
}

// errForeignKey is returned for a key of an unsupported kind, which may be valid.
var errForeignKey = errors.New("not an Ed25519 key")

// parseJWK parses one entry. The error is the first defect that would make a verifier reject the entry.
func parseJWK(e map[string]json.RawMessage) (*PublicKey, error) {
	if jsonString(e["kty"]) != "OKP" || jsonString(e["crv"]) != "Ed25519" {
		return nil, errForeignKey
	}
	x, err := base64.RawURLEncoding.Strict().DecodeString(jsonString(e["x"]))
	if err != nil || len(x) != ed25519.PublicKeySize {
		return nil, errors.New("\"x\" is not 32 bytes in base64url without padding (RFC 8037 section 2)")
	}
	k := &PublicKey{ID: thumbprint(x), Key: x}
	if id, ok := e["kid"]; ok && jsonString(id) != k.ID {
		return nil, fmt.Errorf("\"kid\" is %q and not the key's thumbprint %s", printable(jsonString(id)), k.ID)
	}
	if alg, ok := e["alg"]; ok && !allowedAlg(jsonString(alg)) {
		return nil, fmt.Errorf("\"alg\" is %q, not \"ed25519\"", printable(jsonString(alg)))
	}
	if use, ok := e["use"]; ok && jsonString(use) != "sig" {
		return nil, fmt.Errorf("\"use\" is %q, not \"sig\"", printable(jsonString(use)))
	}
	if k.NotBefore, err = jsonTime(e["nbf"]); err != nil {
		return nil, fmt.Errorf("\"nbf\" %w", err)
	}
	if k.Expires, err = jsonTime(e["exp"]); err != nil {
		return nil, fmt.Errorf("\"exp\" %w", err)
	}
	return k, nil
}

// allowedAlg reports whether alg is a name of Ed25519. The draft requires names of the HTTP Signature Algorithms registry, but directories
// also use those of JOSE (RFC 8037, RFC 9864).
func allowedAlg(alg string) bool { return alg == "ed25519" || alg == "EdDSA" || alg == "Ed25519" }

// jsonString returns the string in raw, or "" if raw is no string.
func jsonString(raw json.RawMessage) string {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return ""
	}
	return *s
}

// maxUnix is the last second of the year 9999: later times have no text form.
const maxUnix = 253402300799

func jsonTime(raw json.RawMessage) (time.Time, error) {
	if raw == nil {
		return time.Time{}, nil
	}
	var s float64 // NumericDate may have a fraction (RFC 7519 section 2)
	if json.Unmarshal(raw, &s) != nil || s <= 0 || s > maxUnix {
		return time.Time{}, errors.New("is not a number of seconds since 1970")
	}
	return time.Unix(int64(s), 0).UTC(), nil
}

// jsonFault returns an error of encoding/json, without the parts of the input that it quotes.
func jsonFault(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("syntax error at byte %d", syntax.Offset)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return "it is a " + kind.Value
	}
	return "it ends too early"
}
