// Package identity lets a crawler identify itself, and lets others verify this identity.
//
// A [Profile] states who crawls, why, how often and from where. From it, the package makes the files that an operator publishes, in one
// static folder ([Init], [Folder.Publish], [Folder.Rotate]): the key directory, the Signature Agent Card, the address ranges, and the
// contact page that the User-Agent names. [Check] reads these files as a site would, and reports each defect.
//
// A [Signer] signs requests with HTTP Message Signatures (RFC 9421), as profiled by the IETF web bot auth drafts; a [Verifier] checks such
// requests. A [Policy] decides which requests are signed: by default only requests to sites that ask for it. [SignHead] signs the head of a
// ledger with the same key.
//
// The drafts change. These versions are implemented:
//
//   - draft-ietf-webbotauth-httpsig-protocol-01 (29 October 2026): signing, key directory
//   - draft-meunier-webbotauth-registry-04 (27 October 2026): Signature Agent Card
//   - draft-illyes-webbotauth-jafar-00 (21 April 2026): address ranges
//   - draft-illyes-webbotauth-cbcp-00 (21 April 2026) and -01 (October 2026): the contact page
//
// The package opens no connections: callers give [Check] a function that fetches, and a resolver. It starts no goroutines.
package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/safefile"
)

// Times of a rotation.
const (
	// rotationLead is the time for which a new key is in the directory before it signs. It equals the time for which verifiers may cache an
	// older directory, without the key.
	rotationLead = directoryAge
	// rotationOverlap is the time for which the old key stays in the directory after the new one has begun to sign. Crawls that began with the
	// old key sign with it until then.
	rotationOverlap = 7 * 24 * time.Hour
)

// maxListed limits the keys in a directory, and so the size of the header fields with their signatures.
const maxListed = 4

const (
	folderSchema = "amble.identity/1"
	stateName    = "identity.json"
	privateName  = "private"
	publicName   = "public"
	nginxName    = "nginx.conf"
	headersName  = "_headers"
)

// Folder is an identity on disk:
//
//	identity.json   the Profile and the public halves of all keys
//	private/        the private keys, one file each, readable only by the owner
//	public/         files to upload: they contain no secrets
//	nginx.conf      configuration for nginx to serve public/
//
// A Folder is not safe for concurrent use, and two processes must not change the same folder at the same time.
type Folder struct {
	dir   string
	state state
	keys  []directoryKey
}

// state is the contents of identity.json.
type state struct {
	Schema  string     `json:"schema"`
	Profile Profile    `json:"profile"`
	Keys    []keyState `json:"keys"` // keys of the identity, oldest first
}

type keyState struct {
	ID          string    `json:"id"`
	X           string    `json:"x"` // public half of the key
	Created     time.Time `json:"created"`
	NotBefore   time.Time `json:"not_before,omitzero"`
	Expires     time.Time `json:"expires,omitzero"`
	Compromised bool      `json:"compromised,omitempty"`
}

