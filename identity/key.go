package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/safefile"
)

// Key is a private Ed25519 key. When it is printed, logged or encoded, only its public name is shown, never the secret. It is safe for
// concurrent use.
type Key struct {
	// secret returns the private half. It is a function, because printing shows fields but does not call functions.
	secret func() ed25519.PrivateKey
	id     string
}

// NewKey makes a Key from the system's random source.
func NewKey() (*Key, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("identity: new key: %w", err)
	}
	return newKey(private), nil
}

func newKey(private ed25519.PrivateKey) *Key {
	return &Key{secret: func() ed25519.PrivateKey { return private }, id: thumbprint(private.Public().(ed25519.PublicKey))}
}

// ID returns the public name of the key, the keyid of signatures: the JWK SHA-256 thumbprint of the public half (RFC 7638 section 3).
func (k *Key) ID() string { return k.id }

// Public returns the public half.
func (k *Key) Public() ed25519.PublicKey { return k.secret().Public().(ed25519.PublicKey) }

func (k *Key) sign(message []byte) []byte { return ed25519.Sign(k.secret(), message) }

// String returns "key ID".
func (k *Key) String() string { return "key " + k.id }

// Format implements fmt.Formatter: every verb prints String.
func (k *Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, k.String()) }

// LogValue implements slog.LogValuer.
func (k *Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText implements encoding.TextMarshaler. It returns String, so that no encoding contains the secret.
func (k *Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// thumbprint returns the JWK SHA-256 thumbprint of a public key (RFC 7638 section 3, RFC 8037 appendix A.3), in base64url without padding:
// 43 characters.
func thumbprint(public ed25519.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(public)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// exampleKeys are IDs of keys whose private half is published in a standard. httpsig-protocol-01 section 6.8 forbids their use.
var exampleKeys = []string{
	"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", // RFC 9421 appendix B.1.4
	"oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA", // RFC 9421 appendix B.1.2
	"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", // RFC 8037 appendix A
}

func isExampleKey(id string) bool { return slices.Contains(exampleKeys, id) }

const (
	keyBlock    = "PRIVATE KEY" // PKCS #8, as written by openssl genpkey -algorithm ed25519
	maxKeyBytes = 4 << 10
)

// errKeyExposed is wrapped by the error for a key file that other users of the machine can access.
var errKeyExposed = errors.New("identity: the key file is open to other users")

// ReadKey reads a private key from a PEM file. It refuses a file that its group or others may read or write, except on Windows, where the
// mode is not meaningful. Errors never quote the file's contents.
func ReadKey(path string) (*Key, error) {
	b, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(b)
	clear(b)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return k, nil
}

func readSecret(path string) ([]byte, error) {
	// The type is checked before opening: to open a named pipe would wait for its other end.
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("identity: key: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("identity: key: %s is not a regular file", path)
	}
	f, err := safefile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("identity: key: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("identity: key: %w", err)
	}
	if exposed(info.Mode()) {
		return nil, fmt.Errorf("%w: %s has mode %04o: chmod 600 it, and rotate the key if somebody else may have read it",
			errKeyExposed, path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("identity: key: %w", err)
	case len(b) > maxKeyBytes:
		return nil, fmt.Errorf("identity: key: %s is longer than a key file can be", path)
	}
	return b, nil
}

func exposed(mode fs.FileMode) bool { return runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 }

// parseKey reads a private key from PEM text, which must be one PKCS #8 block with an Ed25519 key.
func parseKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("identity: key: no PEM block found: expected \"-----BEGIN PRIVATE KEY-----\"")
	}
	if block.Type != keyBlock {
		return nil, fmt.Errorf("identity: key: the PEM block is a %q, not a %q (encrypted keys are not supported)", printable(block.Type), keyBlock)
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("identity: key: the PEM block holds no PKCS #8 key")
	}
	ed, ok := private.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("identity: key: a %T; only Ed25519 keys are supported", private)
	}
	return newKey(ed), nil
}

// Write stores the key in a new file that only its owner may read and write (mode 0600). An existing file is left unchanged: then the error
// wraps fs.ErrExist.
func (k *Key) Write(path string) error {
	der, err := x509.MarshalPKCS8PrivateKey(k.secret())
	if err != nil {
		return fmt.Errorf("identity: key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("identity: key: %w", err)
	}
	err = pem.Encode(f, &pem.Block{Type: keyBlock, Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // an incomplete key is useless
		return fmt.Errorf("identity: key: %w", err)
	}
	return durable.Dir(filepath.Dir(path))
}
