package identity

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// secretsOf returns the encodings in which a private key might leak.
func secretsOf(k *Key) [][]byte {
	seed := k.secret().Seed()
	return [][]byte{
		seed, []byte(hex.EncodeToString(seed)), []byte(base64.StdEncoding.EncodeToString(seed)[:42]),
		[]byte(base64.RawURLEncoding.EncodeToString(seed)[:42]), []byte(strings.Trim(fmt.Sprintf("%d", seed[:6]), "[]")),
		[]byte(base64.StdEncoding.EncodeToString(append([]byte{32}, seed...))[2:44]), // base64 of the seed within a PKCS #8 file
	}
}

func wantNoSecret(t *testing.T, k *Key, where string, b []byte) {
	t.Helper()
	for _, s := range secretsOf(k) {
		if bytes.Contains(b, s) {
			t.Errorf("%s holds the private key: %.40q", where, s)
		}
	}
}

func TestKeyFile(t *testing.T) {
	k := mustKey(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := k.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	got, err := ReadKey(path)
	if err != nil || !got.secret().Equal(k.secret()) || got.ID() != k.ID() {
		t.Errorf("%v %v", got, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := mustKey(t).Write(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key file was overwritten: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed: %v", err)
	}
}

func TestKeyFileThatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not tell")
	}
	k := mustKey(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := k.Write(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKey(path)
		if !errors.Is(err, errKeyExposed) || !strings.Contains(err.Error(), "chmod 600") || !strings.Contains(err.Error(), path) {
			t.Errorf("%v: %v", mode, err)
		}
	}
	for _, mode := range []fs.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path); err != nil {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

func TestKeyFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	block := func(kind, text string) string {
		return "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "no PEM block"},
		"text":    {"hello hunter2", "no PEM block"},
		"public":  {block("PUBLIC KEY", "MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs="), "not a \"PRIVATE KEY\""},
		"cipher":  {block("ENCRYPTED PRIVATE KEY", "aGVsbG8="), "encrypted keys are not supported"},
		"garbage": {block("PRIVATE KEY", "aHVudGVyMg=="), "no PKCS #8 key"},
		"x25519":  {block("PRIVATE KEY", "MC4CAQAwBQYDK2VuBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF"), "only Ed25519"},
		"long":    {strings.Repeat("x", maxKeyBytes+1), "longer than a key file"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKey(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadKey(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := ReadKey(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// openssl writes private keys in this form.
func TestKeyOfOpenSSL(t *testing.T) {
	k, err := parseKey([]byte("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n"))
	if err != nil || k.ID() != vectorKeyID {
		t.Errorf("%v %v", k, err)
	}
}

// The secret never appears in printed, logged or encoded output, not even inside another value.
func TestKeyIsNotShown(t *testing.T) {
	k := mustKey(t)
	s := mustSigner(t, k)
	var b bytes.Buffer
	for _, v := range []any{k, *k, []*Key{k}, map[string]*Key{"k": k}, struct{ K *Key }{k}, s, *s, NewPolicy(Always, s)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&b, verb+"\n", v)
		}
		_ = json.NewEncoder(&b).Encode(v)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("key", "key", k, "in", struct{ K *Key }{k}, "signer", s)
	}
	wantNoSecret(t, k, "output", b.Bytes())
	if !bytes.Contains(b.Bytes(), []byte("key "+k.ID())) {
		t.Error("the public name is not shown")
	}
}

func TestSecretsAreFound(t *testing.T) {
	k := mustKey(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := k.Write(path); err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range secretsOf(k) {
		for _, b := range [][]byte{pem, k.secret(), []byte(fmt.Sprintf("%x %v", k.secret(), []byte(k.secret())))} {
			if bytes.Contains(b, s) {
				found++
				break
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d forms of the secret are known to the tests", found)
	}
}

func TestParseDirectory(t *testing.T) {
	k := mustKey(t)
	x := base64.RawURLEncoding.EncodeToString(k.Public())
	entry := func(more string) string { return `{"kty":"OKP","crv":"Ed25519","x":"` + x + `"` + more + `}` }
	for _, c := range []struct {
		text string
		keys int
		bad  bool
	}{
		{`{"keys":[` + entry("") + `]}`, 1, false},
		{`{"keys":[` + entry(`,"kid":"`+k.ID()+`","use":"sig","alg":"EdDSA","nbf":1.5,"exp":4102444800`) + `],"more":1}`, 1, false},
		{`{"keys":[]}`, 0, false},
		{`{"keys":[` + entry(`,"kid":"other"`) + `]}`, 0, false},
		{`{"keys":[` + entry(`,"kid":7`) + `]}`, 0, false},
		{`{"keys":[` + entry(`,"use":"enc"`) + `]}`, 0, false},
		{`{"keys":[` + entry(`,"alg":"hmac-sha256"`) + `]}`, 0, false},
		{`{"keys":[` + entry(`,"exp":"soon"`) + `]}`, 0, false},
		{`{"keys":[` + entry(`,"nbf":1e300`) + `]}`, 0, false},
		{`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `="}]}`, 0, false},
		{`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x[:40] + `"}]}`, 0, false},
		{`{"keys":[{"KTY":"OKP","CRV":"Ed25519","X":"` + x + `"}]}`, 0, false},
		{`{"keys":[{"kty":"RSA","n":"x"},` + entry("") + `]}`, 1, false},
		{`{"keys":[null]}`, 0, false},
		{`{"Keys":[` + entry("") + `]}`, 0, true},
		{`{"keys":{}}`, 0, true},
		{`{"keys":[1]}`, 0, true},
		{`[]`, 0, true},
		{`null`, 0, true},
		{``, 0, true},
		{`{"keys":[` + strings.Repeat(entry("")+",", maxDirectoryKeys) + entry("") + `]}`, 0, true},
		{`{"keys":[]}` + strings.Repeat(" ", maxDirectoryBytes), 0, true},
	} {
		keys, err := ParseDirectory([]byte(c.text))
		if len(keys) != c.keys || (err != nil) != c.bad {
			t.Errorf("%.80s: %v %v", c.text, keys, err)
		}
		for _, p := range keys {
			if p.ID != k.ID() || !bytes.Equal(p.Key, k.Public()) || len(p.Key) != ed25519.PublicKeySize {
				t.Errorf("%+v", p)
			}
		}
	}
}