// Init makes a new identity in dir, with a new key, and publishes it. An identity that exists in dir is left unchanged: then the error
// wraps fs.ErrExist.
func Init(dir string, p Profile, now time.Time) (*Folder, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, stateName)); err == nil {
		return nil, fmt.Errorf("identity: %s: %w: rotate its key or publish it again", filepath.Join(dir, stateName), fs.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if err := os.Mkdir(filepath.Join(dir, privateName), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("identity: %w", err)
	}
	f := &Folder{dir: dir, state: state{Schema: folderSchema}}
	if err := f.addKey(now, time.Time{}); err != nil {
		return nil, err
	}
	return f, f.Publish(p, now)
}

// Open reads the identity in dir. Key files must meet the conditions of [ReadKey]. The file of a key may be missing if the key is no longer
// in the directory.
func Open(dir string) (*Folder, error) {
	b, err := safefile.Read(filepath.Join(dir, stateName), safefile.Settings)
	if err != nil {
		return nil, fmt.Errorf("identity: %s is not an identity: %w", dir, err)
	}
	f := &Folder{dir: dir}
	if err := json.Unmarshal(b, &f.state); err != nil {
		return nil, fmt.Errorf("identity: %s: %w", filepath.Join(dir, stateName), err)
	}
	if f.state.Schema != folderSchema {
		return nil, fmt.Errorf("identity: %s is of the form %q, and this version reads %q", filepath.Join(dir, stateName), printable(f.state.Schema), folderSchema)
	}
	for _, s := range f.state.Keys {
		k, err := f.readKey(s)
		if err != nil {
			return nil, err
		}
		f.keys = append(f.keys, k)
	}
	return f, nil
}

func (f *Folder) keyFile(id string) string { return filepath.Join(f.dir, privateName, id+".pem") }

func (f *Folder) readKey(s keyState) (directoryKey, error) {
	x, err := base64.RawURLEncoding.DecodeString(s.X)
	if err != nil || len(x) != ed25519.PublicKeySize || thumbprint(x) != s.ID {
		return directoryKey{}, fmt.Errorf("identity: %s: key %q is damaged", filepath.Join(f.dir, stateName), printable(s.ID))
	}
	k := directoryKey{PublicKey{s.ID, x, s.NotBefore, s.Expires}, nil, s.Compromised}
	k.private, err = ReadKey(f.keyFile(s.ID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return k, err
	case k.private.id != s.ID:
		return k, fmt.Errorf("identity: %s holds %v", f.keyFile(s.ID), k.private)
	}
	return k, nil
}

// addKey makes a key and writes its file. Publish writes identity.json later, so a key counts only when its file is complete.
func (f *Folder) addKey(now, notBefore time.Time) error {
	k, err := NewKey()
	if err != nil {
		return err
	}
	if err := k.Write(f.keyFile(k.id)); err != nil {
		return err
	}
	public := k.Public()
	f.keys = append(f.keys, directoryKey{public: PublicKey{ID: k.id, Key: public, NotBefore: notBefore}, private: k})
	f.state.Keys = append(f.state.Keys, keyState{
		ID: k.id, X: base64.RawURLEncoding.EncodeToString(public), Created: seconds(now), NotBefore: notBefore,
	})
	return nil
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// Publish writes the public folder, and the files beside it, for a Profile. Call it whenever the Profile changes, at least every
// [directoryLifetime], and, if address ranges are published, every day (jafar-00 section 3.1). It removes files at other paths that it
// wrote for an earlier Profile, and no others.
func (f *Folder) Publish(p Profile, now time.Time) error {
	if err := p.Validate(); err != nil {
		return err
	}
	now = seconds(now)
	files, err := published(&p, f.keys, now)
	if err != nil {
		return err
	}
	before := f.state.Profile
	f.state.Profile = p
	if err := f.writeState(); err != nil {
		return err
	}
	for _, s := range files {
		if err := f.writePublic(s.file, s.body); err != nil {
			return err
		}
	}
	if err := f.writePublic("/"+headersName, headersFile(files)); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(f.dir, nginxName), nginxConfig(&p, files)); err != nil {
		return err
	}
	return f.removeStale(&before, files)
}

func (f *Folder) writeState() error {
	return writeFile(filepath.Join(f.dir, stateName), indented(f.state))
}

func (f *Folder) publicFile(file string) string {
	return filepath.Join(f.dir, publicName, filepath.FromSlash(file))
}

func (f *Folder) writePublic(file string, body []byte) error {
	at := f.publicFile(file)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	return writeFile(at, body)
}

// removeStale removes files that were written for an earlier URL of the page.
func (f *Folder) removeStale(before *Profile, files []served) error {
	if before.Page == "" {
		return nil
	}
	current := map[string]bool{}
	for _, s := range files {
		current[s.file] = true
	}
	for _, file := range []string{before.pageFile(), before.beside(cardName), before.beside(rangesName), before.beside(retiredName)} {
		if current[file] {
			continue
		}
		if err := os.Remove(f.publicFile(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("identity: %w", err)
		}
	}
	return nil
}

// writeFile replaces a file atomically.
func writeFile(name string, b []byte) error {
	if err := durable.Replace(name, b); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	return nil
}

// Rotate makes a new key and publishes it together with the old one. The new key signs after 24 hours, and the old one leaves the directory
// 7 days later. If the old key is compromised, it leaves the directory at once, and the new key signs at once. The files of old keys are
// not deleted.
func (f *Folder) Rotate(now time.Time, compromised bool) error {
	now = seconds(now)
	listed := 0
	for i := range f.keys {
		if !f.keys[i].listed(now) {
			continue
		}
		listed++
		if n := f.keys[i].public.NotBefore; n.After(now) && !compromised {
			return fmt.Errorf("identity: key %s takes over at %s: rotate after that", f.keys[i].public.ID, n.Format(time.RFC3339))
		}
	}
	if listed >= maxListed && !compromised {
		return fmt.Errorf("identity: %d keys are in the directory: wait until the oldest has expired", listed)
	}
	takesOver := now.Add(rotationLead)
	if compromised {
		takesOver = time.Time{}
	}
	if err := f.addKey(now, takesOver); err != nil {
		return err
	}
	for i := range f.keys[:len(f.keys)-1] {
		f.retire(i, now, compromised)
	}
	return f.Publish(f.state.Profile, now)
}

// retire sets when a key ends.
func (f *Folder) retire(i int, now time.Time, compromised bool) {
	k, s := &f.keys[i], &f.state.Keys[i]
	if !k.listed(now) {
		return
	}
	if compromised {
		k.compromised, s.Compromised = true, true
		k.public.Expires, s.Expires = now, now
		return
	}
	if k.public.Expires.IsZero() {
		end := now.Add(rotationLead + rotationOverlap)
		k.public.Expires, s.Expires = end, end
	}
}

// Profile returns the Profile that was published last.
func (f *Folder) Profile() Profile { return f.state.Profile }

// PublicDir returns the folder to upload.
func (f *Folder) PublicDir() string { return filepath.Join(f.dir, publicName) }

// Signer returns a Signer with the identity's keys, each in its period of validity.
func (f *Folder) Signer() (*Signer, error) {
	var keys []signingKey
	for _, k := range f.keys {
		if k.private != nil && !k.compromised {
			keys = append(keys, signingKey{k.private, k.public})
		}
	}
	return newSigner(f.state.Profile.AgentURL(), keys)
}

// Key returns the private key that signs at the time now, or an error if no key is valid then.
func (f *Folder) Key(now time.Time) (*Key, error) {
	s, err := f.Signer()
	if err != nil {
		return nil, err
	}
	k := s.key(now, "")
	if k == nil {
		return nil, s.noKey("")
	}
	return k.Key, nil
}

// PublicKey returns the public half of a key of this identity, even if the key is retired; false for a foreign or compromised key. It is
// meant for [VerifyHead].
func (f *Folder) PublicKey(id string) (ed25519.PublicKey, bool) {
	for _, k := range f.keys {
		if k.public.ID == id && !k.compromised {
			return k.public.Key, true
		}
	}
	return nil, false
}
